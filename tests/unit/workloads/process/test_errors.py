"""Errors of a worker: what its words are of memory and of numpy, and what it refuses of a GPU."""

from contextlib import nullcontext

import pytest

from workloads.process import errors
from workloads.process.environment import variables
from workloads.spec.cell import Cell


@pytest.mark.parametrize("text", [
    "CUDA out of memory. Tried to allocate 2.00 GiB", "[enforce fail at alloc_cpu.cpp:73] . DefaultCPUAllocator: "
    "can't allocate memory: you tried to allocate 4 bytes", "std::bad_alloc", "CUBLAS_STATUS_ALLOC_FAILED",
    "RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes", "OOM when allocating tensor with shape[2,3]",
    "cudaMalloc retry failed: Memory allocation failed", "Failed to allocate CPU Memory", "MemoryError",
    "DefaultCPUAllocator: not enough memory"])
def test_what_allocators_say_is_out_of_memory(text: str) -> None:
    assert errors.says_out_of_memory(text)


def test_other_errors_are_not_and_an_exception_is_read_where_it_is_the_framework_s_own() -> None:
    assert not errors.says_out_of_memory("shapes (2, 3) and (4, 5) differ")
    assert [True, True, False, False] == [errors.is_out_of_memory(error, RuntimeError) for error in (
        MemoryError(), RuntimeError("CUDA out of memory"), KeyError("out of memory"), RuntimeError("shapes differ"))]


OLDER = "; a framework that was compiled for NumPy 1 needs numpy<2 there)"


@pytest.mark.parametrize(("said", "numpy", "expected"), [
    ("numpy.core.multiarray failed to import", "2.1.0",
     f"numpy.core.multiarray failed to import (numpy 2.1.0 is installed{OLDER}"),
    ("Numpy is not available", "2.1.0", f"Numpy is not available (numpy 2.1.0 is installed{OLDER}"),
    ("_ARRAY_API not found", "1.21.6", "_ARRAY_API not found (numpy 1.21.6 is installed)"),
    ("'numpy.ndarray' object has no attribute 'ptp'", "2.1.0",
     "'numpy.ndarray' object has no attribute 'ptp' (numpy 2.1.0 is installed)"),
    ("No module named 'numpy'", "", "No module named 'numpy'"),
    ("shapes (2, 3) and (4, 5) differ", "2.1.0", "shapes (2, 3) and (4, 5) differ")])
def test_an_error_of_numpy_says_which_one_is_installed_and_what_helps(said: str, numpy: str, expected: str) -> None:
    assert expected == errors.explained(said, numpy)


CELL = Cell(stack="s", task="resnet50", measure="train", device="gpu")
NAMES = ("TF_CUDNN_USE_AUTOTUNE", "TF_CUDNN_DETERMINISTIC", "TF_CUDNN_USE_FRONTEND", "MXNET_CUDNN_AUTOTUNE_DEFAULT")


@pytest.mark.parametrize(("conv", "values"), [
    ("profiling", ("1", None, None, "1")),          # MXNet's 2 would try only what fits its workspace
    ("heuristic", ("0", None, None, "0")), ("fixed", (None, "1", "0", None)), ("default", (None, None, None, None))])
def test_a_choice_becomes_the_variables_of_tensorflow_and_mxnet(conv: str, values: tuple[str | None, ...]) -> None:
    switched = variables(CELL._replace(conv=conv))
    assert values == tuple(switched.get(name) for name in NAMES)


@pytest.mark.parametrize(("changes", "has_fixed", "reason"), [
    ({"conv": "heuristic", "device": "cpu"}, True, "a CPU has none"), ({"device": "cpu"}, False, ""),
    ({"conv": "fixed"}, False, "no switch for one fixed"), ({"conv": "fixed"}, True, ""),
    ({"conv": "profiling"}, False, "")])
def test_a_cpu_has_no_choice_and_a_framework_without_a_fixed_algorithm_refuses_it_alone(
        changes: dict[str, str], has_fixed: bool, reason: str) -> None:
    with pytest.raises(errors.Unsupported, match=reason) if reason else nullcontext():
        errors.refuse_convolutions(CELL._replace(**changes), has_fixed=has_fixed)


@pytest.mark.parametrize("capability", [(7, 0), (7, 5), (8, 0), (12, 0), None])
def test_bfloat16_that_a_gpu_only_emulates_counts_as_lacking_as_tf32_does(capability: tuple[int, int] | None) -> None:
    for refuse, what in ((errors.refuse_emulated_bfloat16, "bfloat16"), (errors.refuse_missing_tf32, "TF32")):
        said = pytest.raises(errors.Unsupported, match=rf"has no {what}: it needs compute capability 8\.0, not 7")
        with said if capability and capability < (8, 0) else nullcontext():
            refuse(capability)
