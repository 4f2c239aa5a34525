"""A bare library in a framework's place: one LSTM layer through the C interface of docker/lstm-onednn/lstm.h.

The library lies in the stack's environment, compiled there; the lstm task is all it has. A call through ctypes costs a
few microseconds. Python 3.6 and later.
"""
from workloads.frameworks.library import interface
from workloads.process import errors
from workloads.process.errors import Unsupported

NAME = interface.NAME                  # "onednn" or "cudnn"


def Workload(table, cell):
    """Not there: images are not for bare libraries."""
    raise Unsupported("%s stands bare here, for the lstm task alone" % NAME)


def facts(cell):
    """What the library says of itself."""
    return {"framework": NAME, "version": interface.version(), "device": cell.device, "threads": interface.threads(),
            "inter_op_threads": 1, "onednn": NAME == "onednn", "build": interface.library()}


def device_peak_bytes(cell):
    """{}: a bare library does not tell."""
    return {}


def is_oom(error):
    """Whether an exception says that memory, the host's or the device's, ran out."""
    return errors.is_out_of_memory(error, Exception)


def unbiased_variance(cell):
    """Nothing here has running statistics."""
    return False
