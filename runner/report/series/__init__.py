"""What changes within a run: losses, the seconds of steps, and where samples lie."""
