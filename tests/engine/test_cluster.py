"""Runs of three nodes in real containers: they train together, and a node that is taken away ends them all."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from docker.models.containers import Container

from runner import leftovers
from runner.launchers.docker import OWNER, RUN, DockerLauncher
from runner.launchers.watchdog import Ending, Limits, follow
from runner.machine import host
from tests import freezer
from tests.conftest import in_third
from tests.engine import runs
from tests.engine.runs import started

pytestmark = pytest.mark.engine
# by third of the slow tests
MODES = ((0, "torch-1.7", "allreduce"), (1, "tf-2.5", "ps-async"), (2, "mxnet-1.7", "ps-sync"),
         (0, "tf-1.15-horovod", "horovod"), (1, "tf-2.5", "allreduce"), (2, "mxnet-1.7", "ps-async"),
         (2, "jax-0.10-cpu", "allreduce"))
cell = runs.cell(nodes=3, memory_bytes=3 * host.GIB, steps=10, warmup=3)._replace
HURT = "hurt.0.1"              # the run to which something is done
LIMITS = Limits(start=90, stall=15)


def node(client: Any, place: str) -> Container:
    """The container of a place of the run that is hurt."""
    found = client.containers.list(filters={"label": f"{RUN}={HURT}"})
    return next(each for each in found if each.name.endswith(place))


def is_clean(client: Any) -> bool:
    return not runs.ours(client) and not client.networks.list(filters={"label": f"{OWNER}={leftovers.mine()}"})


@pytest.mark.parametrize(("name", "parallel"), [in_third(*mode) for mode in MODES])
def test_three_nodes_train_together(client: Any, launcher: DockerLauncher, data: Path, name: str,
                                    parallel: str) -> None:
    running = started(launcher, cell(stack=name, parallel=parallel), data, "together.0.1")
    try:
        *events, ending = follow(running, LIMITS, time.monotonic)
        used = running.used()
    finally:
        running.stop()
    assert isinstance(ending, Ending) and "ok" == ending.word, ending
    workers = {event.get("worker", event["place"]) for event in events if event["event"] == "steps"}
    assert 3 == len(workers)
    digests = [event["sha256"] for event in events if event["event"] == "weights"]
    assert len(digests) == len(running.reporters)
    if parallel != "ps-async":
        assert 1 == len(set(digests))
    assert all(said["group_peak_bytes"] for said in (*ending.said["places"].values(), *used.values()))
    assert is_clean(client)


def cut(container: Container) -> None:
    (network,) = container.attrs["NetworkSettings"]["Networks"]
    container.client.networks.get(network).disconnect(container, force=True)


@pytest.mark.parametrize(("name", "parallel", "take", "stall", "word", "seen"), [
    *(in_third(*mode, Container.kill, 15, "killed", "node1") for mode in MODES),
    # what stands still is seen by the runner, whatever the nodes run
    *(in_third(*MODES[0], take, 4, "timeout", seen) for take, seen in (
        (freezer.pause, "node1 is paused"), (cut, "node1 is cut from the network")))])
def test_a_node_that_is_killed_or_stands_still_ends_the_run_and_is_named(
        client: Any, launcher: DockerLauncher, data: Path, name: str, parallel: str, take: Callable[[Container], None],
        stall: int, word: str, seen: str) -> None:
    running = started(launcher, cell(stack=name, parallel=parallel, steps=100_000), data, HURT)
    went = runs.followed(running, LIMITS._replace(stall=stall), lambda: take(node(client, "node1")), ("steps",))
    assert went.ending.word == word and went.ending.message.startswith(seen), went.ending
    assert 0 < went.since < 60
    assert is_clean(client)


@pytest.mark.slow(0)
def test_a_node_that_never_comes_ends_the_run_and_is_named(client: Any, launcher: DockerLauncher, data: Path) -> None:
    running = started(launcher, cell(stack="torch-1.7", parallel="allreduce", steps=100_000), data, HURT)
    try:
        freezer.pause(node(client, "node2"))
        *_, ending = follow(running, Limits(start=8, stall=15), time.monotonic)
    finally:
        running.stop()
    assert isinstance(ending, Ending) and "timeout" == ending.word and ending.message.startswith("node2 is paused")
    assert is_clean(client)
