"""A session: for every round, for every cell in the round's order, one run; everything it hears goes to the store."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

from runner.cells import comparisons, lanes_key
from runner.errors import BenchError, DiskFull, Stopped
from runner.launchers import early
from runner.launchers.early import Early
from runner.launchers.protocol import Exit, Launcher, Running
from runner.launchers.watchdog import Ending, Limits, follow, limits
from runner.machine import gpus, telemetry
from runner.machine import host as machine
from runner.machine.cpu_energy import Meter
from runner.measuring import disturbed, gpu_slots
from runner.measuring.gpu_slots import SideBySide
from runner.planning.plan import Plan, Planned
from runner.results import error_output, store
from runner.results.contract import FINAL, WELL
from runner.results.error_output import Written
from runner.results.history import Kept, Left
from runner.results.live_rate import RateSoFar
from runner.results.store import Store
from runner.stacks.definition import Stack
from workloads.spec import placement
from workloads.spec.cell import Cell

R = TypeVar("R")


class Progress(Protocol):
    """Who shows how far a session is."""

    def begin(self, total: int, seconds_estimate: float | None) -> None:
        """So many runs are ahead."""

    def left(self, seconds: float) -> None:
        """So long the runs that are ahead will take, from what each cell took so far."""

    def more(self, count: int, why: str) -> None:
        """So many runs more than were told of are ahead."""

    def run_started(self, label: str, index: int, key: str) -> None:
        """A run begins."""

    def started(self) -> None:
        """The run's worker is there: it builds its model and warms up."""

    def rate(self, samples_per_second: float) -> None:
        """What the run did so far: all its timed samples over all their seconds."""

    def run_ended(self, label: str, ending: str, rate: float | None, seconds: float, message: str) -> None:
        """A run is over."""

    def close(self) -> None:
        """No more runs."""


class Bench(NamedTuple):
    """All that runs are made with."""

    plan: Plan
    stacks: dict[str, Stack]
    launcher: Launcher
    data: Path
    store: Store
    progress: Progress
    stall: float | None = None                    # seconds without a step that end a run; launch.limits has a default
    seconds_estimate: float | None = None         # of the whole plan
    is_stopping: Callable[[], bool] = lambda: False     # whether the user asked for the end
    clock: Callable[[], float] = time.monotonic
    readings: Callable[[], machine.Reading] = machine.reading
    watches: Callable[[Planned], telemetry.Watch | None] = lambda planned: None       # of the GPUs that a cell gets
    side_by_side: SideBySide | None = None        # cells on different GPUs at once
    folders: Mapping[str, Path] = MappingProxyType({})      # of data sets by name, for cells that read another
    meters: Callable[[], Meter | None] = lambda: None       # of the CPU packages' energy


class PendingRun(NamedTuple):
    """A run that is ahead."""

    planned: Planned
    round: int
    attempt: int                                  # 1, or more where an earlier session was interrupted
    number: int                                   # in this session's order
    label: str                                    # of its comparison
    repeats: str = ""                             # the first run of the same cell and round, where that is made again
    together: tuple[str, ...] = ()                # the keys of the cells that are made again with it
    left: Left | None = None                      # the same run, which an earlier runner began and did not end

    @property
    def cell(self) -> Cell:
        """As this round runs it."""
        return self.planned.cell_of(self.round)

    @property
    def name(self) -> str:
        """The run's name in the record."""
        return f"{self.planned.key}.{self.round}.{self.attempt}"

    @property
    def shown(self) -> str:
        """The run for people."""
        again = ", again" if self.repeats else ""
        return f"{self.planned.experiment}: {self.planned.cell.stack}: {self.label}{again}"


def run(bench: Bench, kept: Kept | None = None) -> bool:
    """Run what is not finished yet; whether every run ended well. Raises Stopped, DiskFull.

    What an earlier runner left of rounds beyond the plan's is left alone: a later stage takes it.
    """
    pending_runs = _turns(bench.plan, kept)
    taken = {pending.left.run for pending in pending_runs if pending.left}
    abandon(bench.launcher, [left for (_, index), left in kept.left.items() if index < bench.plan.rounds
                    and left.run not in taken] if kept else [])
    memory = Memory.of(bench)
    share = len(pending_runs) / max(1, bench.plan.rounds * len(bench.plan.cells))
    bench.progress.begin(len(pending_runs), bench.seconds_estimate and bench.seconds_estimate * share)
    endings: set[str] = set()
    try:
        for index, alike in groupby(pending_runs, lambda pending: pending.round):
            of_round, began = list(alike), bench.clock()
            endings.update(_round(bench, of_round, memory))
            if ahead := [pending.planned.key for pending in pending_runs if pending.round > index]:
                share = _share_of_sum(bench, bench.clock() - began, [each.planned.key for each in of_round], memory)
                bench.progress.left(share * sum(memory.seconds.get(key, 0.0) for key in ahead))
        endings.update(_repeated(bench, len(pending_runs), memory))
        bench.store.append({"event": "closed", "reason": "done" if endings <= FINAL else "incomplete"})
    except (Stopped, KeyboardInterrupt) as stop:
        bench.store.append({"event": "closed", "reason": "interrupted"})
        raise Stopped from stop
    finally:
        bench.progress.close()
    return endings <= WELL and (not endings or "ok" in endings)


def _share_of_sum(bench: Bench, seconds: float, keys: list[str], memory: "Memory") -> float:
    """A round's seconds over the sum of its runs': less than 1 where runs on different GPUs go side by side."""
    together = sum(memory.seconds.get(key, 0.0) for key in keys)
    return min(1.0, seconds / together) if bench.side_by_side and together else 1.0


def _turns(plan: Plan, kept: Kept | None) -> list[PendingRun]:
    """What is not finished yet, in order."""
    waiting = [(planned, index) for index in range(plan.rounds) for planned in plan.order(index)
               if not kept or (planned.key, index) not in kept.finished]
    attempts = kept.attempts if kept else {}
    labels, left = _labels(plan), kept.left if kept else {}
    return [PendingRun(planned, index, attempts.get((planned.key, index), 0) + 1, number, labels[planned.cell],
                       left=left.get((planned.key, index)))
            for number, (planned, index) in enumerate(waiting)]


def abandon(launcher: Launcher, left: Iterable[Left]) -> None:
    """End what an earlier runner left of runs that are not made, or made otherwise, such as one that is repeated."""
    for each in left:
        if running := launcher.rejoined(each.place):
            running.stop()


def _rejoined(bench: Bench, pending: PendingRun) -> tuple[PendingRun, Running | None]:
    """The run that went on without its runner, as what that began; the pending one as it was where none did."""
    if pending.left is None:
        return pending, None
    running = bench.launcher.of(bench.stacks[pending.cell.stack]).rejoined(pending.left.place)
    return (pending._replace(attempt=pending.left.attempt) if running else pending._replace(left=None)), running


def _labels(plan: Plan) -> dict[Cell, str]:
    """Of each cell's comparison, as reports will have it."""
    by_cell = comparisons([*(planned.cell for planned in plan.cells), *(skip.cell for skip in plan.skipped)])
    return {cell: comparison.label for cell, comparison in by_cell.items()}


def _round(bench: Bench, pending_runs: list[PendingRun], memory: "Memory") -> Iterator[str]:
    """The words of a round's runs, one after the other or side by side. Raises Stopped."""
    many = bench.side_by_side
    if many is None:
        for group in early.groups(pending_runs):
            with _early(bench, group, memory) as waiting:
                for pending in group:
                    if bench.is_stopping():
                        raise Stopped
                    yield _ended(bench, pending, memory, waiting)
    else:
        def on(pending: PendingRun, own: gpus.Gpus) -> str:
            return _ended(bench._replace(**many.on(own)._asdict()), pending, memory)

        yield from gpu_slots.each(pending_runs, gpu_slots.Slots(many.all_gpus), lambda pending: (
            pending.planned, bench.stacks[pending.planned.cell.stack]), on, bench.is_stopping)
    if bench.is_stopping():
        raise Stopped


def _early(bench: Bench, pending_runs: Iterable[PendingRun], memory: "Memory") -> AbstractContextManager[Early]:
    """The workers of those that are to be made, which wait for their turn."""
    return early.started({
        pending.name: partial(_start, bench, pending, bench.launcher.start_early)
        for pending in pending_runs
        if pending.left is None and not memory.known(pending.planned.cell)}, bench.clock, bench.is_stopping)


def _start(bench: Bench, pending: PendingRun, start: Callable[..., R]) -> R:
    """The run's worker by one of the launcher's ways to start it. Raises BenchError."""
    return start(pending.cell, bench.stacks[pending.cell.stack], bench.folders.get(pending.cell.data, bench.data),
                 pending.name, padding=_padding(bench, pending))


def _ended(bench: Bench, pending: PendingRun, memory: "Memory", waiting: Early | None = None) -> str:
    """The word of a run's ending, made or inferred."""
    if known := memory.known(pending.planned.cell):
        return _inferred(bench, pending, *known)
    word, message, memory.seconds[pending.planned.key] = _run(bench, pending, waiting)
    memory.heard(pending.planned.cell, word, message)
    return word


def _repeated(bench: Bench, number: int, memory: "Memory") -> Iterator[str]:
    """The words of the runs that are made again; number: how many runs there were. Raises Stopped."""
    of = {each.key: lanes_key(each.cell) for each in bench.plan.cells}
    repetitions = disturbed.waiting(store.read(bench.store.folder), {
        index: [disturbed.Cell(each.key, of[each.key]) for each in bench.plan.order(index)]
        for index in range(bench.plan.rounds)})
    if not repetitions:
        return
    bench.progress.more(len(repetitions), disturbed.announcement(repetitions))
    planned, labels = {each.key: each for each in bench.plan.cells}, _labels(bench.plan)
    pending_runs = [PendingRun(planned[each.key], each.round, each.attempt, number + index,
                               labels[planned[each.key].cell], each.of, each.together)
                    for index, each in enumerate(repetitions)]
    yield from _round(bench, pending_runs, memory)


class Memory:
    """What a session has seen of its cells: how long a run took, which ran out of memory, what a stack cannot do.

    One that is equal to a cell without enough memory but for a larger batch would have too little, too.
    """

    def __init__(self) -> None:
        self._batches: dict[Cell, int] = {}       # the smallest that ran out of memory, by the cell with batch 1
        self._unsupported: dict[Cell, str] = {}   # with the reason
        self.seconds: dict[str, float] = {}       # of each cell's last run here, by key

    @classmethod
    def of(cls, bench: Bench) -> "Memory":
        """What the session's stored runs say, of an earlier stage and before an interruption."""
        memory, runs = cls(), {}
        cells = {planned.key: planned.cell for planned in bench.plan.cells}
        for record in store.read(bench.store.folder):
            if record["event"] == "begin":
                runs[record["run"]] = record["key"]
            elif record["event"] == "ending" and runs.get(record["run"]) in cells:
                memory.heard(cells[runs[record["run"]]], record["ending"], record["message"])
        return memory

    def heard(self, cell: Cell, word: str, message: str = "") -> None:
        """A run of the cell ended so."""
        if word == "oom":
            alike = cell._replace(batch=1)
            self._batches[alike] = min(cell.batch, self._batches.get(alike, cell.batch))
        elif word == "unsupported":
            self._unsupported[cell] = message

    def known(self, cell: Cell) -> tuple[str, str] | None:
        """The word and message with which a run of the cell would end, where that is known without one."""
        if cell in self._unsupported:
            return "unsupported", self._unsupported[cell]
        batch = self._batches.get(cell._replace(batch=1))
        if batch and batch < cell.batch and cell.measure != "max_batch":
            return "oom", f"inferred, not run: batch {batch} was out of memory"
        return None


def _inferred(bench: Bench, pending: PendingRun, word: str, message: str) -> str:
    """Store that a run was not made, since its ending is known; the ending's word."""
    host = bench.readings().record()
    bench.progress.run_started(pending.shown, pending.number, pending.planned.key)
    bench.store.append({**_head(pending, host), "place": None})
    bench.store.append({"event": "ending", "run": pending.name, "ending": word, "message": message, "seconds": 0.0,
                        "host": host, "inferred": True})
    bench.progress.run_ended(pending.shown, word, None, 0.0, message)
    return word


def _head(pending: PendingRun, host: dict[str, Any]) -> dict[str, Any]:
    """The record of a run's beginning, but for its place."""
    return {"event": "begin", "run": pending.name, "key": pending.planned.key, "round": pending.round,
            "attempt": pending.attempt, "seed": pending.cell.seed,
            **({"repeats": pending.repeats, "together": list(pending.together)} if pending.repeats else {}),
            "began": datetime.now(UTC).isoformat(timespec="seconds"), "host": host}


def _padding(bench: Bench, pending: PendingRun) -> int:
    """How long the run's unused variable is: drawn for each run of each session, so that places average out."""
    return random.Random(f"{bench.store.folder.name}:{pending.name}").randint(0, placement.MOST)


def _run(bench: Bench, pending: PendingRun, waiting: Early | None) -> tuple[str, str, float]:
    """One run from start to ending, stored as it goes; its word and message, and how long it took with its import."""
    pending, running = _rejoined(bench, pending)
    planned, name = pending.planned, pending.name
    bench.progress.run_started(pending.shown, pending.number, planned.key)
    watch, seen = bench.watches(planned), None
    if watch:
        watch.wait_idle()
        watch.start()
    meter = None if bench.side_by_side else bench.meters()      # else what others take would count as this run's
    if meter:
        meter.start()
    before, began = bench.readings(), bench.clock()
    rates: list[float] = []
    share: float | None = None
    head = {**_head(pending, before.record()), "padding": _padding(bench, pending)}
    ending = Ending("killed", "the session was interrupted")
    try:
        try:
            if waiting and not running and (running := waiting.turn(name)):
                head["early_seconds"] = round(waiting.seconds, 3)
            running = running or _start(bench, pending, bench.launcher.start)
        except BenchError as error:
            bench.store.append({**head, "place": None})
            ending = Ending("not_started", str(error))
        else:
            beside = {"gpus_in_parallel": True} if bench.side_by_side else {}
            if pending.left is None:
                bench.store.append({**head, "place": {**running.place, **beside}})
            ending, share = _listened(bench, pending, running, rates, [each for each in (watch, meter) if each])
    except DiskFull:
        ending = Ending("killed", "the disk was full")
        raise
    finally:
        seen, energy = watch.ended() if watch else None, meter.ended() if meter else {}
        learnt = running.learnt() if running else {}
        exit_status, used = _went(running, Limits().leave if ending.word == "ok" else 0.0)
        errors = running.errors() if running else {}
        if running:
            running.stop()
        seconds = bench.clock() - began
        bench.progress.run_ended(pending.shown, ending.word, rates[-1] if rates else None, seconds, ending.message)
        ended = _ending_record(bench, planned, name, _judged(ending, exit_status), seconds, used, share, seen)
        ended["host"].update(energy)
        bench.store.append({**_with_gpus(ended, seen), **learnt, **({"rejoined": True} if pending.left else {})})
    _keep_errors(bench.store, name, errors or {"": Written(exit_status.last_words.encode())})
    return ending.word, ending.message, seconds + head.get("early_seconds", 0.0)


def _keep_errors(opened: Store, name: str, errors: Mapping[str, Written]) -> None:
    """Store what the run's places wrote on standard error, if anything."""
    for place, written in errors.items():
        if written.head:
            # together where nothing was dropped: a letter may lie across the two
            parts = written[:2] if written.dropped else (written.head + written.tail, b"")
            text, end = (part.decode(errors="replace") for part in parts)
            opened.append_beside(error_output.NAME,
                                 error_output.ErrorText(name, place, text, end, written.dropped).record())


def _with_gpus(record: dict[str, Any], seen: telemetry.GpuWindow | None) -> dict[str, Any]:
    """An ending's record with what the GPUs did."""
    if seen is None:
        return record
    return {**record, "host": {**record["host"], **seen.readings}, "gpu": seen.record()}


class _Mark(NamedTuple):
    """The host, the clock and a worker's own CPU seconds at its "start", when the engine has done its part."""

    reading: machine.Reading
    seconds: float
    own_seconds: float | None
    affinity: tuple[int, ...]


def _listened(bench: Bench, pending: PendingRun, running: Running, rates: list[float],
              listeners: Sequence[telemetry.Watch | Meter]) -> tuple[Ending, float | None]:
    """Store every event until the ending; with it the share of the CPUs that others took since the worker's start.

    Of a run that was taken over the events come again from the first; those that are in the record already are left.
    """
    began, planned = bench.clock(), pending.planned
    known = dict(pending.left.heard) if pending.left else {}
    mark: _Mark | None = None
    so_far = RateSoFar(planned.cell.batch)
    for heard in follow(running, limits(planned.cell, bench.stall), bench.clock, bench.is_stopping):
        if isinstance(heard, Ending):
            is_here = not running.place.get("remote")        # else others' CPUs are not the run's
            return heard, _foreign_share(bench, mark, heard) if is_here else None
        for each in listeners:
            each.heard(heard["event"])
        if heard["event"] == "start":
            bench.progress.started()
            mark = _Mark(bench.readings(), bench.clock(), heard.get("cpu_seconds"), _affinity(heard))
        place = heard.get("place", "")
        if known.get(place, 0):
            known[place] -= 1
        else:
            bench.store.append({"event": "line", "run": pending.name, "at": round(bench.clock() - began, 3),
                                "line": heard})
        if rate := so_far.hear(heard):
            rates.append(rate)
            bench.progress.rate(rate)
    raise AssertionError("follow always yields an Ending last")


def _affinity(start: dict[str, Any]) -> tuple[int, ...]:
    """The CPUs that a worker may use, as its "start" says; () where it does not."""
    cpus = start["facts"].get("affinity")
    return tuple({cpu for cpu in cpus if isinstance(cpu, int)}) if isinstance(cpus, list) else ()


def _foreign_share(bench: Bench, mark: _Mark | None, ending: Ending) -> float | None:
    """None where nobody says what the run itself used (on many nodes servers use CPUs too), or others of ours run."""
    own = ending.said.get("cpu_seconds")
    if bench.side_by_side or mark is None or mark.own_seconds is None or own is None:
        return None
    return machine.foreign_share(mark.reading, bench.readings(), own - mark.own_seconds, bench.clock() - mark.seconds,
                                 mark.affinity)


def _went(running: Running | None, seconds: float) -> tuple[Exit, dict[str, Any]]:
    """How the worst of the places went, and what those that still stand have used."""
    if running is None:
        return Exit(None), {}
    used = running.used()
    exits = [running.exit(place, seconds) for place in running.reporters]
    return next((exit_status for exit_status in exits if exit_status.code not in (0, None)), exits[0]), used


def _judged(ending: Ending, exit_status: Exit) -> Ending:
    """An ok run whose process then hung or failed is told so, and still counts: the samples were whole."""
    if ending.word == "ok" and exit_status.code not in (0, None):
        return ending._replace(message=f"exit code {exit_status.code} after its end")
    return ending


def _ending_record(bench: Bench, planned: Planned, name: str, ending: Ending, seconds: float, used: dict[str, Any],
                   share: float | None, seen: telemetry.GpuWindow | None) -> dict[str, Any]:
    after, said = bench.readings(), ending.said
    amiss = disturbed.disturbance(ending.word, planned.cell.measure, share, bool(seen and seen.is_throttled))
    places = {**used, **{place: _usage(end) for place, end in said.get("places", {}).items()}}
    usage = _usage(said)
    host = {**after.record(), **usage, "throttled_seconds": None, "foreign_cpu_share": share}
    return {"event": "ending", "run": name, "ending": ending.word, "message": ending.message,
            "seconds": seconds, "host": host, **({"places": places} if places else {}),
            **({"gpu_libraries": said["gpu_libraries"]} if said.get("gpu_libraries") else {}),
            **({"disturbed": amiss._asdict()} if amiss else {})}


def _usage(said: dict[str, Any]) -> dict[str, Any]:
    """What a worker said it used: its own peak, its control group's with all helpers', throttled CPU periods.

    Of a GPU what the framework's own allocator held at most, as gpu_allocated_bytes and with its cache reserved.
    """
    throttling, peak = said.get("throttling") or {}, said.get("allocator_peak")
    held = peak if isinstance(peak, dict) else {}
    return {"peak_bytes": said.get("peak_bytes"), "group_peak_bytes": said.get("group_peak_bytes"),
            "periods": throttling.get("periods"), "throttled_periods": throttling.get("throttled_periods"),
            **{f"gpu_{kind}_bytes": held[kind] for kind in ("allocated", "reserved")
               if isinstance(held.get(kind), int)}}
