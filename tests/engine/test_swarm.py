"""Runs on a Swarm of three engines, which the lab script beside the engine's starter makes and takes away."""

import gc
import shlex
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clusters.swarm import manager
from clusters.swarm.launcher import SwarmLauncher
from runner import paths
from runner.errors import ImageMissing
from runner.launchers.watchdog import Ending, follow, limits
from runner.machine import host
from runner.stacks import definition, engine, images
from tests.engine import labs, runs
from tests.fakes import quiet
from tests.lifetimes import eventually
from workloads.spec.cell import Cell

pytestmark = [pytest.mark.engine, pytest.mark.slow(0)]
STACK = definition.read_all(paths.STACKS)["mxnet-1.7"]            # the smallest image
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
        client = self.clients["lab1"].api
        ours = {"label": manager.OWNER}
        known = client.services(filters=ours) + client.networks(filters=ours)
        return not known and bool(eventually(lambda: not any(self.left(name) for name in NAMES), seconds))

    def becomes(self, name: str, state: str) -> bool:
        """Whether the Swarm takes the node as in that state, such as ready."""
        return bool(eventually(lambda: any(node["Description"]["Hostname"] == name and node["Status"]["State"] == state
                                           for node in self.clients["lab1"].api.nodes()), 60.0))

    def restart(self, name: str) -> None:
        """Start a killed engine again as the lab did first; it ends the containers that it finds."""
        root = self.folder / name[-1]
        (root / "pid").unlink(missing_ok=True)
        start = f"mount --make-rprivate /; hostname {name}; mkdir -p /var/run/docker; " \
                f"mount -t tmpfs none /var/run/docker; exec dockerd --data-root {root}/data --exec-root {root}/exec " \
                f"--pidfile {root}/pid -H unix://{root}/docker.sock"
        inside = f"nsenter --net=/var/run/netns/{name} unshare --mount --uts sh -c {shlex.quote(start)}"
        subprocess.run(["sh", "-c", f"setsid nohup {inside} >>{root}/dockerd.log 2>&1 </dev/null &"], check=True)
        assert eventually(self.clients[name].ping, 60.0)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    call, folder = labs.script_of("swarm-lab", "labbr", "three engines")
    clients: dict[str, Any] = {}
    try:
        call("up")
        made = Lab(call, folder, clients)
        clients.update({name: engine.connect({"DOCKER_HOST": made.url(name)}) for name in NAMES})
        own = engine.connect()
        images.build(own, STACK, quiet)
        engine.copy_image(own, images.tag(STACK), clients["lab1"])
        own.close()
        yield made
    finally:
        for client in clients.values():
            client.close()
        clients.clear()
        with warnings.catch_warnings():        # of sockets whose engine was killed: docker's client leaves them open
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        call("down")


def cell(**values: Any) -> Cell:
    facts = {"task": "lenet5", "measure": "train", "nodes": 3, "cpus": 1, "memory_bytes": host.GIB, "steps": 10,
             "warmup": 3, "parallel": "ps-sync"}
    return Cell(stack=STACK.name, **{**facts, **values})


def ended(launcher: SwarmLauncher, asked: Cell, data: Path, run: str, begun: Callable[[], Any] | None = None
          ) -> tuple[Ending, float]:
    """How a run ended, and the seconds since `begun` was called at its first steps."""
    return runs.followed(launcher.start(asked, STACK, data, run), limits(asked), begun, ("steps",))[1:]


def test_a_node_that_lacks_the_image_is_named_before_anything_is_measured(lab: Lab) -> None:
    launcher = SwarmLauncher(lab.clients["lab1"], [f"engine:lab2={lab.url('lab2')}"])
    with pytest.raises(ImageMissing, match="lab3 lacks the image sha256:"):
        launcher.prepare([STACK], quiet)
    assert lab.becomes_clean()


@pytest.fixture(scope="module")
def launcher(lab: Lab) -> SwarmLauncher:
    words = [f"engine:{name}={lab.url(name)}" for name in NAMES]
    made = SwarmLauncher(lab.clients["lab1"], words)
    made.prepare([STACK], quiet)
    return made


def test_three_nodes_train_together_and_each_is_on_its_own_engine(lab: Lab, launcher: SwarmLauncher,
                                                                  data: Path) -> None:
    running = launcher.start(cell(), STACK, data, "together.0.1")
    [container] = lab.clients["lab2"].api.containers(filters={"label": f"{manager.RUN}=together.0.1"})
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
    assert ("bench", True, ["ALL"], host.GIB, 10**9) == (
        about["Config"]["User"], limited["ReadonlyRootfs"], limited["CapDrop"], limited["Memory"], limited["NanoCpus"])
    assert not limited["Privileged"] and ["/data"] == [
        mount["Destination"] for mount in about["Mounts"] if mount["Type"] == "bind"]
    assert lab.becomes_clean()


def test_a_worker_out_of_memory_ends_so(lab: Lab, launcher: SwarmLauncher, data: Path) -> None:
    big = cell(task="vgg16", nodes=1, parallel="none", memory_bytes=400 * 2**20, batch=8, classes=1000)
    ending, _ = ended(launcher, big, data, "memory.0.1")
    assert "oom" == ending.word, ending
    assert lab.becomes_clean()


LONG = {"steps": 100_000}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")     # a killed engine's client's sockets
@pytest.mark.parametrize(("harm", "name", "place"), [("cut", "lab3", "node2"), ("kill", "lab2", "node1")])
def test_a_node_that_is_gone_is_named_and_once_back_clears_up_and_runs_the_next_cell(
        lab: Lab, launcher: SwarmLauncher, data: Path, harm: str, name: str, place: str) -> None:
    try:
        ending, took = ended(launcher, cell(**LONG), data, f"{harm}.0.1", lambda: lab.call(harm, name[-1]))
        assert "timeout" == ending.word and took < 60, ending
        assert ending.message.startswith(f"{place} is on {name}, which is cut off from the Swarm or gone")
        alone = ended(launcher, cell(nodes=1, parallel="none"), data, f"{harm}.1.1")[0]
        assert "ok" == alone.word, alone
        if harm == "cut":
            assert lab.becomes(name, "down")             # nobody asks any more, and the node is still away
            assert lab.left(name)                        # its engine has not heard that the run has ended
    finally:
        if harm == "cut":
            lab.call("heal", name[-1])
        else:
            lab.restart(name)
    assert lab.becomes_clean(60)
    assert lab.becomes(name, "ready")
    assert "ok" == ended(launcher, cell(), data, f"{harm}.2.1")[0].word
