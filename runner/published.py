"""Published numbers beside ours: what a study printed, and the same quantity of what was measured here. Pure.

A published number is never used to compute one of ours.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from runner import operators, stats
from runner.rows import Row, Run, step_seconds
from workloads.spec import cluster
from workloads.spec.cell import Cell

# dispatch: what a coordinator takes to hand a worker its next step
PHASES = ("load", "forward", "backward", "communication", "update", "dispatch")
QUANTITIES = ("step", *PHASES, "memory", *operators.WORDS)
UNITS = ("s", "x", "bytes")


class Subject(NamedTuple):
    """Whose number it is."""

    stack: str
    parallel: str = ""           # "sync" or "async"; "" where one node runs

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


class Published(NamedTuple):
    """A number of a study: of one subject in its unit, or the ratio of two subjects' times (unit "x")."""

    id: str
    source: str                  # the table, figure or claim
    text: str
    quantity: str
    of: Subject
    to: Subject | None
    where: Mapping[str, tuple[Any, ...]]     # cell fields and the values that it is about; all of them where absent
    value: float
    unit: str

    def record(self) -> dict[str, Any]:
        """As the store keeps it."""
        return {**self._asdict(), "of": self.of._asdict(), "to": self.to._asdict() if self.to else None,
                "where": {name: list(values) for name, values in self.where.items()}}


def from_record(record: Mapping[str, Any]) -> Published:
    """What record() made. Raises KeyError, TypeError."""
    to = record["to"]
    return Published(**{**record, "of": Subject(**record["of"]), "to": Subject(**to) if to else None,
                        "where": {name: tuple(values) for name, values in record["where"].items()}})


class Ours(NamedTuple):
    """The same quantity here: seconds a step, bytes, or a ratio; None without data."""

    value: float | None
    cells: int                   # that it was computed from, or pairs of them


def ours(published: Published, rows: Sequence[Row]) -> Ours:
    """What was measured here: the mean over cells; of a ratio the geometric mean over pairs of equal cells."""
    own = _found(published, published.of, rows)
    if published.to is None:
        return Ours(sum(own.values()) / len(own) if own else None, len(own))
    others = _found(published, published.to, rows)
    ratios = [own[cell] / others[cell] for cell in own if others.get(cell)]
    return Ours(stats.geometric_mean(ratios) if ratios and all(ratio > 0 for ratio in ratios) else None, len(ratios))


def _found(published: Published, subject: Subject, rows: Sequence[Row]) -> dict[tuple[Any, ...], float]:
    """The quantity by what a cell is but for its stack and mode: the median over its ok runs."""
    values = {}
    for row in rows:
        if whose(row.cell) == subject and is_about(published.quantity, published.where, row.cell):
            value = stats.median([found for run in row.ok_runs
                                  if (found := quantity_of(published.quantity, row, run)) is not None])
            if value is not None:
                values[tuple(getattr(row.cell, name) for name in _SAME)] = value
    return values


_SAME = ("task", "batch", "image", "classes", "nodes", "precision", "device", "onednn", "overlap")


def whose(cell: Cell) -> Subject:
    """The subject that a cell belongs to."""
    kind: str = cluster.kind(cell.parallel)
    return Subject(cell.stack, "" if kind == "none" else kind)


def is_about(quantity: str, where: Mapping[str, Sequence[Any]], cell: Cell) -> bool:
    """Whether a cell has the measure that a quantity is taken from, and values that where lists."""
    wanted = {"measure": (measure(quantity),), "overlap": ("default",), **where}
    return all(getattr(cell, name) in values for name, values in wanted.items())


def measure(quantity: str) -> str:
    """The measure that a quantity is taken from."""
    if quantity in ("step", "memory"):
        return "train"
    return "phases" if quantity in PHASES else "operators"


def quantity_of(name: str, row: Row, run: Run) -> float | None:
    """A run's quantity of that name: seconds a step, or bytes."""
    if name == "step":
        return step_seconds(run)
    if name == "memory":
        return peak_bytes(run)
    if name in PHASES:
        return run.phase_seconds(name)
    return operators.seconds(run.framework, run.operators).get(name)


def peak_bytes(run: Run) -> float | None:
    """The peak memory of a run: of all its places together, where there are many."""
    peaks = place_peaks(run)
    return sum(peaks.values()) if peaks else run.after.get("peak_bytes")


def place_peaks(run: Run) -> dict[str, float]:
    """Peak bytes by place: of its control group where it has one of its own, else of the worker's process."""
    has_groups = run.place.get("isolation") != "venv"
    found = {place: (used.get("group_peak_bytes") if has_groups else None) or used.get("peak_bytes")
             for place, used in run.usage.items()}
    return {place: peak for place, peak in found.items() if peak is not None}
