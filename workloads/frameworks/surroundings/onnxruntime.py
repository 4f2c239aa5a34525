"""What ONNX Runtime needs around it."""
from workloads.spec.cell import Cell

SEEN = ()
SEEN_FAMILIES = ()
SERVERS = {}


def variables(cell: Cell):
    """None: a session has its own options."""
    return {}


def place_variables(cluster, role: str):
    """None: it runs in one place."""
    return {}


def gpu_code(onnxruntime):
    """Nothing: here it runs on CPUs alone."""
    return "", []
