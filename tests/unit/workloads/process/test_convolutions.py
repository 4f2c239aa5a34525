"""How a GPU's convolution algorithms are chosen: the variables that frameworks read, and what is refused."""

import pytest

from workloads.process.environment import variables
from workloads.process.errors import Unsupported, refuse_convolutions, refuse_emulated_bfloat16, refuse_missing_tf32
from workloads.spec.cell import Cell

CELL = Cell(stack="s", task="resnet50", measure="train", device="gpu")
NAMES = ("TF_CUDNN_USE_AUTOTUNE", "TF_CUDNN_DETERMINISTIC", "TF_CUDNN_USE_FRONTEND", "MXNET_CUDNN_AUTOTUNE_DEFAULT")


@pytest.mark.parametrize(("conv", "values"), [
    ("profiling", ("1", None, None, "1")),          # MXNet's 2 would try only what fits its workspace
    ("heuristic", ("0", None, None, "0")), ("fixed", (None, "1", "0", None)), ("default", (None, None, None, None))])
def test_a_choice_becomes_the_variables_of_tensorflow_and_mxnet(conv: str, values: tuple[str | None, ...]) -> None:
    switched = variables(CELL._replace(conv=conv))
    assert values == tuple(switched.get(name) for name in NAMES)


def test_a_cpu_has_no_choice() -> None:
    with pytest.raises(Unsupported, match="a CPU has none"):
        refuse_convolutions(CELL._replace(conv="heuristic", device="cpu"), has_fixed=True)
    refuse_convolutions(CELL._replace(device="cpu"), has_fixed=False)


def test_a_framework_without_a_fixed_algorithm_refuses_it_alone() -> None:
    with pytest.raises(Unsupported, match="no switch for one fixed"):
        refuse_convolutions(CELL._replace(conv="fixed"), has_fixed=False)
    refuse_convolutions(CELL._replace(conv="fixed"), has_fixed=True)
    refuse_convolutions(CELL._replace(conv="profiling"), has_fixed=False)


@pytest.mark.parametrize("capability", [(7, 0), (7, 5)])
def test_bfloat16_that_a_gpu_only_emulates_counts_as_lacking_and_so_does_tf32(capability: tuple[int, int]) -> None:
    with pytest.raises(Unsupported, match=r"has no bfloat16: it needs compute capability 8\.0, not 7"):
        refuse_emulated_bfloat16(capability)
    with pytest.raises(Unsupported, match=r"has no TF32: it needs compute capability 8\.0, not 7"):
        refuse_missing_tf32(capability)


@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (12, 0), None])
def test_a_gpu_from_ampere_on_and_one_that_does_not_tell_are_tried(capability: tuple[int, int] | None) -> None:
    refuse_emulated_bfloat16(capability)
    refuse_missing_tf32(capability)
