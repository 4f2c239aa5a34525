"""A run from its start to its ending, as events."""

import json
import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from runner.cells import lanes_key
from runner.errors import BenchError
from runner.launchers.protocol import Exit, Running
from runner.launchers.watchdog import Ending, Limits, follow, limits
from runner.machine import host as machine
from runner.machine import programs, telemetry
from runner.machine.cpu_energy import Meter
from runner.measuring.bench import Bench, Event
from runner.measuring.session.imported import Imported
from runner.planning.plan import Planned
from runner.results import error_output
from runner.results.contract import NotAnEvent, parsed
from runner.results.error_output import ErrorText, Written
from runner.results.lines import Steps, usage
from runner.results.turns import Turn, counting, worst
from workloads.spec import placement, turns
from workloads.spec.cell import switched_variables

NO_ROOM = "workers did not fit into memory together"
_SPINNING = 0.1                  # of a CPU: a worker that waits uses next to nothing, and may tidy up once
STILL_LEADING = 0.8 * turns.LEAD_SECONDS            # nothing is timed yet, and other workers spin no more
_FROM_OUTSIDE = ("killed", "died", "timeout", "error")       # words whose reason may be what runs the worker


class LiveRun:
    """A run while it lasts. Its methods yield what is to be kept of it; stop() ends its worker however that went."""

    def __init__(self, bench: Bench, planned: Planned, index: int) -> None:
        """index: of the round."""
        self.bench, self.planned, self.round = bench, planned, index
        self.cell, self.name = planned.cell_of(index), f"{planned.key}.{index}"
        self.imported: Imported | None = None    # the round's workers that fork; None: no worker forks
        self.share = 1.0                         # of wall time that is this run's, 1/n while n workers are alive
        self.ending: Ending | None = None
        self.turns: list[Turn] = []              # since its warm-up
        self.is_warm = False
        self.apart_for = ""                      # why it can be alive beside no other worker
        self._running: Running | None = None
        self._is_begun = self._is_finished = self._forks = False
        self._import_seconds = 0.0
        self._listens = False
        self._unasked: Event | None = None       # what a worker said that did not wait
        self._watch: telemetry.Watch | None = None
        self._meter: Meter | None = None
        # the host, the clock and the worker's own CPU seconds at its "start", when the engine has done its part
        self._mark: tuple[machine.Reading, float, float] | None = None
        self._affinities: dict[str, set[int]] = {}           # by place
        self._clocks: programs.Clocks | None = None          # of the host's programs, early in the turn
        self._others = programs.Taken(0.0)       # in the turn

    @property
    def can_listen(self) -> bool:
        """Whether its worker can wait for the runner's words, and computes nothing meanwhile."""
        return self.bench.launcher.of(self.bench.stacks[self.cell.stack]).tells and turns.may_wait(self.cell)

    @property
    def comparison(self) -> str:
        """The key of the comparison in which it takes turns; "" where it takes none."""
        return lanes_key(self.planned.cell) if self.can_listen and turns.may_take(self.cell) else ""

    def inferred(self, word: str, message: str) -> Iterator[Event]:
        """Its events where it is not made, since its ending is known."""
        host = self.bench.readings().record()
        yield {**self._head(host), "place": None}
        yield {"event": "ending", "run": self.name, "ending": word, "message": message, "seconds": 0.0, "host": host,
               "inferred": True}

    def _head(self, host: dict[str, Any]) -> Event:
        """The record of its beginning, but for its place."""
        return {"event": "begin", "run": self.name, "key": self.planned.key, "round": self.round,
                "seed": self.cell.seed, "began": datetime.now(UTC).isoformat(timespec="seconds"), "host": host}

    def start(self) -> None:
        """Start workers that listen; return once all have imported, one has begun all the same, or has ended."""
        if waiting := self.imported and self.imported.take(self.cell):
            self._listens = self._forks = True
            self._running, self._padding = waiting
            self._heard = self._followed(self._running)
            return
        self._start(listens=True)
        asked_at = self.bench.clock()
        first: Event = {}
        for _ in self._reporters:
            if (first := self._next() or {}).get("event") != "waiting":
                self._unasked = first or None
                break
        self._forks = self.imported is not None and first.get("forks", False)
        self._import_seconds = self.bench.clock() - asked_at

    def _start(self, listens: bool) -> None:
        """Start the worker; why it cannot be is its ending."""
        bench, self._listens = self.bench, listens
        # its unused variable's length is drawn for each process of each session, so that places average out
        self._padding = random.Random(f"{bench.folder.name}:{self.name}").randint(0, placement.MOST)
        stack = bench.stacks[self.cell.stack]
        if own := switched_variables(self.cell):       # some are read by the loader, before the worker's Python begins
            stack = stack.model_copy(update={"env": tuple({**dict(stack.env), **dict(own)}.items())})
        try:
            self._running = bench.launcher.start(
                self.cell, stack, bench.folders.get(self.cell.data, bench.data), self.name, padding=self._padding,
                listens=listens)
        except BenchError as error:
            self.ending = Ending("not_started", str(error))
            return
        self._heard = self._followed(self._running)

    def _followed(self, running: Running) -> Iterator[Event | Ending]:
        bench = self.bench
        return follow(running, limits(self.cell, bench.going.stall), bench.clock, bench.is_stopping)

    def begin(self) -> Iterator[Event]:
        """Say that the run begins, and watch what it does to the machine. Starts a worker where none was ahead."""
        bench = self.bench
        yield {"event": "now", "starts": self.name}
        self._watch = bench.watches(self.planned)
        if self._watch:
            self._watch.wait_idle()
            self._watch.start()
        self._meter = bench.meters()
        if self._meter:
            self._meter.start()
        before, self._begun_at = bench.readings(), bench.clock()
        self._is_begun = True
        if not self._running and not self.ending:
            self._start(listens=False)
        yield {**self._head(before.record()), "padding": self._padding,
               "place": self._running.place if self._running else None}
        if self._unasked:
            yield from self._kept(self._unasked)

    def build(self) -> None:
        """Let the worker, which has imported, build its model."""
        self.tell(f"go {json.dumps(self.cell._asdict())}" if self._forks else "go")

    @property
    def _reporters(self) -> tuple[str, ...]:
        return self._running.reporters if self._running else ()

    def tell(self, words: str) -> None:
        """Tell the workers to go on, where they listen."""
        if self._running and self._listens and not self.ending:
            self._running.tell(words)

    def listen(self, until: Callable[[Event], bool] = lambda event: False) -> Generator[Event, None, list[Event]]:
        """Its lines up to the first of each place that `until` holds of, which come back; [] once the run has ended."""
        found: dict[str, Event] = {}
        while len(found) < len(self._reporters) and (heard := self._next()):
            if until(heard):
                found[heard.get("place", "")] = heard
            elif heard["event"] != "waiting":
                yield from self._kept(heard)
        self._note_others({place: turn for place, line in found.items() if (turn := line.get("turn"))})
        for line in found.values():
            if line["event"] != "waiting":
                yield from self._kept(line)
        return [] if self.ending else list(found.values())

    def _next(self) -> Event | None:
        """What the worker says next; None once it has ended."""
        if self.ending or self._running is None:
            return None
        heard = next(self._heard)
        if isinstance(heard, Ending):
            self.ending = heard
            return None
        self.is_warm = self.is_warm or is_warm(heard)
        return heard

    def _kept(self, heard: Event) -> Iterator[Event]:
        bench = self.bench
        for each in (self._watch, self._meter):
            if each:
                each.heard(heard["event"])
        if heard["event"] == "start":
            cpus = heard["facts"].get("affinity")                # [] and what is no list: nobody says which
            self._affinities[heard.get("place", "")] = {
                cpu for cpu in (cpus if isinstance(cpus, list) else ()) if isinstance(cpu, int)}
            own_seconds = heard.get("cpu_seconds")
            self._mark = None if own_seconds is None else (bench.readings(), bench.clock(), own_seconds)
        yield {"event": "line", "run": self.name, "at": round(bench.clock() - self._begun_at, 3), "line": heard}

    def _note_others(self, turns: Mapping[str, dict[str, Any]]) -> None:
        """Write down beside what each place says of its turn what others took meanwhile, as far as it is seen here."""
        before, self._clocks, self._others = self._clocks, None, programs.Taken(0.0)
        if before is not None and turns and (after := self.bench.programs()) is not None:
            first = next(iter(turns.values()))
            self._others = programs.taken(before, after, self.cell.stack if len(turns) > 1 else programs.Worker(
                self.cell.stack, first.get("process", 0)), self.affinity)
            for turn in (turn for place, turn in turns.items() if self._running and not self._running.machine(place)):
                turn.update(taken_seconds=self._others.seconds, has_ended=not before.keys() <= after.keys())
        if len(turns) > 1:
            for place, turn in turns.items():
                turn["beside_seconds"] = sum(other["own_seconds"] for name, other in turns.items()
                                             if name != place and self._share_cpus(name, place))

    def _share_cpus(self, *places: str) -> bool:
        """Whether two places are on the same CPUs of a machine; where they do not say which, on the same machine."""
        first, second = (self._affinities.get(place, set()) for place in places)
        is_on_one = self._running is not None and len({self._running.machine(place) for place in places}) == 1
        return is_on_one and (not first or not second or bool(first & second))

    def take_turn(self) -> Generator[Event, None, Turn | None]:
        """Let it take a turn, as the place that lost the most tells of it; None where it ended instead."""
        if self._meter:
            self._meter.heard("warm")            # as after a warm-up, the CPUs are the run's from here on
        self.tell(f"turn {turns.LEAD_SECONDS} {turns.slice_seconds(self.cell)} {turns.least_steps(self.cell)}")
        self.bench.wait(STILL_LEADING)
        self._clocks = self.bench.programs()
        lines = yield from self.listen(lambda event: event["event"] == "steps")
        if not lines:
            return None
        try:
            self.turns.append(worst([self._turn(line) for line in lines]))
        except ValueError as error:
            self.ending = Ending("died", f"the worker told of no turn where one was asked for: {error}")
            return None
        return self.turns[-1]

    def _turn(self, line: Event) -> Turn:
        """Of a place's line, with who took the most there. Raises ValueError."""
        turn = Turn.of(Steps.read(line))
        is_seen = turn.taken_share is not None or "place" not in line
        return replace(turn, taken_by=self._others.by if is_seen else f"another program on {line['place']}")

    def spinning(self, beside: "Sequence[LiveRun]") -> str:
        """Which of the workers beside it computed in its last turn, and how; "" where none did for much of it."""
        is_much = bool(self.turns) and self._others.most_seconds > _SPINNING * self.turns[-1].seconds
        return self._others.spinning if is_much and self._others.worker in {run.cell.stack for run in beside} else ""

    @property
    def affinity(self) -> Set[int]:
        """The CPUs that it may use, where one worker says so."""
        return self._affinities.get("", frozenset())

    @property
    def calm(self) -> int:
        """How many of its turns count."""
        return sum(counting(self.turns))

    @property
    def wants_turn(self) -> bool:
        """Whether it is to have more turns: where fewer than LEAST_TURNS count, its round is lost, which costs more."""
        if self.ending:
            return False
        calm = self.calm
        if sum(turn.seconds for turn in self.turns) >= turns.MOST_SECONDS and calm >= turns.LEAST_TURNS:
            return False
        most = 4 if calm < turns.LEAST_TURNS else 2          # times TURNS
        return calm < turns.TURNS and len(self.turns) < most * turns.TURNS

    def stop(self) -> None:
        """End the worker, and watch it no more; of a run without an ending a reader sees that its runner went."""
        if self._running and not self._is_finished:
            self._running.stop()
        self._is_finished = True
        self._seen()

    def _seen(self) -> tuple[dict[str, float | None], dict[str, Any]]:
        """What GPUs and CPU packages did, and what is stored of GPUs besides; they are watched no more."""
        watch, meter, self._watch, self._meter = self._watch, self._meter, None, None
        readings, gpu = watch.ended() if watch else ({}, {})
        return {**readings, **(meter.ended() if meter else {})}, gpu

    def finish(self, why: str = "") -> Iterator[Event]:
        """End the worker; the ending of a run that began. why: it is killed, where it has none yet. Safe to repeat."""
        if self._is_finished or not self._is_begun:
            self.stop()
            return
        self.ending = ending = self.ending or Ending("killed", why)
        bench, running = self.bench, self._running
        seen, gpu = self._seen()
        waits = ending.word == "ok" and self._forks and running is not None and _waits(running)
        errors = running.errors() if running else {}
        exit_status, used = (Exit(0), {}) if waits else _went(running, Limits().leave if ending.word == "ok" else 0.0)
        share = self._foreign_share(ending)
        if self.imported and running and waits:
            self._running = None
            self.imported.keep(self.cell, running, self._padding)
        self.stop()
        shares_memory = not bench.launcher.of(bench.stacks[self.cell.stack]).uses_images
        if exit_status.is_out_of_memory and self.share < 1 and shares_memory:
            self.apart_for = NO_ROOM
        if self.apart_for or (running and ending.word in _FROM_OUTSIDE and running.is_lost()):
            why = self.apart_for or "what ran it went away and is back"
            message = "; ".join(filter(None, (why, ending.message)))
            self.ending = ending = Ending("killed", message, ending.said)
        if ending.word == "ok" and exit_status.code not in (0, None):     # it still counts: the samples were whole
            ending = ending._replace(message=f"exit code {exit_status.code} after its end")
        said = ending.said
        places = {**used, **{place: usage(end) for place, end in said.get("places", {}).items()}}
        yield {"event": "ending", "run": self.name, "ending": ending.word, "message": ending.message,
               "seconds": (bench.clock() - self._begun_at + self._import_seconds) * self.share,
               "host": {**bench.readings().record(), **usage(said), "foreign_cpu_share": share, **seen},
               **({"places": places} if places else {}),
               **({"gpu_libraries": said["gpu_libraries"]} if said.get("gpu_libraries") else {}),
               **({"gpu": gpu} if gpu else {})}
        yield from _errors(self.name, errors or {"": Written(exit_status.last_words.encode())})

    def _foreign_share(self, ending: Ending) -> float | None:
        """The share of the CPUs that others took: in the turns, else since the worker's start.

        None where nobody says what the run itself used (on many nodes servers use CPUs too), or others of ours run.
        """
        if self.turns:
            shares = [turn.foreign_share + turn.stolen_share for turn in self.turns]
            return sum(shares) / len(shares)
        own = ending.said.get("cpu_seconds")
        is_here = self._running is not None and not self._running.place.get("remote")    # else its CPUs are not ours
        if not is_here or self._mark is None or own is None:
            return None
        before, began, own_before = self._mark
        return machine.foreign_share(before, self.bench.readings(), own - own_before, self.bench.clock() - began,
                                     self.affinity)


def is_warm(event: Event) -> bool:
    """Whether a warm-up is over; the last of several lines says why."""
    return event["event"] == "warm" and "ended" in event


def _went(running: Running | None, seconds: float) -> tuple[Exit, dict[str, Any]]:
    """How the worst of the places went, and what those that still stand have used."""
    if running is None:
        return Exit(None), {}
    used = running.used()
    exits = [running.exit(place, seconds) for place in running.reporters]
    return next((exit_status for exit_status in exits if exit_status.code not in (0, None)), exits[0]), used


def _waits(running: Running) -> bool:
    """Whether what ran the cell has ended well, and the worker waits for another."""
    line = running.next_line(Limits().leave)
    with suppress(NotAnEvent):
        return line is not None and parsed(line[1])["event"] == "waiting"
    return False


def _errors(name: str, errors: Mapping[str, Written]) -> Iterator[Event]:
    """What the run's places wrote on standard error, if anything."""
    for place, written in errors.items():
        if written.head:
            # together where nothing was dropped: a letter may lie across the two
            parts = written[:2] if written.dropped else (written.head + written.tail, b"")
            text, end = (part.decode(errors="replace") for part in parts)
            told = ErrorText(run=name, place=place, text=text, end=end, dropped=written.dropped)
            yield {"event": error_output.EVENT, **told.model_dump(exclude_defaults=True)}
