"""The host side of evenbench: plan cells, launch them in stacks, keep what they say, compare."""

__version__ = "0.3.0"
