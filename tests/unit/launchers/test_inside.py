"""The nodes of a cluster over sockets on this machine's loopback: containers of stacks, and hosts with a launcher."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from runner.errors import BenchError, ImageMissing, InputError
from runner.findings import Finding
from runner.launchers import host_agent, inside, table
from runner.launchers.host_agent import HostAgent
from runner.launchers.inside import InsideLauncher
from runner.launchers.nodes import Nodes
from runner.launchers.process_groups import ProcessGroup, ProcessRunning
from runner.launchers.protocol import HostLauncher, Order
from runner.launchers.watchdog import Ending, Limits, follow, followed
from runner.machine import gpus
from runner.stacks.definition import Stack, read, workloads_digest
from tests.fakes import quiet, row_of
from tests.lifetimes import is_gone
from workloads.places import agent, wire
from workloads.spec.cell import Cell

ROOT = Path(__file__).parents[3]
STACK = read(ROOT / "docker" / "torch-1.7")
CELL = Cell("torch-1.7", "lenet5", "train", nodes=3, parallel="allreduce", cpus=1)
ONE = Cell("torch-1.7", "lenet5", "train", cpus=1)
SERVED = Cell("tf-2.5", "lenet5", "train", nodes=2, parallel="ps-async", cpus=1)
NAMES = ["node0", "node1", "node2"]
LIMITS = Limits(start=20, stall=20)
KEY = b"a secret of this test"
WORKER = """
import json, os, subprocess, sys, time
def say(event, **values):
    sys.stdout.buffer.write(json.dumps(dict(values, event=event)).encode() + b"\\n"); sys.stdout.flush()
facts = dict(pid=os.getpid(), home=os.environ["HOME"], nodes=os.environ.get("EVENBENCH_NODES"),
             rank=os.environ.get("EVENBENCH_RANK"), folder=sys.argv[3],
             padding=os.environ.get("EVENBENCH_PADDING"), secret=os.environ.get("EVENBENCH_SECRET"))
"""
MODULES = {
    "well": 'say("start", facts=facts); say("end", status="ok", message="")',
    "hangs": 'child = subprocess.Popen(["sleep", "99"]); say("start", facts=dict(facts, child=child.pid)); '
             'child.wait()',
    "floods": 'say("start", facts=facts)\nwhile True: say("steps", seconds=[0.5] * 100)',
    "babbles": 'say("start", facts=facts); sys.stdout.buffer.write(b"\\xff\\n")',
    "dies": 'say("start", facts=facts); sys.exit("no such library")',
    "listens": 'say("start", facts=facts); say("end", status="ok", message=sys.stdin.readline())',
}


class Script(HostLauncher):
    """Starts this test's modules by this interpreter."""

    name = "script"

    def _made(self, stack: Stack, say: Any) -> Path:
        return Path(sys.executable)

    def begin(self, order: Order) -> ProcessRunning:
        python, (share, *_) = self._ready(order.stack), self._given(order)
        return ProcessRunning(self._record(order, share, ()), order, lambda rank, variables: ProcessGroup(
            lambda scratch: [str(python), "-m", *order.words, "--data", str(order.data)], share.cpus(rank), 0, ROOT,
            {"PYTHONPATH": os.environ["PYTHONPATH"], **variables}, order.listens))


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(WORKER + text + "\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(inside, "_MADE", [])


@pytest.fixture
def listening() -> Iterator[Nodes]:
    made = Nodes(("127.0.0.1", 0), KEY, host_agent.told()["version"], patience=20.0)
    yield made
    made.close()


@pytest.fixture
def launcher(listening: Nodes) -> InsideLauncher:
    """Whose nodes are containers of stacks, a fourth for a coordinator."""
    return InsideLauncher(listening, None, 4)


@pytest.fixture
def containers(launcher: Any, listening: Nodes) -> Iterator[Callable[[int], tuple[InsideLauncher, list[Any]]]]:
    """Starts real agents of a stack; their launcher, and the processes."""
    started: list[subprocess.Popen[bytes]] = []

    def start(count: int = 3) -> tuple[InsideLauncher, list[Any]]:
        for rank in range(count):
            environment = {**os.environ, "EVENBENCH_STACK": STACK.name, "EVENBENCH_BASE": STACK.base.image,
                           "EVENBENCH_SECRET": KEY.decode()}
            command = [sys.executable, "-m", "workloads.places.agent", f"127.0.0.1:{listening.port}", str(rank)]
            started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL))
        return launcher, started

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def hosts(listening: Nodes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], InsideLauncher]]:
    """The launcher of so many hosts, which are threads here."""
    script = Script()
    monkeypatch.setitem(table.LAUNCHERS, "script", row_of(script))
    threads: list[threading.Thread] = []

    def start(count: int) -> InsideLauncher:
        for rank in range(count):
            local = HostAgent(gpus.NONE, [Finding("disk", "good", "much")])
            link = wire.linked(socket.create_connection(("127.0.0.1", listening.port)), KEY, is_runner=False)
            told = {**host_agent.told(), "rank": rank, "host": f"host{rank}"}
            threads.append(threading.Thread(target=agent.serve, args=(link, told, local)))
            threads[-1].start()
        return InsideLauncher(listening, script, count)

    yield start
    listening.close()
    for thread in threads:
        thread.join(20)


@pytest.fixture
def apart() -> Iterator[str]:
    """The name of a network of its own, 198.18.0.2, which reaches this one, 198.18.0.1, until apart0 is down."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("a network of its own needs root and ip")
    name = f"evenbench-{os.getpid()}"
    try:
        for words in (f"netns add {name}", f"link add apart0 type veth peer name eth0 netns {name}",
                      "address add 198.18.0.1/30 dev apart0", "link set apart0 up",
                      f"-n {name} address add 198.18.0.2/30 dev eth0", f"-n {name} link set eth0 up"):
            ip(words)
        yield name
    finally:
        ip(f"netns delete {name}")               # and with it the link


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)


@pytest.fixture
def join(listening: Nodes) -> Iterator[Callable[..., wire.Link]]:
    """Containers connect that say what they are, and then nothing."""
    with ExitStack() as links:
        def joined(key: bytes = KEY, **values: Any) -> wire.Link:
            link = wire.linked(socket.create_connection(("127.0.0.1", listening.port)), key, is_runner=False)
            links.callback(link.close)
            link.send(**{"rank": 0, "stack": STACK.name, "host": "h", "machine": "m", "base": "", "fingerprint": "",
                         "affinity": [0], "cpu_quota": None, "workloads": workloads_digest(ROOT),
                         "memory_bytes": None, **values})
            return link

        yield joined


def heard(running: Any) -> tuple[list[dict[str, Any]], Ending]:
    return followed(running, LIMITS, time.monotonic)


def begun(launcher: InsideLauncher, module: str = "well", cell: Cell = CELL, listens: bool = False) -> Any:
    return launcher.start(cell, STACK, Path("/data"), "r", module, listens=listens)


def started(launcher: InsideLauncher, module: str, cell: Cell = CELL) -> tuple[Any, list[dict[str, Any]]]:
    """A run, once every place of it has started."""
    running = begun(launcher, module, cell)
    events: list[dict[str, Any]] = []
    for event in follow(running, LIMITS, time.monotonic):
        assert not isinstance(event, Ending), event
        events.append(event)
        if sum(each["event"] == "start" for each in events) == cell.nodes:
            break
    return running, events


def test_every_place_knows_its_rank_and_each_run_is_a_fresh_interpreter_with_a_folder_of_its_own(
        containers: Any) -> None:
    launcher, _ = containers()
    facts: list[dict[str, Any]] = []
    for padding in (3, 0):
        running = launcher.start(CELL, STACK, Path("/some/data"), "r", "well", padding)
        events, ending = heard(running)
        assert "ok" == ending.word and set(NAMES) == set(ending.said["places"]) == set(running.place["nodes"])
        assert ("inside", "container", True) == tuple(
            running.place[key] for key in ("launcher", "isolation", "base_is_default"))
        assert all(node["host"] == socket.gethostname() for node in running.place["nodes"].values())
        assert "remote" not in running.place
        facts += [event["facts"] for event in events]
        assert {("node0", "0"), ("node1", "1"), ("node2", "2")} == {
            (event["place"], event["facts"]["rank"]) for event in events}
        assert {("/some/data", "x" * padding or None, None)} == {
            tuple(event["facts"][key] for key in ("folder", "padding", "secret")) for event in events}
    assert 2 == len({each["nodes"] for each in facts})               # ports are never the last run's
    assert all(3 == len(set(each["nodes"].split(","))) for each in facts)
    assert 6 == len({each["pid"] for each in facts}) == len({each["home"] for each in facts})


def test_hosts_start_workers_by_their_own_launcher_and_records_name_each_node_s_host(hosts: Any) -> None:
    launcher = hosts(3)
    assert (1, True) == (launcher.hosts, launcher.tells)
    launcher.prepare([STACK], quiet)
    running = begun(launcher)
    events, ending = heard(running)
    assert "ok" == ending.word and 1 == len({event["facts"]["nodes"] for event in events})
    assert ["host0", "host1", "host2"] == [node["host"] for node in running.place["nodes"].values()]
    assert ("inside", "script") == (running.place["launcher"], running.place["isolation"])
    assert all(abs(node["clock_ahead_seconds"]) < 1 for node in running.place["nodes"].values())


def test_a_place_beyond_the_nodes_is_on_the_first_with_ports_of_its_own(hosts: Any) -> None:
    launcher = hosts(2)
    stack = read(ROOT / "docker" / "tf-2.5")
    running = launcher.start(SERVED, stack, Path("/data"), "r", "well")
    assert ["host0", "host1", "host0"] == [node["host"] for node in running.place["nodes"].values()]
    events, _ = heard(running)
    assert 3 == len(set(events[0]["facts"]["nodes"].split(",")))


def test_a_worker_on_a_host_hears_what_it_is_told_and_its_errors_come_back(hosts: Any) -> None:
    launcher = hosts(1)
    running = begun(launcher, "listens", ONE, listens=True)
    running.tell("go on")
    assert "go on" in heard(running)[1].message
    running = begun(launcher, "dies", ONE)
    list(follow(running, LIMITS, time.monotonic))
    assert [b"no such library\n"] == [errors.head for errors in running.errors().values()]
    running.stop()


def test_the_doctor_says_it_of_each_node_with_its_clock(hosts: Any) -> None:
    found = {each.what: each for each in hosts(2)._examined()}
    assert {f"node{rank} (host{rank}) {what}" for rank in range(2) for what in ("disk", "clock")} == set(found)
    assert "much" == found["node1 (host1) disk"].found


def test_a_clock_ten_seconds_ahead_is_told_and_no_run_depends_on_it(hosts: Any, monkeypatch: pytest.MonkeyPatch
                                                                    ) -> None:
    monkeypatch.setattr(HostAgent, "clock", lambda self: time.time() + 10.5)
    launcher = hosts(1)
    [clock] = [each for each in launcher._examined() if each.what.endswith("clock")]
    assert clock.found.startswith("+10") and clock.mend
    running = begun(launcher, cell=ONE)
    assert "ok" == heard(running)[1].word
    assert 10 == pytest.approx(running.place["nodes"]["node0"]["clock_ahead_seconds"], abs=1)


def test_data_are_compared_on_all_nodes(hosts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = hosts(2)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "batch").write_bytes(b"x")
    launcher.check_data([tmp_path / "d"])
    listings = iter(["a", "b"])
    monkeypatch.setattr(HostAgent, "has_data", lambda self, folder: next(listings))
    with pytest.raises(InputError, match=r"other files on node\d .*rsync"):
        launcher.check_data([tmp_path / "d"])


def test_too_few_nodes_for_a_cell_are_told_before_anything_is_measured(hosts: Any) -> None:
    with pytest.raises(InputError, match="found 2 nodes, expected 3"):
        hosts(2).check([CELL])


def test_a_node_of_another_version_is_refused(listening: Nodes, join: Any) -> None:
    script = Script()
    join(stack="", version="0.1 abc")
    with pytest.raises(InputError, match=r"node0 \(h\): found evenbench 0.1 abc"):
        assert InsideLauncher(listening, script, 1).hosts


def test_stopping_ends_the_workers_and_their_helpers_and_leaves_no_folder(containers: Any) -> None:
    launcher, _ = containers()
    running, events = started(launcher, "hangs")
    running.stop()
    assert all(is_gone(event["facts"][name]) for event in events for name in ("pid", "child"))
    heard(begun(launcher))
    assert not any(Path(event["facts"]["home"]).exists() for event in events)


def test_nothing_of_a_stopped_run_gets_into_the_next(containers: Any) -> None:
    launcher, _ = containers()
    started(launcher, "floods")[0].stop()
    events, ending = heard(begun(launcher))
    assert "ok" == ending.word and {"start"} == {event["event"] for event in events}


def test_a_run_of_one_place_has_no_others_and_bytes_that_are_no_text_arrive_as_they_were(
        containers: Any) -> None:
    launcher, _ = containers(1)
    running, [event] = started(launcher, "babbles", ONE)
    assert event["facts"]["nodes"] is None
    assert ("node0", b"\xff\n") == running.next_line(5)
    running.stop()


def test_a_worker_that_dies_is_told_with_its_code_and_last_words(containers: Any) -> None:
    launcher, _ = containers()
    _, ending = heard(begun(launcher, "dies"))
    assert "died" == ending.word and "exit code 1" in ending.message and "no such library" in ending.message


def test_a_node_that_is_killed_ends_the_run_and_the_next_one_says_so(containers: Any) -> None:
    launcher, processes = containers()
    running, events = started(launcher, "hangs")
    processes[1].kill()
    _, ending = heard(running)
    for event in events:                        # in a container they would have gone with the node
        if event["place"] == "node1":
            os.killpg(event["facts"]["pid"], signal.SIGKILL)
    assert "killed" == ending.word and "node1" in ending.message and socket.gethostname() in ending.message
    with pytest.raises(BenchError, match=r"node1 .* was lost: the same command"):
        begun(launcher)


def test_a_node_that_is_paused_is_named_and_ends_its_worker_once_it_goes_on(containers: Any) -> None:
    launcher, processes = containers()
    running, events = started(launcher, "hangs")
    processes[1].send_signal(signal.SIGSTOP)
    assert {"node1"} == set(running.trouble()) and "paused" in running.trouble()["node1"]
    running.stop()
    processes[1].send_signal(signal.SIGCONT)
    assert 1 == processes[1].wait(10)           # nobody has released it
    assert all(is_gone(event["facts"]["pid"]) for event in events)


@pytest.mark.slow(1)
def test_a_node_that_is_cut_off_in_mid_step_ends_the_run_and_itself(apart: str) -> None:
    nodes = Nodes(("", 0), KEY, "")
    command = ["ip", "netns", "exec", apart, sys.executable, "-m", "workloads.places.agent",
               f"198.18.0.1:{nodes.port}", "0"]
    environment = {**os.environ, "EVENBENCH_STACK": STACK.name, "EVENBENCH_SECRET": KEY.decode()}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as node:
        running, [event] = started(InsideLauncher(nodes, None, 1), "hangs", ONE)
        ip("link set apart0 down")
        _, ending = followed(running, Limits(start=60, stall=60), time.monotonic)
        assert ("killed", True) == (ending.word, "cut from the network" in ending.message)
        assert 1 == node.wait(20)
    assert all(is_gone(event["facts"][name]) for name in ("pid", "child"))
    nodes.close()


def test_nodes_that_are_released_end_well_and_those_that_lose_their_runner_do_not(
        containers: Any, listening: Nodes) -> None:
    launcher, processes = containers()
    _, events = started(launcher, "hangs")
    lost = listening.awaited(STACK.name, [0])[0]
    lost.close()
    assert 1 == processes[0].wait(10)
    listening.close()
    assert [0, 0] == [process.wait(10) for process in processes[1:]]
    assert all(is_gone(event["facts"]["pid"]) for event in events)


def test_a_node_that_never_comes_is_named(launcher: Any, listening: Nodes, join: Any, monkeypatch: Any) -> None:
    join()
    listening.awaited(STACK.name, [0])
    monkeypatch.setattr(listening, "_deadline", 0.0)
    with pytest.raises(BenchError, match=r"^node1, node2 of torch-1.7 did not connect"):
        begun(launcher)


def test_a_stack_without_nodes_is_skipped_where_another_has_some(
        launcher: Any, listening: Nodes, join: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    join(stack="tf-2.5")
    assert launcher.missing(read(ROOT / "docker" / "tf-2.5")) is None
    monkeypatch.setattr(listening, "_deadline", 0.0)
    assert "no node of it connected, only of tf-2.5" == launcher.missing(STACK)


@pytest.mark.parametrize("name", ["workloads", "fingerprint"])
def test_an_image_of_other_files_than_the_runner_s_is_refused_with_the_command(
        launcher: Any, join: Any, name: str) -> None:
    join(**{name: "another"})
    with pytest.raises(ImageMissing, match=r"run `evenbench images torch-1.7 runner`$"):
        launcher.prepare([STACK], quiet)


@pytest.mark.parametrize(("name", "value"), [("cpu_quota", 1.5), ("memory_bytes", 10**9)])
def test_a_cell_that_asks_for_more_than_a_container_has_is_refused(launcher: Any, join: Any, name: str,
                                                                   value: float) -> None:
    join(**{name: value})
    with pytest.raises(BenchError, match="raise NODE_"):
        launcher.start(ONE._replace(cpus=2, memory_bytes=2 * 10**9), STACK, Path("/data"), "r")


def test_strangers_and_second_comers_are_turned_away_and_named(
        listening: Nodes, join: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_connection(("127.0.0.1", listening.port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"\n" not in stranger.recv(1000)[:-1]                 # a challenge at most
        assert b"" == stranger.recv(1)
    with pytest.raises((wire.Unproved, OSError)):
        join(b"another secret")
    join()
    listening.awaited(STACK.name, [0])
    second = join()
    assert [] == list(second.messages())                             # closed
    monkeypatch.setattr(listening, "_deadline", 0.0)
    with pytest.raises(BenchError, match=r"a second node0 .*another secret"):
        listening.awaited(STACK.name, [1])


def test_a_port_that_is_taken_is_told_with_what_to_do(listening: Nodes) -> None:
    with pytest.raises(InputError, match="--head HOST:PORT"):
        Nodes(("127.0.0.1", listening.port), KEY, "")


@pytest.mark.parametrize("message", [{"line": 5}, {"run": ["r"]}, {"number": [1]}])
def test_a_node_that_says_what_no_node_says_is_let_go(listening: Nodes, join: Any, message: dict[str, Any]) -> None:
    link = join()
    [node] = listening.awaited(STACK.name, [0])
    link.send(**message)
    assert [] == list(link.messages()) and node.is_lost


def test_a_container_and_the_runner_know_workloads_by_the_same_digest() -> None:
    assert workloads_digest(ROOT) == agent.digest(str(ROOT / "workloads"))


def test_one_process_alone_needs_no_secret_and_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("venv", Script.name):
        monkeypatch.setitem(table.LAUNCHERS, name, row_of(Script()))
    launcher = InsideLauncher.made(gpus.NONE, ["venv", "rank=0", "nodes=1"])
    try:
        assert launcher is InsideLauncher.made(gpus.NONE, ["venv", "rank=0", "nodes=1"])
        assert launcher.hosts == 1 and "ok" == heard(begun(launcher, cell=ONE))[1].word
    finally:
        launcher._nodes.close()


@pytest.mark.parametrize(("words", "lacks"), [
    (["venv", "hosts=lab2"], "^--hosts: found no ssh on PATH, expected one: install an ssh client"),
    (["rank=0", "nodes=2", "head=h"], "EVENBENCH_SECRET: found none")])
def test_what_several_processes_need_is_said(words: list[str], lacks: str, tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("EVENBENCH_SECRET", raising=False)
    monkeypatch.setitem(table.LAUNCHERS, "venv", row_of(Script()))
    with pytest.raises(InputError, match=lacks):
        InsideLauncher.made(gpus.NONE, words)
