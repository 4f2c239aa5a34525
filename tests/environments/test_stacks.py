"""Today's stacks in virtual environments of their locks, which need no engine: their adapters against numpy's."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from runner import paths
from runner.stacks import definition, environments
from tests.conftest import in_third
from workloads.spec import tasks

STACKS = definition.read_all(paths.STACKS)
TODAY = ("tf-2.21", "torch-2.13-cpu", "jax-0.10-cpu", "mxnet-1.9")
RUNTIMES = ("onnxruntime-1.32-cpu", "openvino-2026.4-cpu")
SOON = ("lenet5", "bert")        # of what runtimes infer, the models that are checked in seconds
OTHERS = sorted(set(tasks.TASKS) - set(SOON))


def inside(name: str, *module_and_arguments: str) -> "subprocess.CompletedProcess[str]":
    """A module run by the interpreter of the stack's environment, which is made first if it is not there."""
    python = environments.ready(STACKS[name], paths.cache_folder(), lambda line: None)
    return subprocess.run([python, "-m", *module_and_arguments], cwd=paths.ROOT, capture_output=True, text=True,
                          check=False, env={"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"})


@pytest.mark.parametrize(("module", "name"), [
    *(("test_adapter", name) for name in TODAY), in_third(1, "test_adapter", "jax-0.12-cpu"),
    *(("test_gpu_branches", name) for name in ("tf-2.21", "torch-2.13-cpu", "jax-0.10-cpu")),
    *(in_third(third, "test_sequences", name) for third, name in zip((1, 0, 2, 0), TODAY, strict=True)),
    *(in_third(third, "test_generation", name) for third, name in zip((2, 2, 0, 2), TODAY, strict=True)),
    *(("test_runtimes", name) for name in RUNTIMES),
    in_third(2, "test_jax", "jax-0.10-cpu"), in_third(0, "parallel_jax", "jax-0.10-cpu")])
def test_what_a_module_of_tests_shows_holds_in_a_stack(module: str, name: str) -> None:
    tests = inside(name, "tests.stack", module, STACKS[name].framework)
    assert tests.returncode == 0, tests.stderr[-3000:]
    assert "\nOK" in tests.stderr


@pytest.mark.parametrize(("name", "stacks", "precision"), [
    ("lenet5", TODAY, "float64"), ("gpt2", ("torch-2.13-cpu", "jax-0.10-cpu"), "amp")])
def test_today_s_stacks_compute_the_same(name: str, stacks: Sequence[str], precision: str, tmp_path: Path) -> None:
    check_equal([name], stacks, precision, tmp_path)


@pytest.mark.parametrize("names", [SOON, *(in_third(third, OTHERS[third::3]) for third in range(3))], ids="-".join)
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
