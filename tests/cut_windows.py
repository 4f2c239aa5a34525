"""What short sessions on a real machine would say: python -m tests.cut_windows SESSION prints docs' tables.

A session of long runs is cut into windows as long as short runs are. Rows of five windows, each of another run, are
what short sessions on that machine would have seen. How often does the gate withhold a word, where nothing or what a
stack might do in each run is planted into all five? And how many of their intervals contain the long session's ratio?
That is exact here: short sessions are drawn from nothing but its rounds, with replacement.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.analysis import gate, stats, steadiness
from runner.analysis.stats import Verdict
from runner.results import store
from runner.results.rows import Measurements, Row, by_comparison, measurements

Steps = NDArray[np.float64]
Rates = Mapping[int, Sequence[float]]        # of a stack by round, one a window

SECONDS = 1.0                # of a window
RUNS = 5                     # of a row
_DRAWN = 500                 # short sessions, each with all rows
_SESSIONS = 2000             # of each ratio: its share then has an error of 0.5 %


def windows(row: Row, seconds: float = SECONDS) -> list[list[Steps]]:
    """Of each ok run, its timed steps cut into windows; a rest is dropped."""
    cut = []
    for run in row.ok_runs:
        steps = np.asarray(run.workers[0].step_seconds)
        number = (np.cumsum(steps) // seconds).astype(int)
        cut.append([steps[number == index] for index in range(number[-1])])
    return cut


def shape(name: str, count: int) -> Steps:
    """How many times as long as undisturbed each of so many steps takes."""
    index = np.arange(count)
    shapes = {"nothing": np.ones(count), "first 5 % at 2x": np.where(index < 0.05 * count, 2.0, 1.0),
              "first 20 % at 1.3x": np.where(index < 0.2 * count, 1.3, 1.0),
              "falling by 15 %": np.linspace(1.15, 1, count),
              "rising by 15 %": np.linspace(1, 1.15, count), "falling by 30 %": np.linspace(1.3, 1, count)}
    return shapes[name]


PLANTED = ("nothing", "first 5 % at 2x", "first 20 % at 1.3x", "falling by 15 %", "rising by 15 %", "falling by 30 %")


def lines(session: Measurements) -> Iterator[str]:
    """The table of words that are withheld: what is planted is planted into one row of each short session."""
    cut = [windows(row) for row in session.rows]
    yield ("| planted | no word | the same if all that moves were the stack's | no word for another row | "
           "such sessions |")
    yield "|---|---|---|---|---|"
    random = np.random.default_rng(19)
    for name in PLANTED:
        planted, alike, others = [], [], []
        for _ in range(_DRAWN):
            place = int(random.integers(len(cut)))
            rows = [_drawn(runs, name if index == place else PLANTED[0], random) for index, runs in enumerate(cut)]
            withheld = [row.verdict is Verdict.NOT_STEADY for row in gate.together(rows)]
            planted.append(withheld.pop(place))
            alike.append(rows[place].runs(drift_alike=True).verdict is Verdict.NOT_STEADY)
            others.append(withheld)
        shares = [np.mean(planted), np.mean(alike), np.mean(others), np.any(others, axis=1).mean()]
        yield f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |"


def _drawn(runs: list[list[Steps]], planted: str, random: np.random.Generator) -> gate.Moves:
    some = [runs[place][random.integers(len(runs[place]))] for place in random.choice(len(runs), RUNS, replace=False)]
    steps = [each * shape(planted, len(each)) for each in some]
    return gate.Moves(steadiness.each(steps), [steadiness.drift(each) for each in steps])


def interval_lines(session: Measurements) -> Iterator[str]:
    """The table of intervals that contain the session's own ratio."""
    yield "| comparison, stack | ratio | intervals that contain it | by their rounds alone |"
    yield "|---|---|---|---|"
    for rows in by_comparison(session.rows).values():
        by_stack = {row.cell.stack: row for row in rows}
        baseline = by_stack.pop(session.baseline)
        theirs = _rates(baseline)
        for stack, row in by_stack.items():
            truth, = stats.ratios([(row.rates, baseline.rates)])
            if truth.value is not None:
                shares = held(_rates(row), theirs, truth.value)
                yield (f"| {row.comparison.label}, {stack} | {truth.value:.3g} | "
                       + " | ".join(f"{share:.1%}" for share in shares) + " |")


def _rates(row: Row) -> Rates:
    """Steps a second of each window."""
    return {run.round: [1 / float(np.mean(steps)) for steps in cut]
            for run, cut in zip(row.ok_runs, windows(row), strict=True)}


def held(one: Rates, other: Rates, truth: float) -> tuple[float, float]:
    """The share of short sessions whose interval of one to the other contains the truth, and by their rounds alone.

    A short session's round takes one of a round's rates.
    """
    random = np.random.default_rng(19)
    rounds = sorted(one.keys() & other.keys())
    pairs = [(_short(one, some, random), _short(other, some, random))
             for some in random.choice(rounds, (_SESSIONS, RUNS))]
    found = stats.ratios(pairs, stats.SESSION_SPREAD, stats.SESSION_SCATTER)
    means = [mean for ratio in found for mean in (ratio.mean, ratio.of_rounds)]
    is_held = [mean is not None and mean.interval().low <= truth <= mean.interval().high for mean in means]
    return sum(is_held[::2]) / _SESSIONS, sum(is_held[1::2]) / _SESSIONS


def _short(rates: Rates, rounds: Sequence[int], random: np.random.Generator) -> stats.ByRound:
    return {index: float(random.choice(rates[drawn])) for index, drawn in enumerate(rounds)}


if __name__ == "__main__":
    measured = measurements(store.read(Path(sys.argv[1])))
    for line in (*lines(measured), "", *interval_lines(measured)):
        print(line, flush=True)
