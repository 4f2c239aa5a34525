"""Models as ONNX graphs, written from the spec's tables for the runtimes that only infer. Python 3.11, onnx 1.23."""
