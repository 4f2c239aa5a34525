"""How far the loss curves of trainings that should be the same lie apart, step by step. Pure.

Where weights, order and arithmetic are equal, float64 leaves only what the order of sums rounds away, about 1e-16 an
operation, which training amplifies from step to step; docs/curves.md argues the limit.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner.grouping import grouped
from runner.results.rows import Measurements, Row
from runner.results.runs import Samples

LIMIT = 1e-6          # of the loss, in float64, over 50 steps
FAR = 1e6             # more is not told apart: such losses have nothing to do with each other


class Apart(NamedTuple):
    """A stack's loss curve against another's, of the same cell and round."""

    experiment: str
    label: str                   # of the training
    task: str
    precision: str
    init: str
    order: str
    stack: str
    to: str
    steps: int
    first_apart: float           # relative difference of the first step's loss
    most_apart: float            # the largest of all steps
    at_step: int                 # where that is, counted from the run's first, warm-up and all
    first_step: int              # that both told
    last_step: int

    @property
    def why_apart(self) -> str:
        """What makes the curves differ by more than rounding in float64; "" where nothing does."""
        asked = {"precision": "float64", "init": "seeded", "order": "seeded"}
        return ", ".join(f"{name} {getattr(self, name)}" for name, word in asked.items() if getattr(self, name) != word)

    @property
    def does_agree(self) -> bool:
        """Whether it keeps within the limit."""
        return self.most_apart <= LIMIT


def listed(comparisons: Iterable[Apart]) -> dict[str, list[dict[str, str]]]:
    """A table for each training."""
    return {label: [{
        "stack": each.stack, "to": each.to, "steps": f"{each.first_step} to {each.last_step}",
        "first apart": f"{each.first_apart:.1e}", "most apart": f"{each.most_apart:.1e} at {each.at_step}",
        "agrees": f"not asked, {each.why_apart}" if each.why_apart else "yes" if each.does_agree else "no"}
        for each in of_label] for label, of_label in grouped(comparisons, lambda each: each.label).items()}


class Pair(NamedTuple):
    """The losses of a stack and of the one that it is compared with, in one round; all three (steps,)."""

    row: Row
    to: Row
    steps: NDArray[np.int64]     # of the runs, from 1: those that both told
    own: Samples
    other: Samples

    def distances(self) -> Samples:
        """(steps,): the relative differences of the losses; FAR at most."""
        with np.errstate(over="ignore"):
            scale = np.maximum(np.abs(self.other), np.finfo(np.float64).tiny)
            distances: Samples = np.abs(self.own - self.other) / scale
        return np.minimum(distances, FAR)


def compared(measured: Measurements) -> list[Apart]:
    """Every stack's curve against the baseline's, or the first stack's, in the first round that both finished."""
    return [_apart(pair) for group in pairs(measured.rows, measured.baseline) for pair in group]


def apart(measured: Measurements) -> list[str]:
    """A line for each stack that trained no step of its run which the other one told, too."""
    return [f"{pair.row.cell.stack}, {pair.row.comparison.label}: no step in common with {pair.to.cell.stack}"
            for group in _all_pairs(measured.rows, measured.baseline) for pair in group if not len(pair.steps)]


def pairs(rows: Iterable[Row], baseline: str) -> list[list[Pair]]:
    """The pairs of each training that share steps: every stack's curve with the baseline's, or the first stack's."""
    groups = ([pair for pair in group if len(pair.steps)] for group in _all_pairs(rows, baseline))
    return [group for group in groups if group]


def _all_pairs(rows: Iterable[Row], baseline: str) -> list[list[Pair]]:
    groups = grouped(rows, lambda row: (row.experiment, row.cell._replace(stack="")))
    trained = ([row for row in group if any(len(run.first.losses) for run in row.ok_runs)] for group in groups.values())
    # the one that others are held against first
    ordered = (sorted(group, key=lambda row: row.cell.stack != baseline) for group in trained)
    return [[Pair(row, group[0], *_same_round(row, group[0])) for row in group[1:]] for group in ordered]


def _same_round(row: Row, to: Row) -> tuple[NDArray[np.int64], Samples, Samples]:
    """The steps that both stacks tell in the first round in which they share some, and the losses of each."""
    theirs = {run.round: run.first for run in to.ok_runs}
    for run in row.ok_runs:
        if other := theirs.get(run.round):
            steps, own, others = np.intersect1d(run.first.loss_steps, other.loss_steps, return_indices=True)
            if len(steps):
                return steps + 1, run.first.losses[own], other.losses[others]
    return np.array([], int), np.array([]), np.array([])


def _apart(pair: Pair) -> Apart:
    differences, cell = pair.distances(), pair.row.cell
    most = int(np.argmax(differences))
    return Apart(pair.row.experiment, pair.row.comparison.label, cell.task, cell.precision, cell.init, cell.order,
                 cell.stack, pair.to.cell.stack, len(differences), float(differences[0]), float(differences[most]),
                 int(pair.steps[most]), int(pair.steps[0]), int(pair.steps[-1]))
