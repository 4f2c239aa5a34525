"""Nodes and their launcher over sockets on this machine's loopback: what compose.yaml puts into containers."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.errors import BenchError, ImageMissing
from runner.launchers.compose import ComposeLauncher
from runner.launchers.watchdog import Ending, Limits, follow, followed
from runner.stacks.definition import read, workloads_digest
from tests.lifetimes import is_gone
from workloads.places import compose_node
from workloads.spec.cell import Cell

ROOT = Path(__file__).parents[3]
STACK = read(ROOT / "docker" / "torch-1.7")
CELL = Cell("torch-1.7", "lenet5", "train", nodes=3, parallel="allreduce")
ONE = Cell("torch-1.7", "lenet5", "train")
NAMES = ["node0", "node1", "node2"]
LIMITS = Limits(start=20, stall=20)
WORKER = """
import json, os, subprocess, sys, time
def say(event, **values):
    sys.stdout.buffer.write(json.dumps(dict(values, event=event)).encode() + b"\\n"); sys.stdout.flush()
facts = dict(pid=os.getpid(), home=os.environ["HOME"], nodes=os.environ.get("EVENBENCH_NODES"),
             rank=os.environ.get("EVENBENCH_RANK"), folder=sys.argv[3],
             padding=os.environ.get("EVENBENCH_PADDING"))
"""
MODULES = {
    "well": 'say("start", facts=facts); say("end", status="ok", message="")',
    "hangs": 'child = subprocess.Popen(["sleep", "99"]); say("start", facts=dict(facts, child=child.pid)); '
             'child.wait()',
    "floods": 'say("start", facts=facts)\nwhile True: say("steps", seconds=[0.5] * 100)',
    "babbles": 'say("start", facts=facts); sys.stdout.buffer.write(b"\\xff\\n")',
    "dies": 'say("start", facts=facts); sys.exit("no such library")',
}


@pytest.fixture
def launcher() -> Iterator[ComposeLauncher]:
    made = ComposeLauncher(("127.0.0.1", 0), patience=5)
    yield made
    made.close()


@pytest.fixture
def nodes(launcher: ComposeLauncher, tmp_path: Path) -> Iterator[Callable[..., list[subprocess.Popen[bytes]]]]:
    """Starts real nodes whose workers are the modules above."""
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(WORKER + text + "\n")
    started: list[subprocess.Popen[bytes]] = []

    def start(names: list[str]) -> list[subprocess.Popen[bytes]]:
        host, port = launcher.address
        for name in names:
            environment = {**os.environ, "EVENBENCH_PLACE": name, "EVENBENCH_STACK": STACK.name,
                           "EVENBENCH_BASE": STACK.base.image, "TMPDIR": str(tmp_path),
                           "PYTHONPATH": f"{tmp_path}:{ROOT}"}
            command = [sys.executable, "-m", "workloads.places.compose_node", f"{host}:{port}"]
            started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL))
        return started

    yield start
    for process in started:
        process.kill()
        process.wait()


def hello(launcher: ComposeLauncher, **values: Any) -> socket.socket:
    """A place that says what it is and then nothing."""
    connection = socket.create_connection(launcher.address)
    about = {"place": "node0", "stack": STACK.name, "base": "", "fingerprint": "", "affinity": [0], "cpu_quota": None,
             "workloads": workloads_digest(ROOT), "memory_bytes": None, **values}
    connection.sendall(json.dumps(about).encode() + b"\n")
    return connection


def heard(running: Any) -> tuple[list[dict[str, Any]], Ending]:
    return followed(running, LIMITS, time.monotonic)


def started(launcher: ComposeLauncher, module: str, cell: Cell = CELL) -> tuple[Any, list[dict[str, Any]]]:
    """A run, once every place of it has started."""
    running = launcher.start(cell, STACK, Path("/data"), "r", module)
    events: list[dict[str, Any]] = []
    for event in follow(running, LIMITS, time.monotonic):
        assert not isinstance(event, Ending), event
        events.append(event)
        if sum(each["event"] == "start" for each in events) == cell.nodes:
            break
    return running, events


def test_every_place_is_told_its_rank_and_each_run_is_a_fresh_interpreter_with_a_folder_of_its_own(
        launcher: Any, nodes: Any) -> None:
    nodes(NAMES)
    facts: list[dict[str, Any]] = []
    for padding in (3, 0):
        running = launcher.start(CELL, STACK, Path("/some/data"), "r", "well", padding)
        events, ending = heard(running)
        assert "ok" == ending.word and set(NAMES) == set(ending.said["places"]) == set(running.place["nodes"])
        assert ("compose", "compose", True) == tuple(
            running.place[key] for key in ("launcher", "isolation", "base_is_default"))
        assert {(name, str(rank), "node0,node1,node2", "/some/data", "x" * padding or None)
                for rank, name in enumerate(NAMES)} == {
            (event["place"], *(event["facts"][key] for key in ("rank", "nodes", "folder", "padding")))
            for event in events}
        facts += [event["facts"] for event in events]

    assert 6 == len({each["pid"] for each in facts}) == len({each["home"] for each in facts})


def test_stopping_ends_the_workers_and_their_helpers_and_leaves_no_folder(launcher: Any, nodes: Any) -> None:
    nodes(NAMES)
    running, events = started(launcher, "hangs")
    running.stop()
    assert all(is_gone(event["facts"][name]) for event in events for name in ("pid", "child"))
    heard(launcher.start(CELL, STACK, Path("/data"), "r", "well"))
    assert not any(Path(event["facts"]["home"]).exists() for event in events)


def test_nothing_of_a_stopped_run_gets_into_the_next(launcher: Any, nodes: Any) -> None:
    nodes(NAMES)
    started(launcher, "floods")[0].stop()
    events, ending = heard(launcher.start(CELL, STACK, Path("/data"), "r", "well"))
    assert "ok" == ending.word and {"start"} == {event["event"] for event in events}


def test_a_run_of_one_place_is_told_of_no_others_and_bytes_that_are_no_text_arrive_as_they_were(
        launcher: Any, nodes: Any) -> None:
    nodes(["node0"])
    running, [event] = started(launcher, "babbles", ONE)
    assert event["facts"]["nodes"] is None
    assert ("node0", b"\xff\n") == running.next_line(5)
    running.stop()


def test_a_worker_that_dies_is_told_with_its_code_and_last_words(launcher: Any, nodes: Any) -> None:
    nodes(NAMES)
    _, ending = heard(launcher.start(CELL, STACK, Path("/data"), "r", "dies"))
    assert "died" == ending.word and "exit code 1" in ending.message and "no such library" in ending.message


def test_a_place_that_is_killed_ends_the_run_and_the_next_one_says_so(launcher: Any, nodes: Any) -> None:
    processes = nodes(NAMES)
    running, events = started(launcher, "hangs")
    processes[1].kill()
    _, ending = heard(running)
    for event in events:                        # in a container they would have gone with the node
        if event["place"] == "node1":
            os.killpg(event["facts"]["pid"], signal.SIGKILL)
    assert "killed" == ending.word and ending.message.startswith("node1: ")
    with pytest.raises(BenchError, match="node1 was lost in an earlier run"):
        launcher.start(CELL, STACK, Path("/data"), "r", "well")


def test_a_place_that_is_paused_is_named(launcher: Any, nodes: Any) -> None:
    processes = nodes(NAMES)
    running, events = started(launcher, "hangs")
    processes[1].send_signal(signal.SIGSTOP)
    assert {"node1"} == set(running.trouble()) and "paused" in running.trouble()["node1"]
    began = time.monotonic()
    running.stop()
    assert time.monotonic() - began < 5
    processes[1].send_signal(signal.SIGCONT)
    assert 0 == processes[1].wait(10)
    assert all(is_gone(event["facts"]["pid"]) for event in events)


def test_nodes_end_with_their_runner(launcher: Any, nodes: Any) -> None:
    processes = nodes(NAMES)
    _, events = started(launcher, "hangs")
    launcher.close()
    assert [0, 0, 0] == [process.wait(10) for process in processes]
    assert all(is_gone(event["facts"]["pid"]) for event in events)


def test_a_place_that_never_comes_is_named(tmp_path: Path) -> None:
    launcher = ComposeLauncher(("127.0.0.1", 0), patience=0.2)
    with hello(launcher), pytest.raises(BenchError, match=r"^node1, node2 of torch-1.7 did not connect"):
        launcher.start(CELL, STACK, Path("/data"), "r")
    launcher.close()


def test_a_stack_without_nodes_is_skipped_with_the_stacks_that_have_some() -> None:
    launcher = ComposeLauncher(("127.0.0.1", 0), patience=0.2)
    with hello(launcher, stack="tf-2.5"):
        assert launcher.missing(read(ROOT / "docker" / "tf-2.5")) is None
        assert launcher.missing(STACK) == ("no node of it connected, only of tf-2.5: "
                                           "run `STACK=torch-1.7 docker compose up`")
    launcher.close()


def test_nodes_of_the_same_names_are_told_apart_by_their_stacks(launcher: Any) -> None:
    with hello(launcher, stack="tf-2.5", affinity=[0, 1]), hello(launcher) as own:
        assert launcher.missing(STACK) is None
        running = launcher.start(ONE, STACK, Path("/data"), "r")
        assert [0] == running.place["nodes"]["node0"]["affinity"]
        own.sendall(b'{"exit": 0, "is_out_of_memory": false, "last_words": ""}\n')      # or the stop would wait for it
        running.stop()


@pytest.mark.parametrize("name", ["workloads", "fingerprint"])
def test_an_image_of_other_files_than_the_runner_s_is_refused_with_the_command(launcher: Any, name: str) -> None:
    mend = "run `evenbench images torch-1.7 runner`$"
    with hello(launcher, **{name: "another"}), pytest.raises(ImageMissing, match=mend):
        launcher.prepare([STACK], print)


@pytest.mark.parametrize(("name", "value"), [("cpu_quota", 1.5), ("memory_bytes", 10**9)])
def test_a_cell_that_asks_for_more_than_a_node_has_is_refused(launcher: Any, name: str, value: float) -> None:
    with hello(launcher, **{name: value}), pytest.raises(BenchError, match="raise NODE_"):
        launcher.start(ONE._replace(cpus=2, memory_bytes=2 * 10**9), STACK, Path("/data"), "r")


@pytest.mark.parametrize("value", [{"stack": 1}, {"cpu_quota": "2"}, {"affinity": None}, {"memory_bytes": -1}, None])
def test_what_does_not_say_that_it_is_a_place_is_shut_out(launcher: Any, value: dict[str, Any] | None) -> None:
    with socket.create_connection(launcher.address) if value is None else hello(launcher, **value) as stranger:
        if value is None:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"" == stranger.recv(1)
    with hello(launcher):
        assert launcher.missing(STACK) is None


@pytest.mark.parametrize("message", [b"5", b'{"line": 5}', b'{"exit": "x"}', b'{"alive": true}', b"[" * 100_000])
def test_a_place_that_says_what_no_node_says_is_let_go_and_its_run_ends(launcher: Any, message: bytes) -> None:
    with hello(launcher) as stranger:
        running = launcher.start(ONE, STACK, Path("/data"), "r")
        stranger.sendall(message + b"\n")
        events, ending = heard(running)
        assert [] == events and "killed" == ending.word
        with pytest.raises(BenchError, match=r"^node0 was lost in an earlier run"):
            launcher.start(ONE, STACK, Path("/data"), "r")


def test_a_node_and_the_runner_know_workloads_by_the_same_digest() -> None:
    assert workloads_digest(ROOT) == compose_node.digest(str(ROOT / "workloads"))


def test_a_node_without_a_runner_gives_up() -> None:
    readings = iter([0.0, 1.0, 1000.0])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        compose_node.connected("127.0.0.1", port, clock=lambda: next(readings), wait=lambda seconds: None)
