"""A session: for every round, for every comparison in the round's order, its runs; everything they say is stored."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from typing import NamedTuple

from runner.cells import comparisons, lanes_key
from runner.errors import Stopped
from runner.launchers.protocol import Launcher
from runner.machine import gpus
from runner.measuring import gpu_slots
from runner.measuring.bench import Bench, PendingRun, SideBySide
from runner.measuring.session import turn_taking
from runner.measuring.session.live_run import LiveRun, head
from runner.measuring.session.turn_taking import Patience, Room
from runner.planning.plan import Plan
from runner.results import earlier_sessions
from runner.results.contract import FINAL, WELL
from runner.results.earlier_sessions import Kept, Left
from workloads.spec import turns
from workloads.spec.cell import Cell

_AT_ONCE = 4             # workers that import side by side and then run one after the other


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
                share = _share_of_sum(bench.clock() - began, [each.planned.key for each in of_round], memory)
                bench.progress.left(share * sum(memory.seconds.get(key, 0.0) for key in ahead))
        bench.store.append({"event": "closed", "reason": "done" if endings <= FINAL else "incomplete"})
    except (Stopped, KeyboardInterrupt) as stop:
        bench.store.append({"event": "closed", "reason": "interrupted"})
        raise Stopped from stop
    finally:
        bench.progress.close()
    return endings <= WELL and (not endings or "ok" in endings)


def _share_of_sum(seconds: float, keys: list[str], memory: "Memory") -> float:
    """A round's seconds over the sum of its runs': what lies between them, less than 1 of runs side by side on GPUs."""
    together = sum(memory.seconds.get(key, 0.0) for key in keys)
    return seconds / together if together else 1.0


def _turns(plan: Plan, kept: Kept | None) -> list[PendingRun]:
    """What is not finished yet, in order."""
    waiting = [(planned, index) for index in range(plan.rounds) for planned in plan.order(index)
               if not kept or (planned.key, index) not in kept.finished]
    attempts = kept.attempts if kept else {}
    labels, left = _labels(plan), kept.left if kept else {}
    return [PendingRun(planned, index, attempts.get((planned.key, index), 0) + 1, labels[planned.cell],
                       left=left.get((planned.key, index)))
            for planned, index in waiting]


def abandon(launcher: Launcher, left: Iterable[Left]) -> None:
    """End what an earlier runner left of runs that are not made, or made otherwise, such as one that is repeated."""
    for each in left:
        if running := launcher.rejoined(each.place):
            running.stop()


def _labels(plan: Plan) -> dict[Cell, str]:
    """Of each cell's comparison, as reports will have it."""
    by_cell = comparisons([*(planned.cell for planned in plan.cells), *(skip.cell for skip in plan.skipped)])
    return {cell: comparison.label for cell, comparison in by_cell.items()}


def _round(bench: Bench, pending_runs: list[PendingRun], memory: "Memory") -> Iterator[str]:
    """The words of a round's runs: by turns, one after the other, or side by side on GPUs. Raises Stopped."""
    if bench.side_by_side is not None:
        yield from _on_gpus(bench, bench.side_by_side, pending_runs, memory)
    else:
        for group in _groups(bench, pending_runs):
            yield from _group(bench, group, memory)
    if bench.is_stopping():
        raise Stopped


def _on_gpus(bench: Bench, many: SideBySide, pending_runs: list[PendingRun], memory: "Memory"
             ) -> Iterator[str]:
    def on(pending: PendingRun, own: gpus.Gpus) -> str:
        return next(_group(bench._replace(**many.on(own)._asdict()), [pending], memory))

    yield from gpu_slots.each(pending_runs, gpu_slots.Slots(many.all_gpus), lambda pending: (
        pending.planned, bench.stacks[pending.planned.cell.stack]), on, bench.is_stopping)


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
    """Whether the run's worker waits for what it is told."""
    launcher = bench.launcher.of(bench.stacks[pending.cell.stack])
    return launcher.tells and turns.may_wait(pending.cell) and pending.left is None and not bench.side_by_side


def _group(bench: Bench, pending_runs: list[PendingRun], memory: "Memory") -> Iterator[str]:
    """The words of runs that may be alive at once; those that were lost from outside are made anew."""
    lost: list[PendingRun] = []
    for went in _made(bench, pending_runs, memory):
        if went.again:
            lost.append(went.again)
        else:
            yield went.word
    if lost:
        yield from (went.word for went in _made(bench, lost, memory))


class _Went(NamedTuple):
    """How a run went."""

    word: str
    again: PendingRun | None = None          # as it is made anew, where it was lost


def _made(bench: Bench, pending_runs: list[PendingRun], memory: "Memory") -> Iterator[_Went]:
    """Runs that may be alive at once, made or inferred."""
    comparison = _by_turns(bench, pending_runs[0])
    if not comparison:
        yield from _one_after_the_other(bench, pending_runs, memory)
        return
    for pending in pending_runs:
        if known := memory.known(pending.planned.cell):
            yield _Went(_inferred(bench, pending, *known))
    made = [pending for pending in pending_runs if not memory.known(pending.planned.cell)]
    while made:
        if bench.is_stopping():
            raise Stopped
        some = made[:1] if comparison in memory.apart else made
        with ExitStack() as alive:
            runs = [alive.enter_context(LiveRun(bench, pending, 1 / len(some))) for pending in some]
            left = turn_taking.take(bench, runs, comparison, memory.room, memory.patience)
        if left or any(run.is_crowded for run in runs):
            memory.apart.add(comparison)
            bench.store.append({"event": "apart", "comparison": comparison, "why": f"{len(runs)} workers did not fit "
                                "into memory together: one after the other"})
        yield from (memory.ended(run) for run in runs if run not in left)
        made = [run.pending for run in left] + made[len(runs):]


def _one_after_the_other(bench: Bench, pending_runs: list[PendingRun], memory: "Memory") -> Iterator[_Went]:
    """Runs that import side by side where they listen, and then have the machine for themselves."""
    with ExitStack() as alive:
        runs = [alive.enter_context(LiveRun(bench, pending)) for pending in pending_runs]
        listening = [run for run in runs if _listens(bench, run.pending) and not memory.known(run.pending.planned.cell)]
        for run in listening:
            run.start(listens=True)
        for run in listening:
            run.wait_imported()
        for run in runs:
            if bench.is_stopping():
                raise Stopped
            if known := memory.known(run.pending.planned.cell):
                yield _Went(_inferred(bench, run.pending, *known))
                continue
            run.begin()
            run.tell("go")
            run.listen()
            run.finish()
            yield memory.ended(run)


class Memory:
    """What a session has seen of its cells: how long a run took, which ran out of memory, what a stack cannot do.

    One that is equal to a cell without enough memory but for a larger batch would have too little, too.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience, self.room = Patience(clock), Room()
        self.apart: set[str] = set()              # comparisons whose workers do not fit into memory together
        self._batches: dict[Cell, int] = {}       # the smallest that ran out of memory, by the cell with batch 1
        self._unsupported: dict[Cell, str] = {}   # with the reason
        self.seconds: dict[str, float] = {}       # of each cell's last run here, by key

    @classmethod
    def of(cls, bench: Bench) -> "Memory":
        """What the session's stored runs say, of an earlier stage and before an interruption."""
        memory, told = cls(bench.clock), earlier_sessions.Told().read(bench.store.folder)
        memory.apart = told.apart
        cells = {planned.key: planned.cell for planned in bench.plan.cells}
        for past in told.ended:
            if past.key in cells:
                memory.heard(cells[past.key], past.ending, past.message)
        return memory

    def ended(self, run: LiveRun) -> _Went:
        """How a run that was made has ended."""
        assert run.ending is not None
        self.seconds[run.pending.planned.key] = run.seconds
        self.heard(run.pending.planned.cell, run.ending.word, run.ending.message)
        pending = run.pending
        return _Went(run.ending.word, pending._replace(attempt=pending.attempt + 1, left=None) if run.is_lost else None)

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
    bench.progress.run_started(pending.short)
    bench.store.append({**head(pending, host), "place": None})
    bench.store.append({"event": "ending", "run": pending.name, "ending": word, "message": message, "seconds": 0.0,
                        "host": host, "inferred": True})
    bench.progress.run_ended(pending.planned.key, pending.shown, word, "", 0.0, message)
    return word
