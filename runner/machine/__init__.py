"""The host: its CPUs, GPUs, load and clocks, as observed."""
