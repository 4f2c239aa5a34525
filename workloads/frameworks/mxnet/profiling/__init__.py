"""What MXNet's own profilers and clocks say of steps."""
