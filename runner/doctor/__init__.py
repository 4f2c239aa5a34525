"""What measuring on this machine needs, and what disturbs it."""
