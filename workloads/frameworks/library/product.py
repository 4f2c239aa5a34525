"""A bare library of LSTMs has no door to its matrix product."""
from workloads.process.errors import Unsupported


def made(cell, size, numbers):
    """Raises Unsupported."""
    raise Unsupported("a bare library has no matrix product of its own")
