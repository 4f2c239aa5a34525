"""Small .onnx files, written byte by byte as protobuf has them, where no onnx is installed."""

import struct
from collections.abc import Sequence
from pathlib import Path

FLOAT, STRING = 1, 8
WEIGHTS = (0.5, -1.0, 2.0, 0.25, -0.75, 1.5, 1.0, -0.5)


def _varint(number: int) -> bytes:
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(high) if high else bytes([low])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    dimensions = b"".join(_field(1, _field(1 if isinstance(each, int) else 2, each)) for each in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dimensions)))


def written(path: Path, operation: str = "Relu", domain: str = "", shape: Sequence[int | str] = ("batch", "time", 4),
            kind: int = FLOAT) -> str:
    """The path of a model of one input x: a product with weights (4, 2), and an operation of a domain."""
    weights = _field(1, 4) + _field(1, 2) + _field(2, FLOAT) + _field(8, "w") + _field(9, struct.pack("<8f", *WEIGHTS))
    product = _field(1, "x") + _field(1, "w") + _field(2, "product") + _field(4, "MatMul")
    last = _field(1, "product") + _field(2, "y") + _field(4, operation) + _field(7, domain)
    graph = (_field(1, product) + _field(1, last) + _field(2, "graph") + _field(5, weights)
             + _field(11, _value("x", kind, shape)) + _field(12, _value("y", FLOAT, [*shape[:-1], 2])))
    versions = _field(8, _field(2, 17)) + (_field(8, _field(1, domain) + _field(2, 1)) if domain else b"")
    path.write_bytes(_field(1, 8) + _field(7, graph) + versions)
    return str(path)
