"""The classes of graph operations."""

import pytest

from workloads.profiles import graph_operations


@pytest.mark.parametrize(("operation", "kind"), [
    ("Conv2D", "expensive"), ("Conv2DBackpropFilter", "expensive"), ("MatMul", "expensive"), ("FFT2D", "expensive"),
    ("CudnnRNNV2", "expensive"), ("BlockLSTMGrad", "expensive"),
    ("Mul", "cheap"), ("FusedBatchNormV3", "cheap"), ("ResourceApplyGradientDescent", "cheap"),
    ("Const", "noop"), ("Assign", "noop"), ("Identity", "noop"), ("Shape", "noop"), ("NextIteration", "noop"),
    ("Conj", "noop"),
])
def test_an_operation_has_the_class_of_what_it_computes(operation: str, kind: str) -> None:
    assert kind == graph_operations.kind(operation)


def test_every_class_is_counted_also_where_there_is_none_of_it() -> None:
    assert {"expensive": 0, "cheap": 1, "noop": 2} == graph_operations.counted(["Const", "Add", "Shape"])
