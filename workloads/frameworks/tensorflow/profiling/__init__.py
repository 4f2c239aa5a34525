"""What TensorFlow's own profilers and clocks say of steps."""
