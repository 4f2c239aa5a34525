"""Which rows get a word: those whose runs were steady, as far as their steps tell. Pure.

What a stack does is in all of its runs, so a row is not steady where two of its runs are not, and more than one in ten,
or all of them. At 2 % of false alarms a run that withholds 0.4 % of rows of five; "any run" would withhold 10 %. A row
of which fewer than half the runs are steady, without being called otherwise, is too short to tell.

Only measures that time a step over and over are held to it. An epoch is measured whole, its slow start included, and a
profile is no rate.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from runner import formatting
from runner.analysis import steadiness
from runner.analysis.stats import Verdict
from runner.analysis.steadiness import Steadiness
from runner.results.rows import Row
from runner.results.runs import Worker

STEPPED = ("train", "infer", "phases", "prefill", "decode")         # measures whose rate is one of equal steps
_LEAST_RUNS = 2
_SHARE = 0.1                                   # of a row's runs, that may be unsteady without a doubt about the rest
REMEDIES = {Verdict.NOT_STEADY: "--set warm=steady ends the warm-up when steps are steady (where it is set: the page "
                                "shows the steps over time, and a note who else used the CPUs)",
            Verdict.TOO_SHORT: "--set seconds=2 --set steps=50 (where workers train together: more --set steps alone)",
            Verdict.TOO_FEW: "--rounds 5"}


class Runs(NamedTuple):
    """How many of a row's ok runs were steady, how many not, and how many did not tell."""

    steady: int = 0
    unsteady: int = 0
    short: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)

    @property
    def verdict(self) -> Verdict | None:
        """The word that stands instead of any other; None where the row may have one."""
        if self.unsteady and (self.unsteady == self.total
                              or (self.unsteady >= _LEAST_RUNS and self.unsteady > _SHARE * self.total)):
            return Verdict.NOT_STEADY
        return Verdict.TOO_SHORT if 2 * self.steady < self.total else None

    @property
    def text(self) -> str:
        """The word with the runs that it is about; "" without one."""
        if self.verdict is None:
            return ""
        count = self.unsteady if self.verdict is Verdict.NOT_STEADY else self.short
        return f"{self.verdict.value} ({count} of {formatting.count(self.total, 'run')})"


NO_STEPS = Runs()


def of_rows(rows: Iterable[Row]) -> Mapping[str, Runs]:
    """By the row's key, its runs; every step of a session is looked at once."""
    owners: list[tuple[str, int]] = []
    workers: list[Worker] = []
    for row in rows:
        if row.cell.measure in STEPPED:
            for number, run in enumerate(row.ok_runs):
                owners += [(row.key, number)] * len(run.workers)
                workers += run.workers
    judged = steadiness.each([worker.step_seconds for worker in workers], [worker.timed_seconds for worker in workers])
    of_workers: dict[tuple[str, int], list[Steadiness]] = {}
    for owner, one in zip(owners, judged, strict=True):
        of_workers.setdefault(owner, []).append(one)
    of_runs: dict[str, list[Steadiness]] = {}
    for (name, _), each in of_workers.items():
        of_runs.setdefault(name, []).append(_of_workers(each))
    return {name: Runs(*(each.count(one) for one in Steadiness)) for name, each in of_runs.items()}


def _of_workers(each: list[Steadiness]) -> Steadiness:
    """What most workers of a run say; where as many say the worse, that."""
    counts = Counter(each)
    return max(reversed(Steadiness), key=lambda one: (counts[one], one is Steadiness.NOT_STEADY))
