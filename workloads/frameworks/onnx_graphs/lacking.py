"""What a runtime that only infers lacks of an adapter, whichever it is: each function raises Unsupported."""
from workloads.process.errors import Unsupported

_ALONE = "a runtime that only infers runs in one place, on one device"


def made(cell, size, numbers):
    """As an adapter's product has it."""
    raise Unsupported("a runtime has no matrix product outside of a graph")


def loop(cell, folder=""):
    """As an adapter's bare has it."""
    raise Unsupported("a runtime has no peer: a step is the one call that one writes by hand")


def serve(role, cell, cluster):
    """As an adapter's parallel has it."""
    raise Unsupported(_ALONE)


def Workload(table, cell, cluster):
    """As an adapter's parallel has it."""
    raise Unsupported(_ALONE)


def Sequences(cell, cluster):
    """As an adapter's parallel has it."""
    raise Unsupported(_ALONE)
