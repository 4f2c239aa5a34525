"""What runs on GPUs that people have."""

import pytest

from runner import paths
from runner.stacks.definition import read_all
from tools.pages import gpu_machines
from workloads.spec import refusals

STACKS = read_all(paths.STACKS)


@pytest.mark.parametrize(("model", "frameworks"), [
    ("V100", {"tensorflow", "pytorch", "mxnet"}), ("RTX 2080 Ti", {"tensorflow", "pytorch", "jax", "mxnet"}),
    ("A100", {"tensorflow", "pytorch", "jax"}), ("H100", {"tensorflow", "pytorch", "jax"}),
    ("RTX 5090", {"tensorflow", "pytorch", "jax"})])
def test_the_study_gpu_compares_tensorflow_and_pytorch_on_each_of_them(model: str, frameworks: set[str]) -> None:
    made = gpu_machines.planned("gpu", STACKS, model)
    assert frameworks == {STACKS[each.cell.stack].framework for each in made.cells}


@pytest.mark.parametrize(("model", "count"), [("V100", 4), ("P100", 1), ("H100", 1), ("RTX 2080 Ti", 2)])
def test_no_cell_is_planned_that_its_worker_refuses(model: str, count: int) -> None:
    """By the rules that the workers have themselves: choices of convolutions, graphs, LSTMs, many places and GPUs."""
    for name in ("dai2022", "krisilias", "mahorker", "patel", "tian"):
        for each in gpu_machines.planned(name, STACKS, model, count).cells:
            stack = STACKS[each.cell.stack]
            able = refusals.of_version(stack.framework, stack.version)
            assert None is refusals.refused(able, each.cell), each.cell


@pytest.mark.parametrize(("experiment", "stack", "gpus", "parallel"), [
    ("dai-t7", "tf-2.21-gpu", {1, 2, 4}, "allreduce"), ("dai-t7-gnmt", "tf-1.15-gpu", {2, 4}, "central")])
def test_all_of_tensorflow_s_cells_of_a_figure_are_in_one_stack(
        experiment: str, stack: str, gpus: set[int], parallel: str) -> None:
    """Table 7 holds many GPUs against one: TensorFlow 1.15 trains GNMT alone on many without Horovod, by a server."""
    cells = [each.cell for each in gpu_machines.planned("dai2022", STACKS, "V100").cells
             if each.experiment == experiment and STACKS[each.cell.stack].framework == "tensorflow"]

    assert ({stack}, gpus) == ({cell.stack for cell in cells}, {cell.gpus for cell in cells})
    assert {parallel} == {cell.parallel for cell in cells if cell.gpus > 1}


@pytest.mark.parametrize(("study", "model", "count", "has", "lacks"), [
    ("patel", "RTX 2080 Ti", 2, {"torch-2.0"}, "torch-2.13-gpu"),               # its own version
    ("dai2022", "H100", 1, {"tf-2.21-gpu", "torch-2.13-gpu"}, "tf-1.15-nv"),     # which nobody can build
    ("gpu", "V100", 1, set(), "torch-2.13-gpu")])                               # of CUDA 13
def test_each_gpu_gets_the_stacks_that_run_there(study: str, model: str, count: int, has: set[str], lacks: str) -> None:
    found = {each.cell.stack for each in gpu_machines.planned(study, STACKS, model, count).cells}
    assert has <= found and lacks not in found
