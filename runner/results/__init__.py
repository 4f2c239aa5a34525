"""The record of a session: how it is written, read back and listed."""
