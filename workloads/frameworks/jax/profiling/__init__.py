"""What JAX's own profilers and clocks say of steps."""
