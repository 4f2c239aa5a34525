"""OpenVINO here: no loop by hand."""
from workloads.frameworks.onnx_graphs.lacking import loop

__all__ = ("loop",)
