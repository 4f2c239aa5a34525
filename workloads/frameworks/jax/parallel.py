"""JAX trains in one place, on one device here."""
from workloads.process.errors import Unsupported

_ALONE = "JAX trains in one place, on one device here"


def serve(role, cell, cluster):
    """Raises Unsupported."""
    raise Unsupported(_ALONE)


def Workload(table, cell, cluster):
    """Raises Unsupported."""
    raise Unsupported(_ALONE)


def Sequences(cell, cluster):
    """Raises Unsupported."""
    raise Unsupported(_ALONE)
