"""The transformers as ONNX graphs."""
