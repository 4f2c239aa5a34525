"""Faults on purpose: what is killed, stopped, filled and flooded, and what the runner makes of it."""
