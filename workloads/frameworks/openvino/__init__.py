"""OpenVINO as evenbench measures it: inference of our own ONNX graphs on a CPU. OpenVINO 2026.4, Python 3.11."""
import openvino

from workloads.frameworks.onnx_graphs import inferring
from workloads.frameworks.openvino import settings
from workloads.process import errors

NAME = "openvino"


class Workload(inferring.Images):
    """A table's model, as a cell says. Raises errors.Unsupported."""

    _settings = settings


def facts(cell):
    """What OpenVINO says of itself; threads are those of a program compiled with the cell's options."""
    return {"framework": NAME, "version": openvino.__version__.split("-")[0], "device": "cpu",
            "threads": settings.threads(cell), "inter_op_threads": 1,      # a stream's operations follow one another
            "onednn": True,                        # its plugin for CPUs is made of oneDNN
            "build": openvino.get_version()}


def device_peak_bytes(cell):
    """{}: of a CPU there is nothing to tell."""
    return {}


def is_oom(error):
    """Whether an exception says that memory ran out."""
    return errors.is_out_of_memory(error, Exception)


def unbiased_variance(cell):
    """Nothing here updates running statistics."""
    return False
