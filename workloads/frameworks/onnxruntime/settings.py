"""A cell's switches as ONNX Runtime's options: nearly all are refused. ONNX Runtime 1.32."""
import os

import onnxruntime

from workloads.frameworks.onnx_graphs import graph, inferring
from workloads.spec.models import own_model

_PROVIDERS = ["CPUExecutionProvider"]
_LEVELS = onnxruntime.GraphOptimizationLevel
_OPTIMIZED = {"disable-all": _LEVELS.ORT_DISABLE_ALL, "basic": _LEVELS.ORT_ENABLE_BASIC,
              "extended": _LEVELS.ORT_ENABLE_EXTENDED}


def apply(cell):
    """Nothing is of the whole process: a session has its own options. Raises Unsupported."""
    inferring.demand(cell, "ONNX Runtime")


def tuned(cell, features):
    """The cell as it is: all that its session optimises is on in the common lane, too."""
    return cell


def options(cell):
    """A session's options: the cell's threads within an operation, one operation at a time; the rest is the default.

    That is every optimisation of the graph (ORT_ENABLE_ALL), and threads that spin while they wait for work. A mode of
    a model of the user's own has less of the former, or several operations at a time.
    """
    made, mode = onnxruntime.SessionOptions(), own_model.lane(cell.source).mode
    made.intra_op_num_threads, made.inter_op_num_threads = cell.cpus, 1
    made.graph_optimization_level = _OPTIMIZED.get(mode, _LEVELS.ORT_ENABLE_ALL)
    if mode.startswith("parallel"):
        made.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        made.inter_op_num_threads = int(mode.partition("-")[2] or cell.cpus)
    return made


def program(cell, model):
    """The function of a serialized model, or of its file: inputs by name to its outputs, arrays of their own."""
    session = onnxruntime.InferenceSession(model, options(cell), providers=_PROVIDERS)
    return lambda batch: session.run(None, batch)


def threads(cell):
    """How many threads compute in a session with the cell's options: the caller, and those seen to come with one."""
    before = _running()
    session = onnxruntime.InferenceSession(graph.least(), options(cell), providers=_PROVIDERS)
    seen = 1 + len(_running() - before)      # by their numbers: those of an earlier session may end meanwhile
    del session                     # not before: its threads end with it
    return seen


def _running():
    return set(os.listdir("/proc/self/task"))
