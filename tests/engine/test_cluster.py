"""Runs of three nodes in real containers: they train together, and a node that is taken away ends them all."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runner import paths
from runner.launchers.docker import OWNER, DockerLauncher
from runner.launchers.watchdog import Ending, Limits, follow
from runner.machine import host
from runner.stacks import definition
from tests import freezer
from workloads.spec.cell import Cell

pytestmark = pytest.mark.engine
STACKS = definition.read_all(paths.STACKS)
MODES = [("torch-1.7", "allreduce"), ("tf-2.5", "allreduce"), ("tf-2.5", "ps-async"), ("mxnet-1.7", "ps-sync"),
         ("mxnet-1.7", "ps-async"), ("tf-1.15-horovod", "horovod"), ("jax-cpu", "allreduce")]
LIMITS = Limits(start=90, stall=15)


@pytest.fixture(scope="module")
def launcher(client: Any) -> DockerLauncher:
    made = DockerLauncher(client)
    made.prepare([STACKS[name] for name in dict.fromkeys(name for name, _ in MODES)], lambda text: None)
    return made


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
    return not client.containers.list(all=True, filters={"label": OWNER}) and not client.networks.list(
        filters={"label": OWNER})


@pytest.mark.parametrize(("name", "parallel"), MODES)
def test_three_nodes_train_together(client: Any, launcher: DockerLauncher, data: Path, name: str,
                                    parallel: str) -> None:
    running = launcher.start(cell(name, parallel), STACKS[name], data, "together.0.1")
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


@pytest.mark.parametrize(("take", "words", "seen"), [
    (killed, {"killed"}, "node1"), (paused, {"timeout"}, "node1 is paused"),
    (cut, {"timeout"}, "node1 is cut from the network")])
@pytest.mark.parametrize(("name", "parallel"), MODES)
def test_a_node_that_is_taken_away_ends_the_run_and_is_named(
        client: Any, launcher: DockerLauncher, data: Path, name: str, parallel: str, take: Callable[[Cluster], None],
        words: set[str], seen: str) -> None:
    run = f"{take.__name__}.0.1"
    running = launcher.start(cell(name, parallel, steps=100_000), STACKS[name], data, run)
    taken = 0.0
    try:
        for heard in followed_until_steps(running):
            if isinstance(heard, Ending):
                break
            if not taken:
                take(Cluster(client, run))
                taken = time.monotonic()
    finally:
        running.stop()
    assert taken and isinstance(heard, Ending)
    assert heard.word in words and heard.message.startswith(seen), heard
    assert time.monotonic() - taken < 60
    assert is_clean(client)


def followed_until_steps(running: Any) -> Iterator[Any]:
    """The run's events from the first timed steps on, then its Ending."""
    is_training = False
    for heard in follow(running, LIMITS, time.monotonic):
        is_training = is_training or isinstance(heard, Ending) or heard["event"] == "steps"
        if is_training:
            yield heard


def test_a_node_that_never_comes_ends_the_run_and_is_named(client: Any, launcher: DockerLauncher, data: Path) -> None:
    run = "absent.0.1"
    running = launcher.start(cell("torch-1.7", "allreduce", steps=100_000), STACKS["torch-1.7"], data, run)
    try:
        freezer.pause(Cluster(client, run).container("node2"))
        *_, ending = follow(running, Limits(start=15, stall=15), time.monotonic)
    finally:
        running.stop()
    assert isinstance(ending, Ending) and "timeout" == ending.word and ending.message.startswith("node2 is paused")
    assert is_clean(client)
