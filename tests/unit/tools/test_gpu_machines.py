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


PAPERS = ("dai2022", "krisilias", "mahorker", "patel", "tian")


@pytest.mark.parametrize(("model", "count"), [("V100", 4), ("P100", 1), ("H100", 1), ("RTX 2080 Ti", 2)])
def test_no_cell_is_planned_that_its_worker_refuses(model: str, count: int) -> None:
    """By the rules that the workers have themselves: choices of convolutions, graphs, LSTMs, many places and GPUs."""
    for name in PAPERS:
        for each in gpu_machines.planned(name, STACKS, model, count).cells:
            stack = STACKS[each.cell.stack]
            able = refusals.of_version(stack.framework, stack.version)
            assert None is refusals.refused(able, each.cell), each.cell


def test_all_of_a_stack_s_cells_of_a_figure_are_in_one_form_of_it() -> None:
    """Table 7 holds many GPUs against one: TensorFlow 1.15 trains on many by Horovod alone, which this stack lacks."""
    of_figure = [each.cell for each in gpu_machines.planned("dai2022", STACKS, "V100").cells
                 if each.experiment == "dai-t7" and STACKS[each.cell.stack].framework == "tensorflow"]

    assert {"tf-2.21-gpu"} == {cell.stack for cell in of_figure}
    assert {1, 2, 4} == {cell.gpus for cell in of_figure}


def test_gnmt_s_parameter_server_runs_in_tensorflow_1_15_on_the_paper_s_gpus() -> None:
    of_gnmt = [each.cell for each in gpu_machines.planned("dai2022", STACKS, "V100").cells
               if each.experiment == "dai-t7-gnmt" and STACKS[each.cell.stack].framework == "tensorflow"]

    assert {("tf-1.15-gpu", "central", 2), ("tf-1.15-gpu", "central", 4)} <= {
        (cell.stack, cell.parallel, cell.gpus) for cell in of_gnmt}
    assert {"tf-1.15-gpu"} == {cell.stack for cell in of_gnmt}


@pytest.mark.parametrize(("study", "model", "count", "has", "lacks"), [
    ("patel", "RTX 2080 Ti", 2, {"torch-2.0"}, "torch-2.13-gpu"),               # its own version
    ("dai2022", "H100", 1, {"tf-2.21-gpu", "torch-2.13-gpu"}, "tf-1.15-nv"),     # which nobody can build
    ("gpu", "V100", 1, set(), "torch-2.13-gpu")])                               # of CUDA 13
def test_each_gpu_gets_the_stacks_that_run_there(study: str, model: str, count: int, has: set[str], lacks: str) -> None:
    found = {each.cell.stack for each in gpu_machines.planned(study, STACKS, model, count).cells}
    assert has <= found and lacks not in found
