"""The worker as a process: its lines, its environment, and how it ends."""
