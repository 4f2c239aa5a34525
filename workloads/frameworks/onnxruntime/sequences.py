"""BERT as evenbench measures it in ONNX Runtime."""
from workloads.frameworks.onnx_graphs import inferring
from workloads.frameworks.onnxruntime import settings


class Workload(inferring.Sequences):
    """BERT, as a cell says. Raises errors.Unsupported."""

    _settings = settings
