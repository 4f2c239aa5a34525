"""ONNX Runtime as evenbench measures it: inference of our own graphs on a CPU. ONNX Runtime 1.32, Python 3.11."""
import onnxruntime

from workloads.frameworks.onnx_graphs import inferring
from workloads.frameworks.onnxruntime import settings
from workloads.process import errors

NAME = "onnxruntime"


class Workload(inferring.Images):
    """A table's model, as a cell says. Raises errors.Unsupported."""

    _settings = settings


def facts(cell):
    """What ONNX Runtime says of itself; threads are counted in this process."""
    return {"framework": NAME, "version": onnxruntime.__version__, "device": "cpu",
            "threads": settings.threads(cell), "inter_op_threads": settings.options(cell).inter_op_num_threads,
            "onednn": "DnnlExecutionProvider" in onnxruntime.get_available_providers(),
            "build": onnxruntime.get_build_info()}


def device_peak_bytes(cell):
    """{}: of a CPU there is nothing to tell."""
    return {}


def is_oom(error):
    """Whether an exception says that memory ran out."""
    return errors.is_out_of_memory(error, Exception)


def unbiased_variance(cell):
    """Nothing here updates running statistics."""
    return False
