"""Models of the user's own, a Python file each: a module a way to run one. Python 3.6 and later.

The cell's lane says which. A Workload here is contract.Workload's with synthetic(), one batch of the file's own over
and over, and check(), arrays by kind as measuring.measures sends them. What frameworks say of themselves is their
adapters'.
"""
import importlib
import os

from workloads.process import errors
from workloads.spec.models import own_model

NAME = "own"
_MODULES = {"torch": "pytorch", "jax": "jax", "keras": "keras", "onnx": "onnx_file", "code": "code"}      # by kind
_RUNTIMES = ("onnxruntime", "openvino")


def Workload(folder, cell):
    """The workload of a cell's lane; folder: what --data named. Raises Unsupported, DataError."""
    lane = own_model.lane(cell.source)
    if lane.kind == "keras":                     # read when Keras is imported
        backend = "torch" if lane.framework == "pytorch" else lane.framework
        os.environ.update(KERAS_BACKEND=backend, KERAS_HOME=os.path.join(os.environ.get("TMPDIR", "/tmp"), "keras"))
    module = "runtimes" if lane.kind == "torch" and lane.framework in _RUNTIMES else _MODULES[lane.kind]
    return importlib.import_module("%s.%s" % (__name__, module)).Workload(cell, folder)


def facts(cell):
    """What the lane's framework says of itself, once the Workload is built."""
    lane = own_model.lane(cell.source)
    name = "own.code" if lane.kind == "code" else lane.framework
    return importlib.import_module("workloads.frameworks." + name).facts(cell)


def is_oom(error):
    """Whether an exception says that memory, the host's or the device's, ran out."""
    return errors.is_out_of_memory(error, Exception)


def device_peak_bytes(cell):
    """{}: of a CPU there is nothing to tell."""
    return {}
