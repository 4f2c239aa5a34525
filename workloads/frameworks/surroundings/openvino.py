"""What OpenVINO needs around it."""

SEEN = ()
SEEN_FAMILIES = ()
SERVERS = {}


def variables(cell):
    """None: a session has its own options."""
    return {}


def place_variables(cluster, role):
    """None: it runs in one place."""
    return {}


def gpu_code(openvino):
    """Nothing: here it runs on CPUs alone."""
    return "", []
