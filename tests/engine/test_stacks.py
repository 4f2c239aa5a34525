"""Adapters inside images: against the numpy reference, and against the other stacks.

Today's stacks meet the reference in virtual environments of the same locks (tests/environments).
"""

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.launchers.docker import DockerLauncher
from runner.launchers.watchdog import Limits, followed
from runner.machine import host
from runner.measuring import equality
from runner.stacks import engine, images
from tests.engine import runs
from tests.engine.runs import STACKS
from tests.fakes import quiet

pytestmark = pytest.mark.engine
OLDER = ("tf-2.5", "torch-1.7", "mxnet-1.7")


def in_third(third: int, *values: Any) -> Any:
    """A case of make test-slow, of which CI runs those of one third."""
    return pytest.param(*values, marks=pytest.mark.slow(third))


def run_inside(name: str, *words: str) -> None:
    """Run a module of tests in the stack's image; it has a loopback and no other network, as a cell of one node."""
    client = engine.connect()
    image = images.build(client, STACKS[name], quiet)
    client.close()
    found = subprocess.run(
        ["docker", "run", "--rm", "--init", "--network", "none", "--hostname", "localhost",
         "--volume", f"{paths.ROOT}/tests:/opt/evenbench/tests:ro", "--env", "OMP_NUM_THREADS=1",
         "--entrypoint", "python", image.id, "-m", *words],
        capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-3000:]
    assert "\nOK" in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", OLDER)
def test_a_stack_agrees_with_the_reference_and_wrong_tables_are_caught(name: str) -> None:
    run_inside(name, "tests.stack", "test_adapter", STACKS[name].framework)


@pytest.mark.slow(1)
def test_tensorflows_graph_optimisers_are_told_apart() -> None:
    run_inside("tf-1.15", "tests.stack", "test_graph", "tensorflow")


@pytest.mark.parametrize(("name", "kind"), [
    in_third(0, "torch-1.7", "pytorch"), in_third(1, "tf-1.15", "tensorflow"), in_third(2, "tf-2.5", "tensorflow"),
    in_third(0, "mxnet-1.7", "mxnet"), in_third(2, "lstm-onednn", "library")])
def test_the_sequence_models_train_and_the_lstm_agrees_with_the_reference(name: str, kind: str) -> None:
    run_inside(name, "tests.stack", "test_sequences", kind)


@pytest.mark.parametrize("name", [in_third(1, "tf-1.15"), in_third(0, "tf-2.5")])
def test_what_tensorflow_does_otherwise_on_a_gpu_is_called(name: str) -> None:
    run_inside(name, "tests.stack", "test_gpu_branches", "tensorflow")


@pytest.mark.parametrize(("name", "kind"), [
    in_third(1, "tf-2.5", "tensorflow"), in_third(2, "torch-1.7", "pytorch"), in_third(2, "mxnet-1.7", "mxnet"),
    in_third(0, "tf-1.15-horovod", "horovod"), in_third(1, "tf-1.15", "tensorflow_1")])
def test_three_workers_update_as_one_on_the_whole_batch_and_tell_phases_and_operators(name: str, kind: str) -> None:
    run_inside(name, "unittest", f"tests.stack.parallel_{kind}")


@pytest.mark.slow(2)
@pytest.mark.parametrize("cpus", [1, 2])
def test_jax_computes_in_as_many_threads_as_its_container_s_cell_allows(launcher: DockerLauncher, data: Path, cpus: int
                                                                        ) -> None:
    """XLA takes the machine's number where nobody says another."""
    cell = runs.cell(stack="jax-0.10-cpu", input="synthetic", cpus=cpus, memory_bytes=4 * host.GIB)
    run = runs.started(launcher, cell, data, "threads.0.1")
    events, ending = followed(run, Limits(), time.monotonic)
    assert "ok" == ending.word, ending
    assert cpus == next(event["facts"]["threads"] for event in events if event["event"] == "start")


@pytest.mark.slow(2)
def test_jax_s_threads_share_the_work_and_are_counted_in_a_container_too() -> None:
    run_inside("jax-0.10-cpu", "tests.stack", "test_jax", "jax", "Threads")


@pytest.mark.parametrize(("tasks", "names"), [
    in_third(0, ("lenet5",), (*OLDER, "mxnet-1.9")), in_third(0, ("lenet5",), ("torch-1.7", "tf-2.21")),
    in_third(1, ("lenet5",), ("torch-1.7", "torch-2.13-cpu")), in_third(2, ("lenet5",), ("torch-1.7", "jax-0.10-cpu")),
    in_third(1, ("lstm", "bert", "gnmt", "deepspeech2", "tacotron2"), ("torch-1.7", "tf-2.5"))])
def test_stacks_compute_the_same_activations_gradients_and_update(
        launcher: DockerLauncher, data: Path, tasks: tuple[str, ...], names: tuple[str, ...]) -> None:
    stacks = [STACKS[name] for name in names]
    launcher.prepare(stacks, quiet)
    verdicts = equality.run(list(tasks), stacks, equality.Check(launcher, data, (1, 2**31), quiet))
    assert len(verdicts) == len(tasks) * (len(names) - 1)
    assert [verdict for verdict in verdicts if not verdict.passed] == []
