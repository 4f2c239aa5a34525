"""Runs on a Swarm of three engines, which the lab script beside the engine's starter makes and takes away."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runner import engine, images, job, machine, stack, swarm
from runner.errors import ImageMissing
from runner.launch import Ending, follow, limits
from runner.swarm_launcher import SwarmLauncher
from workloads.spec.cell import Cell

pytestmark = pytest.mark.engine
LAB = job.ROOT.parent / "shared" / "engine" / "swarm-lab"
STACK = stack.read_all(job.STACKS)["mxnet-1.7"]            # the smallest image
NAMES = ("lab1", "lab2", "lab3")


class Lab(NamedTuple):
    """Three engines, of which the first manages the Swarm."""

    call: Callable[..., Any]
    folder: Path
    clients: dict[str, Any]

    def url(self, name: str) -> str:
        return f"unix://{self.folder}/{name[-1]}/docker.sock"

    def left(self, name: str) -> list[Any]:
        """Containers on a node's engine."""
        return list(self.clients[name].api.containers(all=True))

    def becomes_clean(self, seconds: float = 15.0) -> bool:
        """Whether nothing of ours is left: at once at the manager, soon on the nodes, which clear up by themselves."""
        manager = self.clients["lab1"].api
        known = manager.services(filters={"label": swarm.OWNER}) + manager.networks(filters={"label": swarm.OWNER})
        deadline = time.monotonic() + seconds
        while any(self.left(name) for name in NAMES) and time.monotonic() < deadline:
            time.sleep(0.5)
        return not known and not any(self.left(name) for name in NAMES)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    if not LAB.is_file():
        pytest.skip(f"no {LAB}: three engines on one machine to test with")
    if os.geteuid() != 0:
        pytest.skip(f"{LAB} needs root")
    if Path("/sys/class/net/labbr").exists():
        pytest.skip(f"a lab is up already: end it with `{LAB} down`")
    folder = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))        # short: the path of a socket

    def call(*words: str) -> None:
        subprocess.run([str(LAB), *words], env={**os.environ, "LAB": str(folder)}, check=True, capture_output=True)

    clients: dict[str, Any] = {}
    try:
        call("up")
        made = Lab(call, folder, clients)
        clients.update({name: engine.connect({"DOCKER_HOST": made.url(name)}) for name in NAMES})
        own = engine.connect()
        images.build(own, STACK, lambda text: None)
        engine.copy_image(own, images.tag(STACK), clients["lab1"])
        own.close()
        yield made
    finally:
        for client in clients.values():
            client.close()
        call("down")


def cell(**values: Any) -> Cell:
    facts = {"task": "lenet5", "measure": "train", "nodes": 3, "cpus": 1, "memory_bytes": machine.GIB, "steps": 10,
             "warmup": 3, "parallel": "ps-sync"}
    return Cell(stack=STACK.name, **{**facts, **values})


def test_a_node_that_lacks_the_image_is_named_before_anything_is_measured(lab: Lab) -> None:
    launcher = SwarmLauncher(lab.clients["lab1"], swarm.options([f"engine:lab2={lab.url('lab2')}"]))
    with pytest.raises(ImageMissing, match="lab3 lacks the image sha256:"):
        launcher.prepare([STACK], lambda text: None)
    assert lab.becomes_clean()


@pytest.fixture(scope="module")
def launcher(lab: Lab) -> SwarmLauncher:
    words = [f"engine:{name}={lab.url(name)}" for name in NAMES]
    made = SwarmLauncher(lab.clients["lab1"], swarm.options(words))
    made.prepare([STACK], lambda text: None)
    return made


def test_three_nodes_train_together_and_each_is_on_its_own_engine(lab: Lab, launcher: SwarmLauncher,
                                                                  data: Path) -> None:
    running = launcher.start(cell(), STACK, data, "together.0.1")
    [container] = lab.clients["lab2"].api.containers(filters={"label": f"{swarm.RUN}=together.0.1"})
    about = lab.clients["lab2"].api.inspect_container(container["Id"])
    try:
        *events, ending = follow(running, limits(cell()), time.monotonic)
    finally:
        running.stop()
    assert isinstance(ending, Ending) and "ok" == ending.word, ending
    assert {"node0", "node1", "node2"} == {event["place"] for event in events if event["event"] == "steps"}
    assert list(NAMES) == [node["host"] for node in running.place["nodes"].values()]
    assert abs(running.place["nodes"]["node2"]["clock_ahead_seconds"]) < 0.5      # one machine, one clock
    assert all(said["peak_bytes"] for said in ending.said["places"].values())
    limited = about["HostConfig"]
    assert ("bench", True, ["ALL"], machine.GIB, 10**9) == (
        about["Config"]["User"], limited["ReadonlyRootfs"], limited["CapDrop"], limited["Memory"], limited["NanoCpus"])
    assert not limited["Privileged"] and ["/data"] == [
        mount["Destination"] for mount in about["Mounts"] if mount["Type"] == "bind"]
    assert lab.becomes_clean()


def test_a_worker_out_of_memory_ends_so(lab: Lab, launcher: SwarmLauncher, data: Path) -> None:
    big = cell(task="vgg16", nodes=1, parallel="none", memory_bytes=400 * 2**20, batch=8, classes=1000)
    running = launcher.start(big, STACK, data, "memory.0.1")
    try:
        *_, ending = follow(running, limits(big), time.monotonic)
    finally:
        running.stop()
    assert isinstance(ending, Ending) and "oom" == ending.word, ending
    assert lab.becomes_clean()


def test_a_node_that_is_cut_off_ends_the_run_and_is_named_and_the_next_cell_runs(
        lab: Lab, launcher: SwarmLauncher, data: Path) -> None:
    long = cell(steps=100_000)
    running = launcher.start(long, STACK, data, "cut.0.1")
    cut = 0.0
    try:
        for heard in follow(running, limits(long), time.monotonic):
            if not cut and not isinstance(heard, Ending) and heard["event"] == "steps":
                lab.call("cut", "2")
                cut = time.monotonic()
    finally:
        running.stop()
        took = time.monotonic() - cut
        lab.call("heal", "2")
    assert isinstance(heard, Ending) and "timeout" == heard.word, heard
    assert heard.message.startswith("node1 is on lab2, which is cut off from the Swarm or gone")
    assert took < 60
    assert lab.becomes_clean(60)
    after = launcher.start(cell(), STACK, data, "after.0.1")
    try:
        *_, ending = follow(after, limits(cell()), time.monotonic)
    finally:
        after.stop()
    assert isinstance(ending, Ending) and "ok" == ending.word, ending
