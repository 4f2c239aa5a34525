"""The watchdog: every way in which a worker goes has its ending."""

from typing import Any

import pytest

from runner.launchers import docker
from runner.launchers.protocol import Exit
from runner.launchers.watchdog import Ending, Limits, follow, followed, limits
from runner.machine import kernel_files
from runner.results.contract import ENDINGS
from tests.clock import FakeClock
from tests.fakes import FakeRunning, good_lines
from workloads.spec.cell import Cell

WELL = Exit(0)
LIMITS = Limits(start=60, stall=30, leave=5)


def ending(lines: list[Any], exit: Exit = WELL, clock: FakeClock | None = None, **facts: Any) -> Ending:
    """How a run of these lines ends; facts: attributes of the FakeRunning."""
    clock = clock or FakeClock(step=0.0)
    running = FakeRunning(lines, exit, clock)
    for name, value in facts.items():
        setattr(running, name, value)
    events, last = followed(running, LIMITS, clock)
    assert last.word in ENDINGS
    assert all(event.get("place", "node0") in running.reporters for event in events)
    return last


def test_on_many_nodes_deadlines_leave_ten_seconds_of_a_minute() -> None:
    one = Cell(stack="s", task="lenet5", measure="train")
    assert (300, 300) == limits(one)[:2]
    assert (50, 50) == limits(one._replace(nodes=3))[:2]
    assert (50, 10) == limits(one, 10)[:2]
    assert (90, 90) == limits(one._replace(nodes=3), 90)[:2]


BEGUN = good_lines()[:2]
START, STEPS, OK = (good_lines()[index] for index in (0, 2, 3))
CRASHED = ("crashed (SIGABRT) where it may hold 629 MB of memory: a library that is refused more often ends so; last "
           "words: Segmentation fault: 11")


@pytest.mark.parametrize(("lines", "exit", "word", "message"), [
    (good_lines(), WELL, "ok", ""), ([b"site: welcome\n", b"site: welcome" + OK], WELL, "ok", ""),
    *(([b'{"event": "end", "status": "%s", "message": "why"}\n' % word.encode()], WELL, word, "why")
      for word in ("oom", "unsupported", "not_finite", "error")),
    ([None], WELL, "timeout", "did not start in 60 s"), ([*BEGUN, None], WELL, "timeout", "no step finished in 30 s"),
    # who runs a place may know what ended it
    (BEGUN, Exit(-15, last_words="Terminated", verdict=("timeout", "the queue's time limit")), "timeout",
     "the queue's time limit; last words: Terminated"),
    (BEGUN, Exit(137, is_out_of_memory=True), "oom", "the worker hit its memory limit and was killed"),
    (BEGUN, Exit(137), "killed", "the worker was killed from outside (exit code 137)"),
    (BEGUN, Exit(-9), "killed", "the worker was killed from outside (exit code -9)"),
    (BEGUN, Exit(None, last_words="connection refused", verdict=docker.GONE), "killed",
     "its container is gone, or the engine that ran it; last words: connection refused"),
    ([], Exit(1, last_words="ImportError: no"), "died",
     "exit code 1 without an end event; last words: ImportError: no"),
    # as MXNet's crash, whose segmentation fault looks like a bug of its own (seen at 0.6 GB)
    ([], Exit(-6, last_words="Segmentation fault: 11", limit_bytes=629_145_600), "died", CRASHED),
    ([], Exit(-6), "died", "exit code -6 without an end event"),
    ([], Exit(1, limit_bytes=1), "died", "exit code 1 without an end event"),
    ([b'{"event": "nonsense"}\n'], WELL, "died", r'the worker wrote what is no event: "{"event": "nonsense"}\n"')])
def test_every_way_in_which_a_worker_goes_has_its_ending(lines: list[Any], exit: Exit, word: str, message: str
                                                         ) -> None:
    assert (word, message) == ending(lines, exit)[:2]


def test_a_worker_whose_instruction_the_cpu_lacks_says_which_this_one_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = "processor: 0\nflags: sse avx\n\nprocessor: 1\nflags: fma\n"
    monkeypatch.setattr(kernel_files, "content", lambda path: cpuinfo)
    end = ending([], Exit(-4))
    assert ("died", "the CPU lacks an instruction that this build needs (SIGILL); of those that builds are made for, "
                    "this host's has no avx2, fma, avx512f") == end[:2]


@pytest.mark.parametrize("garbage", [b"hello\n", b"[1]\n", b'{"event": "dance"}\n', b'{"event": "end"}\n',
                                     b"\xff\x00\n",
                                     b'{"event": "end", "status": "fine", "message": ""}\n', b"[" * 100_000 + b"\n",
                                     b'{"event": "steps", "seconds": [NaN]}\n', b"x" * (2**24 + 2)])
def test_garbage_on_the_pipe_ends_the_run(garbage: bytes) -> None:
    end = ending([START, garbage])
    assert "died" == end.word and len(end.message) < 300 and end.message.isprintable()


def lines(place: str, *texts: bytes) -> list[tuple[str, bytes]]:
    return [(place, text) for text in texts]


ERROR = b'{"event": "end", "status": "error", "message": "connection reset"}\n'


BOTH = [*lines("node0", START), *lines("node1", START)]
NODES = ("node0", "node1")


@pytest.mark.parametrize(("script", "more", "word", "message"), [
    ([*lines("node0", START, STEPS, OK, b""), *lines("node1", START, STEPS, OK)], {}, "ok", ""),
    ([*BOTH, ("node1", b"")], {"exit": Exit(137)}, "killed",
     "node1: the worker was killed from outside (exit code 137)"),
    # an error waits for the place that made it, and is the ending where nothing else is seen
    ([*lines("node0", START, ERROR), ("node1", b"")], {"exit": Exit(137)}, "killed", "node1"),
    ([*lines("node0", START, ERROR), None], {}, "error", "node0: connection reset"),
    # a paused place is named where the others only stall, and a cut network before the error behind it
    ([*BOTH, None], {"seen": {"node1": "is paused"}}, "timeout", "node1 is paused; no step finished in 30 s"),
    ([*lines("node0", START, ERROR), None], {"seen": {"node1": "is cut from the network"}}, "timeout",
     "node1 is cut from the network; then node0: connection reset"),
    ([*lines("node0", START), None], {}, "timeout", "node1 has not started; node0: no step finished in 30 s"),
    ([None], {}, "timeout", "node0, node1: did not start in 310 s"),
    ([None], {"seen": {"node1": "is paused"}}, "timeout", "node1 is paused; did not start in 60 s"),
    ([*lines("node0", START), ("node2", b"")], {"exit": Exit(1), "servers": ("node2",)}, "died", "node2")])
def test_a_run_of_two_places_is_ok_once_both_said_so_and_names_the_one_that_ended_it(
        script: list[Any], more: dict[str, Any], word: str, message: str) -> None:
    end = ending(script, reporters=NODES, **more)

    assert word == end.word and end.message.startswith(message)
    assert word != "ok" or {"node0", "node1"} == set(end.said["places"])


def speaking(clock: FakeClock, place: str, seconds: float) -> Any:
    return lambda: clock.advance(seconds) or (place, STEPS)


def test_no_deadline_comes_nearer_while_nobody_asks_what_places_say() -> None:
    clock = FakeClock(step=0.0)
    lines = [(place, BEGUN[0]) for place in ("node0", "node1")]
    ends = [(place, OK) for place in ("node0", "node1")]
    running = FakeRunning([*lines, lambda: clock.advance(20) or ends[0], ends[1]], WELL, clock)
    running.reporters = ("node0", "node1")
    words = []
    for event in follow(running, LIMITS, clock):
        words.append(event.word if isinstance(event, Ending) else event["place"])
        clock.advance(100)
    assert ["node0", "node1", "ok"] == words


def test_a_place_that_stands_still_is_timed_out_while_another_one_goes_on() -> None:
    clock = FakeClock(step=0.0)
    last = ending([*lines("node0", START), *[speaking(clock, "node1", 0.5)] * 80], clock=clock, reporters=NODES)
    assert ("timeout", "node0: no step finished in 30 s") == last[:2]
    assert 36 == clock.now           # late from 30 on, seen at 30.5, and 5 s for what may wait to be read


@pytest.mark.parametrize(("slow", "seen", "word"), [(250, {}, "ok"), (250, {"node1": "is paused"}, "timeout"),
                                                    (400, {}, "timeout")])
def test_a_place_that_a_busy_machine_starts_late_is_waited_for_while_none_is_in_trouble(
        slow: int, seen: dict[str, str], word: str) -> None:
    clock = FakeClock(step=0.0)
    script = [*lines("node0", START), *[speaking(clock, "node0", 1)] * slow, *lines("node1", START, OK), ("node0", OK)]
    assert word == ending(script, clock=clock, reporters=NODES, seen=seen).word


def test_lines_that_waited_while_the_host_stood_still_count() -> None:
    clock = FakeClock(step=0.0)
    late = [speaking(clock, "node1", 3600), ("node1", STEPS), ("node0", STEPS), ("node0", OK), ("node1", OK)]
    assert "ok" == ending([*BOTH, *late], clock=clock, reporters=NODES).word


@pytest.mark.parametrize(("line", "count"), [(b'{"event": "beat"}\n', 30_000),
                                             (b'{"event": "beat", "why": "%s"}\n' % (b"x" * 2**23), 40)])
def test_a_flood_of_events_ends_the_run(line: bytes, count: int) -> None:
    end = ending([good_lines()[0], *[line] * count])
    assert ("died", "the worker wrote far more than any measurement says") == end[:2]


def test_many_events_over_a_long_time_are_no_flood() -> None:
    clock = FakeClock(step=0.0)
    beats = [speaking(clock, "node0", 0.1)] * 30_000
    assert "ok" == ending([*lines("node0", START), *beats, ("node0", OK)], clock=clock).word
