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
    ("V100", {"tensorflow", "pytorch", "mxnet"}), ("RTX 2080 Ti", {"tensorflow", "pytorch", "mxnet"}),
    ("A100", {"tensorflow", "pytorch"}), ("H100", {"tensorflow", "pytorch"}), ("RTX 5090", {"tensorflow", "pytorch"})])
def test_the_study_gpu_compares_tensorflow_and_pytorch_on_each_of_them(model: str, frameworks: set[str]) -> None:
    made = gpu_machines.planned("gpu", STACKS, model)
    assert frameworks == {STACKS[each.cell.stack].framework for each in made.cells}


def test_on_volta_no_stack_of_cuda_13_is_planned() -> None:
    assert "torch-2.13-gpu" not in {each.cell.stack for each in gpu_machines.planned("gpu", STACKS, "V100").cells}
