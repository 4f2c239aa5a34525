"""How often the gate withholds a word on a real machine: python -m tests.cut_windows SESSION prints docs' table.

A session of long runs is cut into windows as long as short runs are. Rows of five windows, each of another run, are
what short sessions on that machine would have seen; what a stack might do in each run is planted into all five.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.analysis import gate, steadiness
from runner.analysis.stats import Verdict
from runner.results import store
from runner.results.rows import Row, measurements

Steps = NDArray[np.float64]

SECONDS = 1.5                # of a window
RUNS = 5                     # of a row
_DRAWN = 60                  # rows of each of the session's rows


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


def lines(folder: Path) -> Iterator[str]:
    """The table."""
    cut = [windows(row) for row in measurements(store.read(folder)).rows]
    yield "| planted | no word | the same if all that moves were the stack's |"
    yield "|---|---|---|"
    random = np.random.default_rng(19)
    for name in PLANTED:
        rows = [_drawn(runs, name, random) for runs in cut for _ in range(_DRAWN)]
        shares = [sum(row.verdict is Verdict.NOT_STEADY for row in some) / len(some)
                  for some in (rows, [row._replace(move_alike=True) for row in rows])]
        yield f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |"


def _drawn(runs: list[list[Steps]], planted: str, random: np.random.Generator) -> gate.Runs:
    some = [runs[place][random.integers(len(runs[place]))] for place in random.choice(len(runs), RUNS, replace=False)]
    steps = [each * shape(planted, len(each)) for each in some]
    return gate.together(steadiness.each(steps), [steadiness.drift(each) for each in steps])


if __name__ == "__main__":
    for line in lines(Path(sys.argv[1])):
        print(line, flush=True)
