"""docs/gpu-machines.md: what runs on GPUs that people have."""

import pytest

from runner import paths
from runner.planning import gpu_machines
from runner.stacks.definition import read_all

STACKS = read_all(paths.STACKS)


def test_the_page_is_what_the_code_writes() -> None:
    """Else: `python -m runner.planning.gpu_machines > docs/gpu-machines.md`."""
    assert "\n".join(gpu_machines.lines(STACKS)) + "\n" == (paths.ROOT / "docs" / "gpu-machines.md").read_text()


@pytest.mark.parametrize(("model", "frameworks"), [
    ("V100", {"tensorflow", "pytorch", "mxnet"}), ("RTX 2080 Ti", {"tensorflow", "pytorch", "jax", "mxnet"}),
    ("A100", {"tensorflow", "pytorch", "jax"}), ("H100", {"tensorflow", "pytorch", "jax"}),
    ("RTX 5090", {"tensorflow", "pytorch", "jax"})])
def test_the_study_gpu_compares_tensorflow_and_pytorch_on_each_of_them(model: str, frameworks: set[str]) -> None:
    made = gpu_machines.planned("gpu", STACKS, model)
    assert frameworks == {STACKS[each.cell.stack].framework for each in made.cells}


def test_where_nobody_can_build_nvidia_s_tensorflow_the_study_of_it_takes_today_s() -> None:
    made = gpu_machines.planned("dai2022", STACKS, "H100")
    assert () == made.skipped
    assert {"tf-2.21-gpu", "torch-2.13-gpu"} == {each.cell.stack for each in made.cells if each.cell.device == "gpu"}


def test_on_volta_no_stack_of_cuda_13_is_planned() -> None:
    assert "torch-2.13-gpu" not in {each.cell.stack for each in gpu_machines.planned("gpu", STACKS, "V100").cells}
