"""How far the loss curves of trainings that should be the same lie apart, step by step. Pure.

Where weights, order and arithmetic are equal, float64 leaves only what the order of sums rounds away, about 1e-16 an
operation, which training amplifies from step to step; docs/curves.md argues the limit.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner.grouping import grouped
from runner.results.rows import Measurements, Row
from runner.results.runs import Samples

LIMIT = 1e-6          # of the loss, in float64, over 50 steps
FAR = 1e6             # more is not told apart: such losses have nothing to do with each other


class Pair(NamedTuple):
    """The losses of a stack and of the one that it is compared with, in one round; all three (steps,)."""

    row: Row
    to: Row
    steps: NDArray[np.int64]     # that both told, counted from the run's first, warm-up and all
    own: Samples
    other: Samples

    @classmethod
    def of(cls, row: Row, to: Row) -> "Pair":
        """In the first round in which both tell the same steps; without a step where there is none."""
        theirs = {run.round: run.first for run in to.ok_runs}
        for run in row.ok_runs:
            if other := theirs.get(run.round):
                steps, own, others = np.intersect1d(run.first.loss_steps, other.loss_steps, return_indices=True)
                if len(steps):
                    return cls(row, to, steps + 1, run.first.losses[own], other.losses[others])
        return cls(row, to, np.array([], int), np.array([]), np.array([]))

    def distances(self) -> Samples:
        """(steps,): the relative differences of the losses; FAR at most."""
        with np.errstate(over="ignore"):
            scale = np.maximum(np.abs(self.other), np.finfo(np.float64).tiny)
            distances: Samples = np.abs(self.own - self.other) / scale
        return np.minimum(distances, FAR)

    @property
    def why_apart(self) -> str:
        """What makes the curves differ by more than rounding in float64; "" where nothing does."""
        asked = {"precision": "float64", "init": "seeded", "order": "seeded"}
        told = ((name, getattr(self.row.cell, name)) for name in asked)
        return ", ".join(f"{name} {word}" for name, word in told if word != asked[name])

    @property
    def does_agree(self) -> bool:
        """Whether it keeps within the limit."""
        return bool(self.distances().max() <= LIMIT)

    def record(self) -> dict[str, Any]:
        """For programs: how far the curves are apart at the first step, and at most, and at which step that is."""
        distances, cell = self.distances(), self.row.cell
        most = int(np.argmax(distances))
        return {"experiment": self.row.experiment, "label": self.row.comparison.label, "task": cell.task,
                "precision": cell.precision, "init": cell.init, "order": cell.order,
                "stack": cell.stack, "to": self.to.cell.stack, "steps": len(distances),
                "first_apart": float(distances[0]), "most_apart": float(distances[most]),
                "at_step": int(self.steps[most]), "first_step": int(self.steps[0]), "last_step": int(self.steps[-1])}

    def line(self) -> dict[str, str]:
        """For people."""
        told = self.record()
        return {"stack": told["stack"], "to": told["to"], "steps": f"{told['first_step']} to {told['last_step']}",
                "first apart": f"{told['first_apart']:.1e}",
                "most apart": f"{told['most_apart']:.1e} at {told['at_step']}",
                "agrees": f"not asked, {self.why_apart}" if self.why_apart else "yes" if self.does_agree else "no"}


def listed(compared: Iterable[Pair]) -> dict[str, list[dict[str, str]]]:
    """A table for each training."""
    return {label: [pair.line() for pair in of_label]
            for label, of_label in grouped(compared, lambda pair: pair.row.comparison.label).items()}


def compared(measured: Measurements) -> list[Pair]:
    """The pairs of all trainings of a session."""
    return [pair for group in pairs(measured.rows, measured.baseline) for pair in group]


def apart(measured: Measurements) -> list[str]:
    """A line for each stack that trained no step of its run which the other one told, too."""
    return [f"{pair.row.cell.stack}, {pair.row.comparison.label}: no step in common with {pair.to.cell.stack}"
            for group in _all_pairs(measured.rows, measured.baseline) for pair in group if not len(pair.steps)]


def pairs(rows: Iterable[Row], baseline: str) -> list[list[Pair]]:
    """The pairs of each training, in the first round in which they share steps: all with the baseline, or the first."""
    groups = ([pair for pair in group if len(pair.steps)] for group in _all_pairs(rows, baseline))
    return [group for group in groups if group]


def _all_pairs(rows: Iterable[Row], baseline: str) -> list[list[Pair]]:
    groups = grouped(rows, lambda row: (row.experiment, row.cell._replace(stack="")))
    trained = ([row for row in group if any(len(run.first.losses) for run in row.ok_runs)] for group in groups.values())
    # the one that others are held against first
    ordered = (sorted(group, key=lambda row: row.cell.stack != baseline) for group in trained)
    return [[Pair.of(row, group[0]) for row in group[1:]] for group in ordered]
