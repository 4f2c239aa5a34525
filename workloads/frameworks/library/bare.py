"""A bare library is what others would be compared with."""
from workloads.process.errors import Unsupported


def loop(cell, folder=""):
    """Raises Unsupported."""
    raise Unsupported("a bare library has no peer: its steps are already those that one writes by hand")
