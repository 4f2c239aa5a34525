"""Turns: the workers of a comparison are alive at once, and only the one whose turn it is computes. Standard library.

The runner speaks on the worker's standard input, a line a command, and the worker answers by events:

    (start)                      imports, then "waiting" at "imported"
    go                           builds its model and takes the first step, then "waiting" at "built"
    go CELL                      to one that said "forks": a child of it does so, and all that follows, with that cell,
                                 in JSON; when the child has ended, the worker is "waiting" at "imported" again
    go                           warms up, then "warm"
    turn LEAD SECONDS STEPS      a turn: steps for LEAD seconds that count for nothing, then whole steps (whole passes
                                 where batches are not alike) that last SECONDS at least and are STEPS at least; then
                                 "steps" with "turn"
    end                          says what it has to say, then "end"

Workers that train together hear the same words, each its own, and each answers of its own node. The first one says to
the others how many steps a warm-up, a lead and a turn have (places/agreement.py).

A closed standard input ends the worker: its runner is gone. One that takes turns ends at its next word; any other, to
which nothing more is said, at once.
"""
import math

from workloads.spec import cluster, duration
from workloads.spec.cell import Cell

VARIABLE = "EVENBENCH_TURNS"         # whether a worker takes turns
ENDS = "EVENBENCH_ENDS"              # whether a worker that is told nothing ends with its standard input
LEAD_SECONDS = 0.03                  # after a pause the first steps cost 1.1 to 2.3 times as much, from here on 1 %
SLICE_SECONDS = 0.1                  # at least
TURNS = 10                           # of a worker in a round: more narrow its interval less than more rounds do
WARM_UP_SECONDS = (0.25, 5.0)        # of a steady one: turns show what is left of it
MOST_SECONDS = 60.0                  # of timed steps in a round, beyond which there are no more turns than LEAST_TURNS
LEAST_TURNS = 3
_AMPLE_BYTES = 2 ** 32         # of memory: a process that has imported and forked holds 0.2 GB for itself, at most
# what a worker is started with, and what the variables depend on that a framework reads as it is imported
_OF_PROCESS = ("stack", "data", "device", "cpus", "memory_bytes", "source", "loop", "conv", "onednn", "switches")


def may_take(cell: Cell):
    """Whether a cell's workers take turns: they are on CPUs, and time steps until there are enough of them.

    A framework's own loader works ahead while others have their turn.
    """
    return duration.is_open(cell) and may_wait(cell) and cell.sync != "end" and cell.input != "loader"


def may_fork(cell: Cell):
    """Whether a child of the cell's worker may run it: a limit of memory counts what the parent holds, too."""
    return may_take(cell) and cell.parallel == "none" and not 0 < cell.memory_bytes < _AMPLE_BYTES


def process(cell: Cell):
    """What the cell's worker is until it forks: its children can run every cell of which this is equal."""
    return tuple(getattr(cell, name) for name in _OF_PROCESS)


def may_wait(cell: Cell):
    """Whether a cell's workers can wait until they are told to go on: on CPUs, alone, or where they step together.

    Who trains asynchronously takes no step with the others, so no turn of theirs ends together. Phases compare steps
    with passes without an exchange, which are taken once, between warm-up and timed steps.
    """
    is_together = cluster.kind(cell.parallel) == "sync" and cell.measure == "train" and cell.gpus == 1
    is_alone = cell.nodes == 1 and cell.parallel == "none" and cell.measure != "max_batch"
    return cell.device == "cpu" and (is_alone or is_together)


def least_steps(cell: Cell):
    """The steps that a turn has at least, so that TURNS of them have as many as the cell asks for."""
    return -(-cell.steps // TURNS)


def slice_seconds(cell: Cell):
    """The seconds that a turn's timed steps last at least."""
    return max(SLICE_SECONDS, cell.seconds / TURNS)


def guess(cell: Cell, step, pass_steps: int = 0):
    """About how many seconds the warm-up and the turns of a round take, of which a step takes so long."""
    low, high = WARM_UP_SECONDS
    warm_up = max(cell.warmup * step, min(high, max(low, duration.WARM_UP_STEPS[0] * step)))
    steps = max(least_steps(cell), math.ceil(slice_seconds(cell) / step))
    if pass_steps:
        steps = -(-steps // pass_steps) * pass_steps
    turn = steps * step
    return warm_up + TURNS * LEAD_SECONDS + max(LEAST_TURNS * turn, min(MOST_SECONDS, TURNS * turn))
