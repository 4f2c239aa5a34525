"""A run from its first line to its ending: the watchdog that follows it.

The frameworks alone hang, and an engine's own wait has no run limit, so deadlines are kept here, by the clock that is
handed in. A worker is not trusted: a line that is no event ends its run. A run has one place or more, on a cluster; the
first one that fails ends them all.
"""

import signal
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from runner import formatting
from runner.launchers.protocol import Exit, Running
from runner.machine import host
from runner.results.contract import INTERRUPTED, NotAnEvent, first, parsed
from workloads.spec.cell import Cell

_POLL_SECONDS = 1.0
_MINUTE_SECONDS = 50.0           # with time to end the run
# Grace period for lines that arrive late because the host was suspended.
_READING_SECONDS = 5.0
# When one node fails, its peers fail too. Wait this long for the first cause before naming one.
_CAUSE_SECONDS = 3.0
# What a library dies of that looks at no answer to its request for memory.
_CRASHES = (-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV)
# What a place may write: a burst, such as a check's arrays, and so much a second.
_MOST_LINES, _LINES_A_SECOND = 20_000, 100
_MOST_BYTES, _BYTES_A_SECOND = 2**28, 2**20


class Limits(NamedTuple):
    """Deadlines of a run, in seconds."""

    start: float = 300.0        # to the "start" event: import, data, building the model
    stall: float = 300.0        # between two events: a step, a compilation
    leave: float = 20.0         # from the "end" event to the worker's exit


def limits(cell: Cell, stall: float | None = None) -> Limits:
    """The deadlines of a cell's runs; stall in seconds, by default 300, and 50 on many nodes.

    With many nodes a hang is likelier than a long step, and a lost place should end the run within a minute. While no
    place is in trouble, a start may take as long as on one node.
    """
    seconds = stall or (Limits().stall if cell.nodes == 1 else _MINUTE_SECONDS)
    return Limits(start=max(seconds, _MINUTE_SECONDS), stall=seconds)


class Ending(NamedTuple):
    """A word of contract.ENDINGS with its message, and the values of the "end" event."""

    word: str
    message: str = ""
    said: dict[str, Any] = {}    # noqa: RUF012


def follow(running: Running, limits: Limits, clock: Callable[[], float],
           is_stopping: Callable[[], bool] = lambda: False) -> Iterator[dict[str, Any] | Ending]:
    """The events of a run as they come, then its Ending. Closing the generator does not stop the run.

    In a run of many places each event has its "place", and so has what an Ending says. Of workers that listen, the
    caller asks for no event while they wait: until it asks again no deadline comes nearer.
    """
    watch = _Watchdog(running, limits, clock)
    while True:
        line = running.next_line(_POLL_SECONDS)
        if is_stopping():
            yield Ending("killed", INTERRUPTED)
            return
        if line and (event := watch.heard(*line)):
            asked_at = clock()
            yield event
            watch.goes_on(line[0], clock() - asked_at)
        if ending := watch.ending(is_idle=line is None):
            yield ending
            return


class _Watchdog:
    """The state of a run's places while it lasts."""

    def __init__(self, running: Running, limits: Limits, clock: Callable[[], float]) -> None:
        self._running, self._limits, self._clock = running, limits, clock
        self._is_many = len(running.reporters) + len(running.servers) > 1
        self._deadlines = dict.fromkeys(running.reporters, clock() + limits.start)     # of those that have not ended
        self._late: dict[str, float] = {}        # places beyond their deadline, and since when that is seen
        self._started: set[str] = set()
        self._said: dict[str, dict[str, Any]] = {}           # the "end" events
        self._ending: Ending | None = None
        self._began, self._lines, self._bytes = clock(), 0, 0        # of what all places wrote
        self._complaint: tuple[float, Ending] | None = None  # a place's own error, and how long a cause is looked for

    def heard(self, place: str, line: bytes) -> dict[str, Any] | None:
        """The event to pass on, if the line is one."""
        if line == b"":
            if place not in self._said and not self._ending:
                self._ending = self._of(place, gone(self._running.exit(place, self._limits.leave)))
            return None
        try:
            if self._is_too_much(line):
                raise NotAnEvent("the worker wrote far more than any measurement says")
            event = parsed(line) if place in self._started else first(line)
        except NotAnEvent as error:
            self._ending = self._ending or self._of(place, Ending("died", str(error)))
            return None
        if event is None:
            return None
        if event["event"] == "end":
            self._ended(place, event)
            return None
        self._started.add(place)
        self._late.pop(place, None)
        return {**event, "place": place} if self._is_many else event

    def _is_too_much(self, line: bytes) -> bool:
        """Whether the run has written more than it may with this line."""
        self._lines += 1
        self._bytes += len(line)
        seconds, places = self._clock() - self._began, len(self._running.reporters)
        return (self._lines > places * (_MOST_LINES + seconds * _LINES_A_SECOND)
                or self._bytes > places * (_MOST_BYTES + seconds * _BYTES_A_SECOND))

    def goes_on(self, place: str, seconds: float) -> None:
        """Places are listened to again, after so many seconds; the deadline of the one that spoke counts from now."""
        self._deadlines = {other: deadline + seconds for other, deadline in self._deadlines.items()}
        if place in self._deadlines:
            self._deadlines[place] = self._clock() + self._limits.stall

    def _ended(self, place: str, event: dict[str, Any]) -> None:
        self._said[place] = event
        self._deadlines.pop(place, None)
        ending = Ending(event["status"], event["message"], {"places": dict(self._said)} if self._is_many else event)
        if event["status"] == "ok":
            if not self._deadlines:
                self._ending = self._ending or ending
        elif not self._complaint:
            until = self._clock() + (_CAUSE_SECONDS if self._is_many else 0.0)
            self._complaint = (until, self._of(place, ending))

    def ending(self, is_idle: bool) -> Ending | None:
        """The run's Ending, once it has one. A deadline counts only when no line waits to be read."""
        if self._ending:
            return self._ending
        now = self._clock()
        if self._complaint:
            until, complaint = self._complaint
            if now < until:
                return None
            # a place's own error, or what made it: another place that is paused or cut off
            trouble = self._running.trouble() if self._is_many else {}
            return Ending("timeout", f"{_joined(trouble)}; then {complaint.message}") if trouble else complaint
        late = [place for place, deadline in self._deadlines.items() if now > deadline]
        if late and self._is_starting():
            return None
        seen = [self._late.setdefault(place, now) for place in late]
        return self._timed_out(late) if late and (is_idle or now - min(seen) > _READING_SECONDS) else None

    def _is_starting(self) -> bool:
        """Whether some have yet to start, for which others wait, and none is in trouble: all get more time."""
        if (not self._is_many or self._limits.start >= Limits().start or self._started.issuperset(self._deadlines)
                or self._running.trouble()):
            return False
        self._limits = self._limits._replace(start=self._limits.start + _MINUTE_SECONDS)
        self._deadlines = {place: deadline + _MINUTE_SECONDS for place, deadline in self._deadlines.items()}
        return True

    def _timed_out(self, late: list[str]) -> Ending:
        what = (f"no step finished in {self._limits.stall:g} s" if self._started.issuperset(late)
                else f"did not start in {self._limits.start:g} s")
        exits = [self._running.exit(place, 0) for place in late]
        if lost := next((exit_status for exit_status in exits if exit_status.verdict), None):
            return gone(lost)
        if not self._is_many:
            return Ending("timeout", what + _heard(exits[0]))
        trouble = self._running.trouble()
        if trouble:
            return Ending("timeout", f"{_joined(trouble)}; {what}")
        silent = [place for place in self._deadlines if place not in self._started]
        if silent and silent != late:
            return Ending("timeout", f"{', '.join(silent)} has not started; {', '.join(late)}: {what}")
        return Ending("timeout", f"{', '.join(late)}: {what}")

    def _of(self, place: str, ending: Ending) -> Ending:
        return ending._replace(message=f"{place}: {ending.message}") if self._is_many else ending


def _joined(trouble: dict[str, str]) -> str:
    return ", ".join(f"{place} {what}" for place, what in trouble.items())


def followed(running: Running, limits: Limits, clock: Callable[[], float]) -> tuple[list[dict[str, Any]], Ending]:
    """All events of a run and its Ending; it is stopped, however that went."""
    try:
        *events, ending = follow(running, limits, clock)
    finally:
        running.stop()
    assert isinstance(ending, Ending)            # follow always yields one last
    return [event for event in events if not isinstance(event, Ending)], ending


def gone(exit: Exit) -> Ending:
    """The ending of a worker whose pipe closed without an "end" event."""
    if exit.is_out_of_memory:
        return Ending("oom", "the worker hit its memory limit and was killed")
    if exit.verdict:
        return Ending(exit.verdict[0], exit.verdict[1] + _heard(exit))
    if exit.code is None:
        return Ending("died", "it closed its pipe and stayed" + _heard(exit))
    if exit.code in (137, -9, 143, -15):
        return Ending("killed", f"the worker was killed from outside (exit code {exit.code})")
    if exit.code in (132, -4):
        names = ", ".join(host.lacking_instructions())
        lacking = f"; of those that builds are made for, this host's has no {names}" if names else ""
        return Ending("died", f"the CPU lacks an instruction that this build needs (SIGILL){lacking}{_heard(exit)}")
    if exit.limit_bytes and exit.code in _CRASHES:
        return Ending("died", f"crashed ({signal.Signals(-exit.code).name}) where it may hold "
                      f"{formatting.size(exit.limit_bytes)} of memory: a library that is refused more often ends so"
                      + _heard(exit))
    return Ending("died", f"exit code {exit.code} without an end event" + _heard(exit))


def _heard(exit: Exit) -> str:
    return f"; last words: {exit.last_words}" if exit.last_words else ""
