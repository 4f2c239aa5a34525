"""A launched run, from its first line to its ending: what launchers promise, and the watchdog over them.

The frameworks alone hang, and an engine's own wait has no run limit, so deadlines are kept here, by the clock that is
handed in. A worker is not trusted: a line that is no event ends its run.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from runner.pipe import LONGEST_LINE
from runner.stack import Stack
from workloads.spec.cell import Cell

# what an ending means; the first five are said by the worker, the others by the host
ENDINGS = {
    "ok": "measured to the end",
    "oom": "out of memory: a result, not a crash",
    "unsupported": "the stack cannot do what the cell asks",
    "not_finite": "the loss became NaN or infinite: no throughput",
    "error": "the worker failed and said why",
    "timeout": "it did not start, or no step finished, in time",
    "killed": "ended from outside before its end; run again on resume",
    "died": "it went without saying how it ended, or wrote what is no event",
    "not_started": "no worker could be started; tried again on resume",
    "skipped": "planned, but cannot run here",
}
SAID_BY_WORKER = ("ok", "oom", "unsupported", "not_finite", "error")
EVENTS = ("start", "warm", "steps", "epoch", "accuracy", "tensor", "harness", "end")

_POLL_SECONDS = 1.0


class Limits(NamedTuple):
    """Deadlines of a run, in seconds."""

    start: float = 300.0        # to the "start" event: import, data, building the model
    stall: float = 300.0        # between two events: a step, a compilation
    leave: float = 20.0         # from the "end" event to the worker's exit


class Exit(NamedTuple):
    """How a worker's process went."""

    code: int | None             # None: it still runs
    is_out_of_memory: bool = False
    last_words: str = ""         # the end of its standard error


class Running(Protocol):
    """A started worker."""

    place: dict[str, Any]        # launcher, isolation, image, base ... for the record

    def next_line(self, seconds: float) -> bytes | None:
        """The next line of standard output; None if none came in time, b"" once there are no more."""

    def exit(self, seconds: float) -> Exit:
        """How it went, waiting at most so long."""

    def stop(self) -> None:
        """End it if it still runs, and leave nothing behind. Safe to repeat."""


class Launcher(Protocol):
    """A way to run cells."""

    name: str

    def missing(self, stack: Stack) -> str | None:
        """Why this launcher cannot run the stack here, or None; builds nothing."""

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Build what the stacks need and sweep what earlier sessions left."""

    def fingerprint(self, stack: Stack) -> str:
        """What the stack's runs are made of: runs of different fingerprints are never mixed."""

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads") -> Running:
        """Start a fresh worker, `python -m MODULE '<cell>'`. Raises BenchError where none can be started."""


class Ending(NamedTuple):
    """A word of ENDINGS, what there is to say of it, and the "end" event's own values."""

    word: str
    message: str = ""
    said: dict[str, Any] = {}    # noqa: RUF012


class NotAnEvent(Exception):
    """A line on the worker's pipe that the contract does not have."""


def follow(running: Running, limits: Limits, clock: Callable[[], float],
           is_stopping: Callable[[], bool] = lambda: False) -> Iterator[dict[str, Any] | Ending]:
    """The events of a worker as they come, then its Ending. Closing the generator does not stop the worker."""
    deadline, is_started = clock() + limits.start, False
    while True:
        line = running.next_line(_POLL_SECONDS)
        if is_stopping():
            yield Ending("killed", "the session was interrupted")
            return
        if line is None and clock() > deadline:
            what = f"no step finished in {limits.stall:g} s" if is_started else f"did not start in {limits.start:g} s"
            yield Ending("timeout", what + _heard(running.exit(0)))
            return
        if line is None:
            continue
        if line == b"":
            yield gone(running.exit(limits.leave))
            return
        try:
            event = parsed(line)
        except NotAnEvent as error:
            yield Ending("died", str(error))
            return
        if event["event"] == "end":
            yield Ending(event["status"], event["message"], event)
            return
        is_started, deadline = True, clock() + limits.stall
        yield event


def followed(running: Running, limits: Limits, clock: Callable[[], float]) -> tuple[list[dict[str, Any]], Ending]:
    """All events of a worker and its Ending; it is stopped, however that went."""
    try:
        *events, ending = follow(running, limits, clock)
    finally:
        running.stop()
    assert isinstance(ending, Ending)            # follow always yields one last
    return [event for event in events if not isinstance(event, Ending)], ending


def parsed(line: bytes) -> dict[str, Any]:
    """The event in a line. Raises NotAnEvent."""
    shown = ascii(line[:60])[2:-1]
    try:
        event = json.loads(line, parse_constant=_refuse_constant) if len(line) <= LONGEST_LINE else None
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or event.get("event") not in EVENTS:
        raise NotAnEvent(f'the worker wrote what is no event: "{shown}"')
    if event["event"] == "end" and not _is_whole_end(event):
        raise NotAnEvent(f'the worker ended with no known status: "{shown}"')
    return event


def _is_whole_end(event: dict[str, Any]) -> bool:
    return event.get("status") in SAID_BY_WORKER and isinstance(event.get("message"), str)


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def gone(found: Exit) -> Ending:
    """The ending of a worker whose pipe closed without an "end" event."""
    if found.is_out_of_memory:
        return Ending("oom", "the worker hit its memory limit and was killed")
    if found.code is None:
        return Ending("died", "it closed its pipe and stayed" + _heard(found))
    if found.code in (137, -9, 143, -15):
        return Ending("killed", f"the worker was killed from outside (exit code {found.code})")
    return Ending("died", f"exit code {found.code} without an end event" + _heard(found))


def _heard(found: Exit) -> str:
    return f"; last words: {found.last_words}" if found.last_words else ""
