"""A session as a stream of events: for every round, for every comparison in the round's order, what its runs say.

Who asks for an event stores it before the next, and shows it; "now" tells of the moment and is not kept: runs that are
"ahead" and the "seconds" they may take, which one "starts", seconds "left", what it is "doing", why it "waits", what is
"said" to people.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from itertools import groupby
from types import MappingProxyType
from typing import TypeVar

from runner.cells import lanes_key
from runner.errors import Stopped
from runner.launchers.protocol import Launcher
from runner.measuring.bench import Bench, Event, PendingRun
from runner.measuring.session import gpu_slots, turn_taking
from runner.measuring.session.imported import Imported
from runner.measuring.session.live_run import LiveRun, head
from runner.measuring.session.turn_taking import Patience
from runner.planning.plan import Plan
from runner.results import store
from runner.results.contract import FINAL, WELL
from runner.results.earlier_sessions import Kept, Past
from workloads.spec import turns
from workloads.spec.cell import Cell, switched_variables

T = TypeVar("T")
_AT_ONCE = 4             # workers that import side by side and then run one after the other


def run(bench: Bench, kept: Kept | None = None) -> Iterator[Event]:
    """Make the runs that are not finished yet. Raises Stopped.

    What an earlier runner left of rounds beyond the plan's is left alone: a later stage takes it.
    """
    pending_runs = _pending(bench.plan, kept)
    taken = {pending.left.run for pending in pending_runs if pending.left}
    abandon(bench.launcher, [left for (_, index), left in kept.left.items() if index < bench.plan.rounds
                    and left.run not in taken] if kept else [])
    memory, endings = Memory.of(bench), Endings()
    share = len(pending_runs) / max(1, bench.plan.rounds * len(bench.plan.cells))
    yield {"event": "now", "ahead": len(pending_runs), "seconds": (bench.seconds_estimate or 0.0) * share}
    try:
        for index, alike in groupby(pending_runs, lambda pending: pending.round):
            of_round, began = list(alike), bench.clock()
            for event in made(bench, of_round, memory):
                memory.heard(event)
                endings.heard(event)
                yield event
            if bench.is_stopping():
                raise Stopped
            if ahead := [pending.planned.key for pending in pending_runs if pending.round > index]:
                # a round's seconds over the sum of its runs': less than 1 of runs side by side on GPUs
                together = memory.seconds_of(pending.planned.key for pending in of_round)
                share = (bench.clock() - began) / together if together else 1.0
                yield {"event": "now", "left": share * memory.seconds_of(ahead)}
        yield {"event": "closed", "reason": "done" if endings.are_final else "incomplete"}
    except (Stopped, KeyboardInterrupt) as stop:
        yield {"event": "closed", "reason": "interrupted"}
        raise Stopped from stop


class Endings:
    """A listener: how the runs of a session ended, but for those that are made again."""

    def __init__(self) -> None:
        self._words: set[str] = set()

    def heard(self, event: Event) -> None:
        """An event of the session."""
        if event["event"] == "ending" and "again" not in event:
            self._words.add(event["ending"])

    @property
    def are_final(self) -> bool:
        """Whether no run need be made again."""
        return self._words <= FINAL

    @property
    def are_well(self) -> bool:
        """Whether every run went well, one at least where there were any."""
        return self._words <= WELL and (not self._words or "ok" in self._words)


def _pending(plan: Plan, kept: Kept | None) -> list[PendingRun]:
    """What is not finished yet, in order."""
    finished, attempts, left = (kept.finished, kept.attempts, kept.left) if kept else ((), {}, {})
    return [PendingRun(planned, index, attempts.get(run, 0) + 1, left.get(run)) for index in range(plan.rounds)
            for planned in plan.order(index) if (run := (planned.key, index)) not in finished]


def abandon(launcher: Launcher, left: Iterable[Past]) -> None:
    """End what an earlier runner left of runs that are not made, or made otherwise, such as one that is repeated."""
    for each in left:
        if running := launcher.rejoined(each.place):
            running.stop()


def made(bench: Bench, pending_runs: list[PendingRun], memory: "Memory | None" = None) -> Iterator[Event]:
    """Runs, such as a round's: by turns, one after the other, or side by side on GPUs. Raises Stopped."""
    memory = memory or Memory()
    with Imported(len(pending_runs)) as imported:
        if bench.side_by_side is not None:
            yield from gpu_slots.each(
                pending_runs, bench.side_by_side, lambda pending: (pending.planned, bench.stacks[pending.cell.stack]),
                lambda pending, own: _group(bench._replace(launcher=bench.launcher.with_gpus(own), gpus=own), [pending],
                                            memory, imported), bench.is_stopping)
        else:
            for group in _groups(bench, pending_runs):
                yield from _group(bench, group, memory, imported)


def _groups(bench: Bench, pending_runs: list[PendingRun]) -> Iterator[list[PendingRun]]:
    """The runs that are alive at once: those of a comparison by turns, else a few that import side by side."""
    for comparison, alike in groupby(pending_runs, lambda pending: _by_turns(bench, pending)):
        runs = list(alike)
        many = len(runs) if comparison else _AT_ONCE
        yield from (runs[first:first + many] for first in range(0, len(runs), many))


def _by_turns(bench: Bench, pending: PendingRun) -> str:
    """The key of the comparison in which the run takes turns; "" where it takes none."""
    return lanes_key(pending.planned.cell) if _listens(bench, pending) and turns.may_take(pending.cell) else ""


def _listens(bench: Bench, pending: PendingRun) -> bool:
    """Whether the run's worker waits for what it is told, and computes nothing meanwhile."""
    stack = bench.stacks[pending.cell.stack]
    return (bench.launcher.of(stack).tells and turns.may_wait(pending.cell) and pending.left is None
            and not bench.side_by_side and not turns.spins(dict(stack.env + switched_variables(pending.cell))))


def _group(bench: Bench, pending_runs: list[PendingRun], memory: "Memory", imported: Imported) -> Iterator[Event]:
    """Runs that may be alive at once; those that were lost from outside are made anew, once."""
    made = yield from _made(bench, pending_runs, memory, imported)
    if lost := [run.again for run in made if run.again]:
        yield from _made(bench, lost, memory, imported)


def _made(bench: Bench, pending_runs: list[PendingRun], memory: "Memory", imported: Imported
          ) -> Generator[Event, None, list[LiveRun]]:
    """Make runs that may be alive at once, or infer how they would end; those that were made."""
    comparison = _by_turns(bench, pending_runs[0])
    if not comparison or comparison in memory.apart:
        imported.stop()              # they would take memory beside runs that are alone
    if not comparison:
        runs = [LiveRun(bench, pending) for pending in pending_runs]
        yield from _ended(runs, _one_after_the_other(bench, runs, memory, imported.threads), imported.threads)
        return runs
    for pending in pending_runs:
        yield from _inferred(bench, pending, memory)
    waiting = [pending for pending in pending_runs if not memory.known(pending.planned.cell)]
    made: list[LiveRun] = []
    while waiting:
        if bench.is_stopping():
            raise Stopped
        is_apart = comparison in memory.apart
        some = waiting[:1] if is_apart else waiting
        runs = [LiveRun(bench, pending, None if is_apart else imported, 1 / len(some)) for pending in some]
        events = turn_taking.take(bench, runs, comparison, memory.sizes, memory.patience, imported.threads)
        left = yield from _ended(runs, events, imported.threads)
        if left or any(run.is_crowded for run in runs):
            imported.stop()
            yield {"event": "apart", "comparison": comparison, "why": f"{len(runs)} workers did not fit into memory "
                   "together: one after the other"}
        made += [run for run in runs if run not in left]
        waiting = [run.pending for run in left] + waiting[len(runs):]
    return made


def _ended(runs: list[LiveRun], events: Generator[Event, None, T], threads: Executor) -> Generator[Event, None, T]:
    """The events of runs, which have ended after them, however that went."""
    try:
        what = yield from events
        for said in threads.map(lambda run: list(run.finish()), runs):
            yield from said
        return what
    except (Stopped, KeyboardInterrupt):
        for run in runs:
            yield from run.finish("the session was interrupted")
        raise
    finally:
        for run in runs:
            run.stop()


def _one_after_the_other(bench: Bench, runs: list[LiveRun], memory: "Memory", threads: Executor
                         ) -> Generator[Event, None, None]:
    """Runs that import side by side where they listen, and then have the machine for themselves."""
    listening = [run for run in runs if _listens(bench, run.pending) and not memory.known(run.pending.planned.cell)]
    list(turn_taking.imported(listening, threads))
    for run in runs:
        if bench.is_stopping():
            raise Stopped
        if memory.known(run.pending.planned.cell):
            yield from _inferred(bench, run.pending, memory)
            continue
        yield from run.begin()
        run.tell("go")
        yield from run.listen()
        yield from run.finish()


class Memory:
    """A listener: how long cells took, which ran out of memory, what a stack cannot do, who does not fit together.

    One that is equal to a cell without enough memory but for a larger batch would have too little, too.
    """

    def __init__(self, cells: Mapping[str, Cell] = MappingProxyType({}), clock: Callable[[], float] = time.monotonic
                 ) -> None:
        """cells: by their keys."""
        self.patience = Patience(clock)
        self.sizes: dict[str, int] = {}           # bytes of a worker of each comparison
        self.apart: set[str] = set()              # comparisons whose workers do not fit into memory together
        self._cells = cells
        self._batches: dict[Cell, int] = {}       # the smallest that ran out of memory, by the cell with batch 1
        self._unsupported: dict[Cell, str] = {}   # with the reason
        self._seconds: dict[str, float] = {}      # of each cell's last run, by key

    @classmethod
    def of(cls, bench: Bench) -> "Memory":
        """What the session's stored runs say, of an earlier stage and before an interruption."""
        memory = cls({planned.key: planned.cell for planned in bench.plan.cells}, bench.clock)
        for record in store.read(bench.folder):
            memory.heard(record)
        return memory

    def heard(self, event: Event) -> None:
        """An event of the session."""
        if event["event"] == "apart":
            self.apart.add(event["comparison"])
        elif event["event"] == "ending" and (cell := self._cells.get(key := event["run"].partition(".")[0])):
            self._seconds[key] = event.get("seconds") or 0.0
            if event["ending"] == "oom":
                alike = cell._replace(batch=1)
                self._batches[alike] = min(cell.batch, self._batches.get(alike, cell.batch))
            elif event["ending"] == "unsupported":
                self._unsupported[cell] = event.get("message", "")

    def seconds_of(self, keys: Iterable[str]) -> float:
        """What the last runs of these cells took together."""
        return sum(self._seconds.get(key, 0.0) for key in keys)

    def known(self, cell: Cell) -> tuple[str, str] | None:
        """The word and message with which a run of the cell would end, where that is known without one."""
        if cell in self._unsupported:
            return "unsupported", self._unsupported[cell]
        batch = self._batches.get(cell._replace(batch=1))
        if batch and batch < cell.batch and cell.measure != "max_batch":
            return "oom", f"inferred, not run: batch {batch} was out of memory"
        return None


def _inferred(bench: Bench, pending: PendingRun, memory: Memory) -> Iterator[Event]:
    """A run that need not be made, where its ending is known."""
    if known := memory.known(pending.planned.cell):
        host, (word, message) = bench.readings().record(), known
        yield {**head(pending, host), "place": None}
        yield {"event": "ending", "run": pending.name, "ending": word, "message": message, "seconds": 0.0, "host": host,
               "inferred": True}
