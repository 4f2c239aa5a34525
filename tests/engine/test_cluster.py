"""Runs of three nodes in real containers: they train together, and a node that is taken away ends them all."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runner import leftovers, paths
from runner.launchers.docker import OWNER, DockerLauncher, DockerRunning
from runner.launchers.watchdog import Ending, Limits, follow
from runner.machine import host
from runner.stacks import definition
from tests import freezer
from tests.engine import runs
from tests.fakes import quiet
from workloads.spec.cell import Cell

pytestmark = pytest.mark.engine
STACKS = definition.read_all(paths.STACKS)
MODES = [("torch-1.7", "allreduce"), ("tf-2.5", "ps-async"), ("mxnet-1.7", "ps-sync"),
         pytest.param("tf-1.15-horovod", "horovod", marks=pytest.mark.slow(0)),
         pytest.param("tf-2.5", "allreduce", marks=pytest.mark.slow(1)),
         pytest.param("mxnet-1.7", "ps-async", marks=pytest.mark.slow(1)),
         pytest.param("jax-cpu", "allreduce", marks=pytest.mark.slow(2))]
OURS = f"{OWNER}={leftovers.mine()}"
LIMITS = Limits(start=90, stall=15)
SOON = LIMITS._replace(stall=4)


@pytest.fixture(scope="module")
def launcher(client: Any) -> DockerLauncher:
    return DockerLauncher(client)


def started(launcher: DockerLauncher, of: Cell, data: Path, run: str) -> DockerRunning:
    stack = STACKS[of.stack]
    launcher.prepare([stack], quiet)
    return launcher.start(of, stack, data, run)


def cell(name: str, parallel: str, **values: Any) -> Cell:
    facts = {"task": "lenet5", "measure": "train", "nodes": 3, "cpus": 1, "memory_bytes": 3 * host.GIB, "steps": 10,
             "warmup": 3}
    return Cell(stack=name, parallel=parallel, **{**facts, **values})


class Cluster(NamedTuple):
    """A running cluster and the engine's handles of it."""

    client: Any
    run: str

    def container(self, place: str) -> Any:
        return next(each for each in self.client.containers.list(filters={"label": f"org.evenbench.run={self.run}"})
                    if each.name.endswith(place))

    def network(self) -> Any:
        return self.client.networks.list(filters={"label": f"org.evenbench.run={self.run}"})[0]


def is_clean(client: Any) -> bool:
    return not client.containers.list(all=True, filters={"label": OURS}) and not client.networks.list(
        filters={"label": OURS})


@pytest.mark.parametrize(("name", "parallel"), MODES)
def test_three_nodes_train_together(client: Any, launcher: DockerLauncher, data: Path, name: str,
                                    parallel: str) -> None:
    running = started(launcher, cell(name, parallel), data, "together.0.1")
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


def killed(cluster: Cluster) -> None:
    cluster.container("node1").kill()


def paused(cluster: Cluster) -> None:
    freezer.pause(cluster.container("node1"))


def cut(cluster: Cluster) -> None:
    cluster.network().disconnect(cluster.container("node1"), force=True)


@pytest.mark.parametrize(("name", "parallel"), MODES)
def test_a_node_that_is_killed_ends_the_run_and_is_named(client: Any, launcher: DockerLauncher, data: Path, name: str,
                                                         parallel: str) -> None:
    check_ending(client, started(launcher, cell(name, parallel, steps=100_000), data, "killed.0.1"), killed, LIMITS,
                 "killed", "node1")


@pytest.mark.parametrize(("take", "seen"), [(paused, "node1 is paused"), (cut, "node1 is cut from the network")])
def test_a_node_that_stands_still_ends_the_run_and_is_named(
        client: Any, launcher: DockerLauncher, data: Path, take: Callable[[Cluster], None], seen: str) -> None:
    """Seen by the runner, whatever the nodes run."""
    name, parallel = "torch-1.7", "allreduce"
    running = started(launcher, cell(name, parallel, steps=100_000), data, f"{take.__name__}.0.1")
    check_ending(client, running, take, SOON, "timeout", seen)


def check_ending(client: Any, running: DockerRunning, take: Callable[[Cluster], None], limits: Limits, word: str,
                 seen: str) -> None:
    went = runs.followed(running, limits, lambda: take(Cluster(client, f"{take.__name__}.0.1")), ("steps",))
    assert went.ending.word == word and went.ending.message.startswith(seen), went.ending
    assert 0 < went.since < 60
    assert is_clean(client)


def test_a_node_that_never_comes_ends_the_run_and_is_named(client: Any, launcher: DockerLauncher, data: Path) -> None:
    run = "absent.0.1"
    running = started(launcher, cell("torch-1.7", "allreduce", steps=100_000), data, run)
    try:
        freezer.pause(Cluster(client, run).container("node2"))
        *_, ending = follow(running, Limits(start=8, stall=15), time.monotonic)
    finally:
        running.stop()
    assert isinstance(ending, Ending) and "timeout" == ending.word and ending.message.startswith("node2 is paused")
    assert is_clean(client)
