"""Today's stacks in virtual environments of their locks, which need no engine: their adapters against numpy's."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.stacks import definition, environments
from workloads.spec import tasks

STACKS = definition.read_all(paths.STACKS)
TODAY = ("tf-2.21", "torch-2.13-cpu", "jax-0.10-cpu", "mxnet-1.9")
RUNTIMES = ("onnxruntime-1.32-cpu", "openvino-2026.4-cpu")
SOON = ("lenet5", "bert")        # of what runtimes infer, the models that are checked in seconds
OTHERS = sorted(set(tasks.TASKS) - set(SOON))


def some_slow(**thirds: int) -> list[Any]:
    """Today's stacks, those whose names begin so marked as slow, in that third."""
    slow = {name: pytest.mark.slow(third) for name, third in thirds.items()}
    return [pytest.param(name, marks=slow.get(name.partition("-")[0], ())) for name in TODAY]


def inside(name: str, *module_and_arguments: str) -> "subprocess.CompletedProcess[str]":
    """A module run by the interpreter of the stack's environment, which is made first if it is not there."""
    python = environments.ready(STACKS[name], paths.cache_folder(), lambda line: None)
    return subprocess.run([python, "-m", *module_and_arguments], cwd=paths.ROOT, capture_output=True, text=True,
                          check=False, env={"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"})


def run_inside(name: str, *module_and_arguments: str) -> None:
    tests = inside(name, *module_and_arguments)
    assert tests.returncode == 0, tests.stderr[-3000:]
    assert "\nOK" in tests.stderr


@pytest.mark.parametrize("name", [*TODAY, pytest.param("jax-0.12-cpu", marks=pytest.mark.slow(1))])
def test_a_stack_agrees_with_the_reference_and_wrong_tables_are_caught(name: str) -> None:
    run_inside(name, "tests.stack", "test_adapter", STACKS[name].framework)


@pytest.mark.parametrize("name", some_slow(torch=0, mxnet=0, tf=1, jax=2))
def test_the_sequence_models_train_and_the_lstm_agrees_with_the_reference(name: str) -> None:
    run_inside(name, "tests.stack", "test_sequences", STACKS[name].framework)


@pytest.mark.parametrize("name", ["tf-2.21", "torch-2.13-cpu", "jax-0.10-cpu"])
def test_what_a_stack_does_otherwise_on_a_gpu_is_called(name: str) -> None:
    run_inside(name, "tests.stack", "test_gpu_branches", STACKS[name].framework)


@pytest.mark.parametrize("words", [pytest.param("unittest tests.stack.parallel_jax", marks=pytest.mark.slow(0)),
                                   pytest.param("tests.stack test_jax jax", marks=pytest.mark.slow(2))])
def test_what_only_jax_has_holds_and_its_workers_update_as_one(words: str) -> None:
    run_inside("jax-0.10-cpu", *words.split())


@pytest.mark.parametrize("name", some_slow(jax=0, torch=2, mxnet=2, tf=2))
def test_tokens_by_a_cache_are_those_of_whole_passes(name: str) -> None:
    run_inside(name, "tests.stack", "test_generation", STACKS[name].framework)


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_s_graphs_agree_with_the_reference_and_it_says_its_threads(name: str) -> None:
    run_inside(name, "tests.stack", "test_runtimes", STACKS[name].framework)


@pytest.mark.parametrize(("name", "stacks", "precision"), [
    ("lenet5", TODAY, "float64"), ("gpt2", ("torch-2.13-cpu", "jax-0.10-cpu"), "amp")])
def test_today_s_stacks_compute_the_same(name: str, stacks: Sequence[str], precision: str, tmp_path: Path) -> None:
    check_equal([name], stacks, precision, tmp_path)


@pytest.mark.parametrize("names", [SOON, *(pytest.param(OTHERS[third::3], marks=pytest.mark.slow(third))
                                           for third in range(3))], ids="-".join)
def test_runtimes_infer_what_pytorch_does(names: Sequence[str], tmp_path: Path) -> None:
    check_equal(names, ("torch-2.13-cpu", *RUNTIMES), "float32", tmp_path)


def check_equal(names: Sequence[str], stacks: Sequence[str], precision: str, results: Path) -> None:
    """That `evenbench check` finds these models alike in these stacks."""
    check = subprocess.run(
        [sys.executable, "-m", "runner", "check", *names, "--stack", ",".join(stacks), "--precision", precision,
         "--launcher", "venv", "--results", str(results)], cwd=paths.ROOT, capture_output=True, text=True, check=False)

    assert 0 == check.returncode, check.stdout + check.stderr[-3000:]


@pytest.mark.slow(2)
@pytest.mark.measures
def test_the_gpu_proof_is_green_on_a_cpu() -> None:
    python = environments.ready(STACKS["torch-2.13-cpu"], paths.cache_folder(), lambda line: None)
    proof = subprocess.run(                  # by this Python, which has what the runner needs for check 9
        [sys.executable, "-m", "tests.gpu", "--device", "cpu", "--stack", f"here={python}"], cwd=paths.ROOT,
        capture_output=True, text=True, check=False)

    assert proof.returncode == 0, proof.stdout + proof.stderr[-3000:]
    assert "every check is ok" in proof.stdout
