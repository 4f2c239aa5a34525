"""A bare library trains in one place, on one device."""
from workloads.process.errors import Unsupported

_ALONE = "a bare library trains in one place, on one device"


def serve(role, cell, cluster):
    """Raises Unsupported."""
    raise Unsupported(_ALONE)


def Workload(table, cell, cluster):
    """Raises Unsupported."""
    raise Unsupported(_ALONE)


def Sequences(cell, cluster):
    """Raises Unsupported."""
    raise Unsupported(_ALONE)
