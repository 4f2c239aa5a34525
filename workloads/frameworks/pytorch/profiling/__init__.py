"""What PyTorch's own profilers and clocks say of steps."""
