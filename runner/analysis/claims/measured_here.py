"""The quantity of a published number, of what was measured here. Pure.

A published number is never used to compute one of ours.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis import stats
from runner.analysis.claims.differing import differences
from runner.results.rows import Row
from runner.study import quantities
from runner.study.published import Published
from runner.study.subjects import Subject, named, stand_ins
from workloads.spec.cell import Cell

# cell fields by which subjects' cells are not told apart: their nodes may share a machine differently
_OF_THE_MACHINE = ("cpus", "memory_bytes")


class Ours(NamedTuple):
    """The same quantity here, in the published unit; None without data."""

    value: float | None
    cells: int                   # that it was computed from, or pairs of them
    differs: tuple[str, ...] = ()                              # from the paper's cells, in words
    stand_ins: Mapping[str, str] = MappingProxyType({})        # what ran in place of a subject's stack


def ours(published: Published, rows: Sequence[Row]) -> Ours:
    """What was measured here: the mean over cells; of a ratio the geometric mean over pairs of equal cells.

    Of "mpe" and "%" of two subjects it is the mean over pairs of (of - to) / of.
    """
    own = _by_cell(published, published.of, rows)
    others = _by_cell(published, published.to, rows) if published.to else own
    both = [(own[same], others[same]) for same in own if same in others and others[same][1]]
    if not both:
        return Ours(None, 0)
    used = [row for pair in both for row, _ in pair]
    fewer = f"{len(both)} of {formatting.count(published.paper_cells, 'cell')}"
    return Ours(_value(published, [(row.cell, one, other) for (row, one), (_, other) in both]), len(both),
                (*((fewer,) if len(both) < published.paper_cells else ()), *differences(published.paper, used)),
                stand_ins(published.subjects, (row.cell for row in used)))


def _value(published: Published, values: Sequence[tuple[Cell, float, float]]) -> float | None:
    """Of cells with their quantity and the other subject's, in the published unit and statistic."""
    if published.to is None:
        converted = [quantities.converted(published.quantity, published.unit, cell, value) for cell, value, _ in values]
        return sum(converted) / len(converted) * published.steps
    if published.statistic == "total":
        return sum(one for _, one, _ in values) / sum(other for *_, other in values)
    ratios = [one / other for _, one, other in values]
    if published.statistic == "greatest":
        return max(ratios)
    if published.statistic == "difference":
        ratios = [max(ratio, 1 / ratio) for ratio in ratios if ratio > 0]
    return _IN_UNIT[published.unit](ratios)


def _ratio(ratios: Sequence[float]) -> float | None:
    return stats.geometric_mean(ratios) if all(ratio > 0 for ratio in ratios) else None


def _error(ratios: Sequence[float]) -> float | None:
    """The mean of (of - to) / of, for ratios of / to."""
    return sum(1 - 1 / ratio for ratio in ratios) / len(ratios) if ratios and all(ratios) else None


def _error_percent(ratios: Sequence[float]) -> float | None:
    error = _error(ratios)
    return None if error is None else error * 100


_IN_UNIT: dict[str, Callable[[Sequence[float]], float | None]] = {"x": _ratio, "mpe": _error, "%": _error_percent}


def _by_cell(published: Published, subject: Subject, rows: Sequence[Row]) -> dict[tuple[Any, ...], tuple[Row, float]]:
    """Each of the subject's cells' rows with its quantity, by all cell fields that subjects do not name."""
    theirs = (*named(published.subjects), *_OF_THE_MACHINE)
    same = [name for name in Cell._fields if name not in theirs]
    is_about = published.selection()
    values = {}
    for row in rows:
        if subject.owns(row.cell) and is_about(row.cell):
            value = over_runs(published.quantity, row)
            if value is not None:
                values[tuple(getattr(row.cell, name) for name in same)] = (row, value)
    return values


def over_runs(name: str, row: Row) -> float | None:
    """A row's quantity as one number for all its runs; None where none tells."""
    values = [value for run in row.ok_runs if (value := quantities.of(name, row, run)) is not None]
    quantity = quantities.QUANTITIES[name]
    if quantity.is_of_rate and all(value > 0 for value in values):
        return stats.geometric_mean(values)
    return min(values, default=None) if quantity.is_least else stats.median(values)
