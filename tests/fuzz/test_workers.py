"""Workers gone wrong: whatever one writes, its run has an ending, the session goes on, and its results can be read."""

import socket
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runner.analysis import summary
from runner.launchers import watchdog
from runner.launchers.line_queue import Pipe
from runner.launchers.nodes import Node, RemoteWorker
from runner.measuring.bench import Bench
from runner.planning.plan import Plan, Planned
from runner.results import contract, store
from runner.results.reader import measurements
from runner.study.file import Study
from tests import fakes, made_rows
from tests.clock import FakeClock
from tests.fake_session import run
from tests.fuzz.mutations import bytes_of, document_of, json_lines
from workloads.places import wire
from workloads.spec.cell import Cell

CELL = Cell("torch-x", "lenet5", "train")
PLAN = Plan(Study("s", "S", 2, "torch-x", "quick", ()), 2, "torch-x", 1, (Planned("k", "e", CELL),), ())
EVENTS: list[Any] = [
    {"event": "start", "facts": {"threads": 1, "data": {"name": "digits32"}}, "parameters": 1, "cpu_seconds": 0.5},
    {"event": "warm", "seconds": [0.5], "ended": "steady"},
    {"event": "steps", "first": 0, "seconds": [0.5, 0.5], "count": 2, "loss": [2.0, None],
     "phases": {"load": [0.1, 0.1]}, "drain_seconds": 0.1, "worker": 1},
    {"event": "steps", "first": 2, "seconds": [0.5, 0.25], "counts": [4, 2], "count": 6, "worker": 1,
     "device_seconds": [0.5, 0.25]},
    {"event": "steps", "first": 8, "seconds": [0.75], "count": 6, "worker": 1,
     "blocks": {"counts": [4, 2], "seconds": [0.5, 0.25], "device_seconds": [0.5, 0.25]}},
    made_rows.epoch(),
    {"event": "operators", "steps": 2, "operators": {"aten::conv2d": [2, 0.1]}},
    {**made_rows.KERNELS, "launch_seconds": None},
    {"event": "weights", "sha256": "0"},
    {"event": "end", "status": "ok", "message": "", "peak_bytes": 1, "group_peak_bytes": 2, "cpu_seconds": 1.5,
     "throttling": {"periods": 1, "throttled_periods": 0}}]


GOOD = json_lines(EVENTS).splitlines(keepends=True)


def ran(broken: list[bytes]) -> None:
    """A session of two runs, the first of which writes such lines."""
    clock = FakeClock()
    launcher = fakes.FakeLauncher(clock, lambda cell, run: broken if ".0." in run else GOOD)
    with tempfile.TemporaryDirectory() as name:
        run(Bench(PLAN, {"torch-x": fakes.stack()}, launcher, Path(), Path(name), clock=clock,
                  readings=lambda: fakes.READING))
        found = measurements(store.read(Path(name)))
        first, second = found.rows[0].runs
        assert first.ending in contract.ENDINGS and "ok" == second.ending
        assert summary.summary_of(found).rounds == 2


def test_a_worker_that_is_whole_ends_ok() -> None:
    ran(GOOD)


@given(document_of(EVENTS))
def test_a_worker_that_writes_other_values(events: Any) -> None:
    ran(json_lines(events).splitlines(keepends=True))


@given(bytes_of(b"".join(GOOD)))
def test_a_worker_that_writes_other_bytes(content: bytes) -> None:
    ran(content.splitlines(keepends=True))


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=20))
def test_a_worker_that_writes_anything(content: list[bytes]) -> None:
    ran(content)


MESSAGES: list[Any] = [{"run": "r", "line": '{"event": "warm"}'}, {"number": 1, "value": {"group_peak_bytes": 5}},
                       {"run": "r", "exit": {"code": -9, "is_out_of_memory": True, "last_words": "Killed",
                                             "limit_bytes": 0, "verdict": ["killed", "why"]}}]


@given(st.sampled_from(MESSAGES).flatmap(document_of))
def test_a_node_s_message(message: Any) -> None:
    link, other = socket.socketpair()
    with other:
        other.sendall(json_lines([{"rank": 0, "stack": "", "host": "h", "machine": "m"}, message]))
    node = Node(wire.Link(link))
    worker = RemoteWorker(node, "r", "node0", Pipe(0))
    node.listen()
    assert node.is_lost and watchdog.gone(worker.exit(0)).word in contract.ENDINGS
