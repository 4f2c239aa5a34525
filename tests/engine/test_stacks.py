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
from runner.stacks import images
from tests.conftest import in_third
from tests.engine import runs
from tests.engine.runs import STACKS
from tests.fakes import quiet

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(("name", "words"), [
    in_third(0, "tf-2.5", "tests.stack test_adapter tensorflow"),
    in_third(1, "torch-1.7", "tests.stack test_adapter pytorch"),
    in_third(2, "mxnet-1.7", "tests.stack test_adapter mxnet"),
    in_third(0, "torch-1.7", "tests.stack test_sequences pytorch"),
    in_third(1, "tf-1.15", "tests.stack test_sequences tensorflow"),
    in_third(2, "tf-2.5", "tests.stack test_sequences tensorflow"),
    in_third(0, "mxnet-1.7", "tests.stack test_sequences mxnet"),
    in_third(2, "lstm-onednn", "tests.stack test_sequences library"),
    in_third(1, "tf-1.15", "tests.stack test_graph tensorflow"),
    in_third(1, "tf-1.15", "tests.stack test_gpu_branches tensorflow"),
    in_third(0, "tf-2.5", "tests.stack test_gpu_branches tensorflow"),
    in_third(2, "jax-0.10-cpu", "tests.stack test_jax jax Threads"),
    *(in_third(third, name, f"unittest tests.stack.parallel_{kind}") for third, name, kind in (
        (1, "tf-2.5", "tensorflow"), (2, "torch-1.7", "pytorch"), (2, "mxnet-1.7", "mxnet"),
        (0, "tf-1.15-horovod", "horovod"), (1, "tf-1.15", "tensorflow_1")))])
def test_what_a_module_of_tests_shows_holds_in_an_image(client: Any, name: str, words: str) -> None:
    """It has a loopback and no other network, as a cell of one node."""
    image = images.build(client, STACKS[name], quiet)
    found = subprocess.run(
        ["docker", "run", "--rm", "--init", "--network", "none", "--hostname", "localhost",
         "--volume", f"{paths.ROOT}/tests:/opt/evenbench/tests:ro", "--env", "OMP_NUM_THREADS=1",
         "--entrypoint", "python", image.id, "-m", *words.split()],
        capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-3000:]
    assert "\nOK" in found.stderr


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


@pytest.mark.parametrize(("tasks", "names"), [
    *(in_third(third, ("lenet5",), names) for third, names in (
        (0, ("tf-2.5", "torch-1.7", "mxnet-1.7", "mxnet-1.9")), (0, ("torch-1.7", "tf-2.21")),
        (1, ("torch-1.7", "torch-2.13-cpu")), (2, ("torch-1.7", "jax-0.10-cpu")))),
    in_third(1, ("lstm", "bert", "gnmt", "deepspeech2", "tacotron2"), ("torch-1.7", "tf-2.5"))])
def test_stacks_compute_the_same_activations_gradients_and_update(
        launcher: DockerLauncher, data: Path, tasks: tuple[str, ...], names: tuple[str, ...]) -> None:
    stacks = [STACKS[name] for name in names]
    launcher.prepare(stacks, quiet)
    verdicts = equality.run(list(tasks), stacks, equality.Check(launcher, data, (1, 2**31), quiet))
    assert len(verdicts) == len(tasks) * (len(names) - 1)
    assert [verdict for verdict in verdicts if not verdict.passed] == []
