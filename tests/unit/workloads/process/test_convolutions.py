"""How a GPU's convolution algorithms are chosen: the variables that frameworks read, and what is refused."""

from contextlib import nullcontext

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


@pytest.mark.parametrize(("changes", "has_fixed", "reason"), [
    ({"conv": "heuristic", "device": "cpu"}, True, "a CPU has none"), ({"device": "cpu"}, False, ""),
    ({"conv": "fixed"}, False, "no switch for one fixed"), ({"conv": "fixed"}, True, ""),
    ({"conv": "profiling"}, False, "")])
def test_a_cpu_has_no_choice_and_a_framework_without_a_fixed_algorithm_refuses_it_alone(
        changes: dict[str, str], has_fixed: bool, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason) if reason else nullcontext():
        refuse_convolutions(CELL._replace(**changes), has_fixed=has_fixed)


@pytest.mark.parametrize("capability", [(7, 0), (7, 5), (8, 0), (12, 0), None])
def test_bfloat16_that_a_gpu_only_emulates_counts_as_lacking_as_tf32_does(capability: tuple[int, int] | None) -> None:
    for refuse, what in ((refuse_emulated_bfloat16, "bfloat16"), (refuse_missing_tf32, "TF32")):
        said = pytest.raises(Unsupported, match=rf"has no {what}: it needs compute capability 8\.0, not 7")
        with said if capability and capability < (8, 0) else nullcontext():
            refuse(capability)
