"""Which rows get a verdict: those whose runs were steady, as far as their steps show it. Pure.

A start, an end or a drift that stands out can be the machine's: another tenant, a clock that settles. By chance starts
do so as often as ends, and drifts go either way: they make runs differ, which intervals see, and no rate wrong. What a
stack does itself is in all of its runs. Where they move alike, the rate depends on when one looks, and the row is not
steady, if two runs and more than one in ten move, or all. Alike: a t test finds a mean in the logarithms of first half
over second half, or three runs more have a slow start than a slow end, or three fewer. The p values of a session's t
tests are adjusted by Holm, as those of its words are: where all rows drift by chance, as on a machine that wanders, one
in twenty would be found each time, some of twelve in nearly every second session. Fewer than five runs cannot show that
they move by chance. A row of which fewer than half the runs are steady or move by chance is too short to tell.

Two runs of five with a slow start so get a word, if there is one: their rates scatter as much as they lie off, and
Student's t makes none of them alone.

A run whose framework compiled programs within the timed steps is not steady, whatever its steps look like.

Only measures that time a step over and over are held to it. An epoch is measured whole, its slow start included, and a
profile is no rate.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from runner import formatting
from runner.analysis import stats, steadiness, student
from runner.analysis.stats import Verdict
from runner.analysis.steadiness import Steadiness
from runner.results.rows import Row
from runner.results.runs import Worker

STEPPED = ("train", "infer", "phases", "prefill", "decode")         # measures whose rate is one of equal steps
_LEAST_RUNS = 2
_SHARE = 0.1                                   # of a row's runs, that may be unsteady without a doubt about the rest
_UNSTEADY = (Steadiness.SLOW_START, Steadiness.SLOW_END, Steadiness.COMPILED)
_LEAST_ALIKE = 3                               # runs that stand out at one end more often than at the other
REMEDIES = {Verdict.NOT_STEADY: "--set warm=steady ends the warm-up when steps are steady (where it is set: the page "
                                "shows the steps over time, and a note who else used the CPUs)",
            Verdict.TOO_SHORT: "--set seconds=2 --set steps=50",
            Verdict.TOO_FEW: "--rounds 5"}


class Runs(NamedTuple):
    """How many of a row's ok runs were steady, how many not, how many did not tell, and how many drifted."""

    steady: int = 0
    unsteady: int = 0
    short: int = 0
    drifting: int = 0
    move_alike: bool = True                    # those that are not steady or drift; or by chance

    @property
    def total(self) -> int:
        """The number of runs."""
        return self.steady + self.unsteady + self.short + self.drifting

    @property
    def moved(self) -> int:
        """How many runs have a rate that depends on which steps are timed, for whatever reason."""
        return self.unsteady + self.drifting

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that replaces any other; None where the row may have its own."""
        own = self._own
        if own and (own == self.total or (own >= _LEAST_RUNS and own > _SHARE * self.total)):
            return Verdict.NOT_STEADY
        return Verdict.TOO_SHORT if 2 * (self.total - self.short - own) < self.total else None

    @property
    def _own(self) -> int:
        """How many runs were not steady because of the stack itself."""
        return self.moved if self.move_alike else 0

    @property
    def text(self) -> str:
        """The verdict with the number of runs behind it; "" without one."""
        if self.verdict is None:
            return ""
        count = self._own if self.verdict is Verdict.NOT_STEADY else self.short
        return f"{self.verdict.value} ({count} of {formatting.count(self.total, 'run')})"


NO_STEPS = Runs()


class Moves(NamedTuple):
    """How each run of a row moves."""

    each: Sequence[Steadiness]
    drifts: Sequence[float]                    # of each run, where any drifts

    @property
    def may_drift_alike(self) -> bool:
        """Whether the verdict depends on what their drifts have in common."""
        return Steadiness.DRIFTING in self.each and self.runs(True).verdict is not self.runs(False).verdict

    def runs(self, drift_alike: bool) -> Runs:
        """The row's Runs."""
        counts = Counter(self.each)
        starts, ends, compiled = (counts[one] for one in _UNSTEADY)
        move_alike = (len(self.each) < stats.LEAST_ROUNDS or compiled > 0 or abs(starts - ends) >= _LEAST_ALIKE
                      or drift_alike)
        return Runs(counts[Steadiness.STEADY], starts + ends + compiled, counts[Steadiness.TOO_SHORT],
                    counts[Steadiness.DRIFTING], move_alike)


def of_rows(rows: Iterable[Row]) -> Mapping[str, Runs]:
    """The Runs of each row, by its key; rows: all of a session, whose drifts are judged together."""
    stepped = [row for row in rows if row.cell.measure in STEPPED]
    workers = [worker for row in stepped for run in row.ok_runs for worker in run.workers]
    judged = steadiness.each([worker.alike_seconds for worker in workers],
                             [worker.timed_seconds for worker in workers])
    each = (Steadiness.COMPILED if worker.timed_compiled else its_own
            for worker, its_own in zip(workers, judged, strict=True))
    moves = {row.key: _moves(row, [_of_workers([next(each) for _ in run.workers]) for run in row.ok_runs])
             for row in stepped if row.ok_runs}
    return dict(zip(moves, together(moves.values()), strict=True))


def together(rows: Iterable[Moves]) -> list[Runs]:
    """The Runs of each of a session's rows."""
    every = list(rows)
    adjusted = stats.adjusted(
        {index: _p_value(row.drifts) for index, row in enumerate(every) if row.may_drift_alike})
    return [row.runs(adjusted.get(index, 1.0) <= stats.ERROR) for index, row in enumerate(every)]


def _moves(row: Row, each: Sequence[Steadiness]) -> Moves:
    return Moves(each, [_drift(run.workers) for run in row.ok_runs] if Steadiness.DRIFTING in each else [])


def _drift(workers: Sequence[Worker]) -> float:
    """The drift of a run: the mean over its workers."""
    return float(np.mean([steadiness.drift(worker.alike_seconds) for worker in workers]))


def _p_value(drifts: Sequence[float]) -> float:
    """Of "a row's runs drift by chance": how far their mean is from none, by their spread."""
    mean, error = float(np.mean(drifts)), float(np.std(drifts, ddof=1)) / len(drifts)**0.5
    return student.two_sided(abs(mean) / error, len(drifts) - 1) if error else float(mean == 0)


def _of_workers(each: Sequence[Steadiness]) -> Steadiness:
    """The steadiness that most workers of a run have; of two equally frequent ones the worse; compiled where one is."""
    if Steadiness.COMPILED in each:
        return Steadiness.COMPILED
    counts, moved = Counter(each), (Steadiness.DRIFTING, *_UNSTEADY)
    return max((*moved, Steadiness.TOO_SHORT, Steadiness.STEADY), key=lambda one: (counts[one], one in moved))
