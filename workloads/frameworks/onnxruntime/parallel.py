"""ONNX Runtime here: no places beside its own."""
from workloads.frameworks.onnx_graphs.lacking import Sequences, Workload, serve

__all__ = ("Sequences", "Workload", "serve")
