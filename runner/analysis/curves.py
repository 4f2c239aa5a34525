"""How far the loss curves of trainings that should be the same lie apart, step by step. Pure.

Where weights, order and arithmetic are equal, float64 leaves only what the order of sums rounds away, about 1e-16 an
operation, which training amplifies from step to step; docs/curves.md argues the limit.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from runner.results.rows import Measurements, Row
from runner.results.values import Samples

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
    at_step: int                 # where that is, from 1

    @property
    def should_agree(self) -> bool:
        """Whether weights, order and arithmetic are equal up to rounding."""
        return (self.precision, self.init, self.order) == ("float64", "seeded", "seeded")

    @property
    def does_agree(self) -> bool:
        """Whether it keeps within the limit."""
        return self.most_apart <= LIMIT

    def listed(self) -> dict[str, Any]:
        """The distances as a row of a table."""
        return {"stack": self.stack, "to": self.to, "steps": self.steps, "first apart": f"{self.first_apart:.1e}",
                "most apart": f"{self.most_apart:.1e} at {self.at_step}", "agrees": "yes" if self.does_agree else "no"}


def listed(comparisons: Iterable[Apart]) -> dict[str, list[dict[str, Any]]]:
    """A table for each training."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for apart in comparisons:
        tables.setdefault(apart.label, []).append(apart.listed())
    return tables


class Pair(NamedTuple):
    """The losses of a stack and of the one that it is compared with, in one round; both (steps,)."""

    row: Row
    to: Row
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


def pairs(rows: Iterable[Row], baseline: str) -> list[list[Pair]]:
    """The pairs of each training: every stack's curve with the baseline's, or the first stack's."""
    groups: dict[tuple[str, object], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.experiment, row.cell._replace(stack="")), []).append(row)
    return [of_group for group in groups.values() if (of_group := list(_with_one(group, baseline)))]


def _with_one(rows: list[Row], baseline: str) -> Iterable[Pair]:
    trained = [row for row in rows if any(len(run.first.losses) for run in row.ok_runs)]
    to = next((row for row in trained if row.cell.stack == baseline), trained[0] if trained else None)
    for row in trained:
        losses = _same_round(row, to) if to and row is not to else None
        if to and losses:
            yield Pair(row, to, *losses)


def _same_round(row: Row, to: Row) -> tuple[Samples, Samples] | None:
    """The losses of both stacks at the steps that both tell, in the first round in which they share some."""
    theirs = {run.round: run.first for run in to.ok_runs}
    for run in row.ok_runs:
        other = theirs.get(run.round)
        if other is None or (not run.turns and len(other.losses) != len(run.first.losses)):
            continue
        steps, own, others = np.intersect1d(run.first.loss_steps, other.loss_steps, return_indices=True)
        if len(steps):
            return run.first.losses[own], other.losses[others]
    return None


def _apart(pair: Pair) -> Apart:
    differences, cell = pair.distances(), pair.row.cell
    most = int(np.argmax(differences))
    return Apart(pair.row.experiment, pair.row.comparison.label, cell.task, cell.precision, cell.init, cell.order,
                 cell.stack, pair.to.cell.stack, len(differences), float(differences[0]), float(differences[most]),
                 most + 1)
