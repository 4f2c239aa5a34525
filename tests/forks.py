"""Whether a worker's child computes as fast as a process that imported for itself.

    python -m tests.forks RESULT [PAIRS]

Of each cell of a session whose worker forks, pairs of both take turns in virtual environments. Printed is the child's
rate over the other's: geometric mean and 95 % interval over the pairs.
"""

import random
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

from runner.paths import STACKS
from runner.results.turns import Turn, counted
from runner.stacks import definition
from tests.slices import Worker, cells_of, told, warm_up
from workloads.spec import frameworks, turns
from workloads.spec.cell import Cell

PAIRS = 8


def ratio(cell: Cell, drawn: random.Random) -> float:
    """The child's rate over the other's, of a pair."""
    with ExitStack() as alive:
        forked, other = pair = [Worker(cell, alive, forks) for forks in (True, False)]
        warm_up(drawn.sample(pair, 2))
        taken: dict[Worker, list[Turn]] = {worker: [] for worker in pair}
        for _ in range(turns.TURNS):
            for worker in drawn.sample(pair, 2):
                taken[worker].append(worker.turn(turns.SLICE_SECONDS))
    rates = [statistics.geometric_mean(turn.rate for turn in counted(taken[worker])) for worker in (forked, other)]
    return rates[0] / rates[1]


def main(result: Path, pairs: int) -> None:
    """Print a line a cell."""
    stacks, drawn = definition.read_all(STACKS), random.Random(1)
    for cell in [cell for cells in cells_of(result).values() for cell in cells]:
        if frameworks.may_fork(stacks[cell.stack].framework):
            print(told(cell, [ratio(cell, drawn) for _ in range(pairs)]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else PAIRS)
