"""A session as a stream of events: round after round of every comparison, until each has enough of them.

A round is made in one go and counts whole or not at all (runner.results.reader.Fold). One that does not count, as the
machine was busy, a run was lost or the session interrupted, is followed by another behind the other comparisons'
rounds, as long as the session has patience.

Who asks for an event stores it before the next, and shows it; "now" tells of the moment and is not kept: runs that are
"ahead" and the "seconds" they may take, which one "starts", seconds "left", what it is "doing", why it "waits", what is
"said" to people, and after each round "so_far", the Measurements with it, and how many rounds are "missing" at most.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import count, groupby

from runner.cells import lanes_key
from runner.errors import Stopped
from runner.measuring.bench import Bench, Event
from runner.measuring.session import turn_taking
from runner.measuring.session.imported import Imported
from runner.measuring.session.live_run import LiveRun
from runner.measuring.session.turn_taking import Patience
from runner.planning.plan import Planned
from runner.results import store
from runner.results.contract import FINAL, INTERRUPTED, WELL
from runner.results.reader import Fold
from runner.results.rows import Measurements, blocks
from runner.results.sessions import Session
from workloads.spec.cell import Cell

INCOMPLETE = 4           # exit code: too busy, runs were lost, or no time was left
_AT_ONCE = 4             # workers that import side by side and then run one after the other


def run(bench: Bench) -> Iterator[Event]:
    """Make round after round, besides those that the folder's records have. Raises Stopped."""
    rounds, memory = Rounds(bench), Memory({planned.key: planned.cell for planned in bench.plan.cells})
    for record in store.read(bench.folder):
        rounds.heard(record)
        memory.heard(record)
    first = missing = rounds.missing(rounds.measured)
    share = sum(first.values()) / max(1, bench.plan.rounds * len(rounds.keys))
    planned = (bench.seconds_estimate or 0.0) * share
    patience = Patience(bench.clock, planned, bench.going.minutes and 60 * bench.going.minutes)
    yield {"event": "now", "ahead": sum(first.get(block, 0) * len(keys) for block, keys in rounds.keys.items()),
           "seconds": min(planned, patience.left)}
    made_here: Counter[str] = Counter()                # rounds, by block
    try:
        for index in count():
            # where some were lost, more than were missing, but no more than twice as many
            wanting = {block for block in missing if made_here[block] < first[block] * (2 - patience.is_half_spent)}
            if not wanting or patience.is_over:
                break
            if not (cells := rounds.pending(index, wanting)):
                continue                               # an earlier runner began this one
            apart, spent = set(memory.apart), patience.spent
            for event in made(bench, cells, index, memory, patience):
                rounds.heard(event)
                memory.heard(event)
                yield event
            if bench.is_stopping():
                raise Stopped
            # a round that shows that workers cannot be alive at once would do so on a quiet machine, too
            of_machine = {lanes_key(planned.cell) for planned in cells} - (memory.apart - apart)
            made_here.update(of_machine)
            measured = rounds.measured
            lost = [row.key for block, rows in blocks(measured.rows).items() if block in of_machine
                    for row in rows for run in row.runs if run.round == index and not run.counts]
            patience.spent = max(patience.spent, spent + memory.seconds_of(lost))
            missing = rounds.missing(measured)
            yield {"event": "now", "so_far": measured, "missing": max(missing.values(), default=0),
                   "left": min(patience.left, sum(number * memory.seconds_of(rounds.keys[block])
                                                  for block, number in missing.items()))}
        yield {"event": "closed", "reason": "incomplete" if missing else "done"}
    except (Stopped, KeyboardInterrupt) as stop:
        yield {"event": "closed", "reason": "interrupted"}
        raise Stopped from stop


class Rounds:
    """A listener: which rounds of each block (runner.results.rows.blocks) were begun, and which of them count."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._fold = bench, Fold()
        self._begun: set[tuple[str, int]] = set()      # key of a cell, and round
        self.keys: dict[str, list[str]] = {}           # of the cells, by block
        for planned in bench.plan.cells:
            self.keys.setdefault(lanes_key(planned.cell), []).append(planned.key)

    def heard(self, event: Event) -> None:
        """An event of the session."""
        self._fold.heard(event)
        if event["event"] == "begin":
            self._begun.add((event["key"], event["round"]))

    @property
    def measured(self) -> Measurements:
        """What was measured so far, as if nothing more were to come."""
        return replace(self._fold.measurements(), interrupted=frozenset())

    def missing(self, measured: Measurements) -> dict[str, int]:
        """How many more rounds each block needs, at most; of those that have enough nothing."""
        enough = self._bench.enough(measured)
        return {block: left for block, rows in blocks(measured.rows).items() if block not in enough
                and (left := self._bench.plan.rounds - rows[0].counted_rounds) > 0}

    def pending(self, index: int, wanting: Set[str]) -> list[Planned]:
        """The cells of these blocks in a round's order, but for blocks of which it was begun."""
        begun = {block for block, keys in self.keys.items() if any((key, index) in self._begun for key in keys)}
        return [each for each in self._bench.plan.order(index) if lanes_key(each.cell) in wanting - begun]


def exit_code(session: Session) -> int:
    """0 done, 1 a run went wrong or none went well, INCOMPLETE: the same command goes on."""
    if session.state != "done":
        return INCOMPLETE
    words = {run.ending for run in session.ended} & FINAL
    return 0 if words <= WELL and (not words or "ok" in words) else 1


def made(bench: Bench, cells: Sequence[Planned], index: int = 0, memory: "Memory | None" = None,
         patience: Patience | None = None) -> Iterator[Event]:
    """Runs of cells in the round of this index, by turns or one after the other. Raises Stopped."""
    memory, patience = memory or Memory({}), patience or Patience(bench.clock)
    with ThreadPoolExecutor(max(1, len(cells))) as threads, closing(Imported(threads)) as imported:
        every = (LiveRun(bench, planned, index) for planned in cells)
        for comparison, alike in groupby(every, lambda run: run.comparison):
            runs = list(alike)
            together = 1 if comparison in memory.apart else len(runs) if comparison else _AT_ONCE
            for first in range(0, len(runs), together):
                group = runs[first:first + together]
                yield from (_taking_turns(group, memory, patience, imported) if comparison
                            else _one_after_the_other(group, memory, imported))


def _taking_turns(runs: list[LiveRun], memory: "Memory", patience: Patience, imported: Imported) -> Iterator[Event]:
    """Runs of a comparison by turns; a run whose comparison does not fit into memory is alone."""
    waiting: list[LiveRun] = []
    for run in runs:
        if known := memory.known(run.planned.cell):
            yield from run.inferred(*known)
        else:
            waiting.append(run)
    if not waiting:
        return
    if runs[0].bench.is_stopping():
        raise Stopped
    if is_apart := (comparison := runs[0].comparison) in memory.apart:
        imported.close()              # they would take memory beside runs that are alone
    for run in waiting:
        run.imported, run.share = None if is_apart else imported, 1 / len(waiting)
    yield from _ended(waiting, turn_taking.take(waiting, memory.sizes, patience, imported.threads), imported.threads)
    if why := next(filter(None, (run.apart_for for run in waiting)), ""):
        imported.close()
        yield {"event": "apart", "comparison": comparison, "why": f"{why}: one after the other"}


def _one_after_the_other(runs: list[LiveRun], memory: "Memory", imported: Imported) -> Iterator[Event]:
    """Runs that import side by side where they listen, and then have the machine for themselves."""
    imported.close()

    def events() -> Iterator[Event]:
        list(turn_taking.imported([run for run in runs if run.can_listen and not memory.known(run.planned.cell)],
                                  imported.threads))
        for run in runs:
            if run.bench.is_stopping():
                raise Stopped
            if known := memory.known(run.planned.cell):
                yield from run.inferred(*known)
                continue
            yield from run.begin()
            run.tell("go")
            yield from run.listen()
            yield from run.finish()

    yield from _ended(runs, events(), imported.threads)


def _ended(runs: list[LiveRun], events: Iterator[Event], threads: Executor) -> Iterator[Event]:
    """The events of runs, which have ended after them, however that went."""
    try:
        yield from events
        for said in threads.map(lambda run: list(run.finish()), runs):
            yield from said
    except (Stopped, KeyboardInterrupt):
        for run in runs:
            yield from run.finish(INTERRUPTED)
        raise
    finally:
        for run in runs:
            run.stop()


class Memory:
    """A listener: seconds of cells, batches that ran out of memory, unsupported cells, comparisons that do not fit.

    If a batch ran out of memory, every larger batch of an equal cell is assumed to.
    """

    def __init__(self, cells: Mapping[str, Cell]) -> None:
        """cells: by their keys."""
        self.sizes: dict[str, int] = {}           # bytes of a worker of each comparison
        self.apart: set[str] = set()              # comparisons whose workers cannot be alive at once
        self._cells = cells
        self._batches: dict[Cell, int] = {}       # the smallest that ran out of memory, by the cell with batch 1
        self._unsupported: dict[Cell, str] = {}   # with the reason
        self._seconds: dict[str, float] = {}      # of each cell's last run, by key

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
        """Seconds of these cells' last runs together."""
        return sum(self._seconds.get(key, 0.0) for key in keys)

    def known(self, cell: Cell) -> tuple[str, str] | None:
        """Ending and message of a run of the cell, if they are known without one."""
        if cell in self._unsupported:
            return "unsupported", self._unsupported[cell]
        batch = self._batches.get(cell._replace(batch=1))
        if batch and batch < cell.batch and cell.measure != "max_batch":
            return "oom", f"inferred, not run: batch {batch} was out of memory"
        return None
