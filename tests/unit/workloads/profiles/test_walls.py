"""Operators by the wall, as made spans whose sums are worked out by hand, and the classes of a graph's."""

import pytest

from workloads.profiles import graph_operations, walls
from workloads.profiles.walls import Operator


@pytest.mark.parametrize(("spans", "expected"), [
    ([(1, "a", 0, 10), (1, "b", 10, 14)], {"a": 10, "b": 4}),
    ([(1, "outer", 0, 10), (1, "inner", 2, 5)], {"outer": 7, "inner": 3}),
    ([(1, "outer", 0, 10), (1, "inner", 0, 4), (1, "least", 1, 2)], {"outer": 6, "inner": 3, "least": 1}),
    ([(1, "outer", 0, 10), (1, "one", 1, 4), (1, "other", 6, 10), (1, "after", 12, 13)],
     {"outer": 3, "one": 3, "other": 4, "after": 1}),
    ([(1, "a", 0, 10), (2, "b", 4, 8)], {"a": 8, "b": 2}),               # 4 of them shared by two
    ([(1, "a", 0, 10), (2, "a", 0, 10)], {"a": 10}),
    ([(1, "a", 0, 6), (2, "b", 0, 6), (3, "b", 0, 3)], {"a": 2.5, "b": 3.5}),
    ([(1, "host/python", 0, 10), (1, "a", 2, 5), (2, "b", 4, 8)], {"host/python": 4, "a": 2.5, "b": 3.5}),
    ([(1, "host/waiting", 0, 10), (2, "host/runs", 1, 7), (2, "a", 2, 4)], {"host/waiting": 4, "host/runs": 4, "a": 2}),
    ([(1, "host/runs", 0, 10), (1, "a", 1, 9), (1, "host/wait", 2, 8), (1, "b", 3, 5)],
     {"host/runs": 2, "a": 6, "b": 2}),
    # as Eigen's threads work for an operator of TensorFlow
    ([(1, "a", 0, 10), (1, "host/ParallelFor", 1, 9), (2, "host/ParallelFor", 1, 9), (2, "b", 6, 8)],
     {"a": 9, "b": 1}),
    ([(1, "gap", 0, 2), (1, "gap", 8, 9)], {"gap": 3}), ([(1, "none", 5, 5)], {}), ([], {}),
])
def test_each_moment_belongs_to_the_innermost_operators_that_run(
        spans: list[tuple[object, str, int, int]], expected: dict[str, float]) -> None:
    found = walls.walls([Operator(thread, name, 10 * began, 10 * ended) for thread, name, began, ended in spans])
    assert expected == {name: pytest.approx(seconds * 1e8) for name, seconds in found.items()}


def test_what_runs_within_an_optimizer_s_step_is_named_so_on_its_own_thread_alone() -> None:
    spans = [(1, "Optimizer.step#SGD", 0, 10), (1, "aten::add", 2, 4), (2, "aten::add", 2, 4), (1, "aten::add", 11, 12)]
    found = walls.within("Optimizer.step", "optimizer/", [Operator(*span) for span in spans])

    assert {"Optimizer.step#SGD": 1, "optimizer/aten::add": 1, "aten::add": 2} == {
        name: [each.name for each in found].count(name) for name in {each.name for each in found}}


def test_the_spans_of_the_last_step_alone_are_kept_with_names_once() -> None:
    spans = [(7, "a", 0, 2), (7, "host/waiting", 2, 3), (7, "a", 4, 6), (8, "b", 5, 9), (7, "host/waiting", 6, 9)]

    assert (["a", "b", "host/waiting"], [[0, 0, 1, 2], [1, 1, 2, 4], [0, 2, 3, 3]]) == walls.last_step(
        [Operator(*span) for span in spans])
    assert ([], []) == walls.last_step([])


def test_what_a_host_does_is_no_operator() -> None:
    spans = [Operator(1, name, 0, 1) for name in ("input", "host/python", "aten::mm", "input/aten::copy_")]
    assert ["aten::mm", "input/aten::copy_"] == [each.name for each in walls.of_operators(spans)]


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
