"""Published numbers beside ours: what a study printed, and the same quantity of what was measured here. Pure.

A published number is never used to compute one of ours.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import FiniteFloat, TypeAdapter

from runner.analysis import stats
from runner.results.rows import Row
from runner.study import quantities
from runner.study.subjects import Subject, named, selection, unknown_fields
from workloads.spec.cell import Cell

# cell fields by which subjects' cells are not told apart: their nodes may share a machine differently
_OF_THE_MACHINE = ("cpus", "memory_bytes")
STATISTICS = ("mean", "total", "greatest")     # of ratios: their mean, the ratio of the sums, the greatest of them


class Published(NamedTuple):
    """A number of a study: of one subject in its unit, or of two subjects' (quantities.RATIO_UNITS)."""

    id: str
    source: str                  # the table, figure or claim
    text: str
    quantity: str
    of: Subject
    to: Subject | None
    where: Mapping[str, tuple[Any, ...]]     # cell fields and the values that it is about; all of them where absent
    value: FiniteFloat
    unit: str
    experiment: str = ""         # the one that it is about, "" where all are
    contradiction: str = ""      # why it does not follow from the paper's other numbers, as arithmetic
    steps: int = 1               # of how many steps its seconds are: a study may print those of a whole run
    statistic: str = "mean"      # over its cells, of STATISTICS

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Whose numbers it needs."""
        return (self.of, self.to) if self.to else (self.of,)

    def record(self) -> dict[str, Any]:
        """As the store keeps it."""
        return {**self._asdict(), "of": self.of.record(), "to": self.to.record() if self.to else None,
                "where": {name: list(values) for name, values in self.where.items()}}


_PUBLISHED = TypeAdapter(Published)


def from_record(record: Mapping[str, Any]) -> Published:
    """What record() made. Raises ValueError."""
    number: Published = _PUBLISHED.validate_python(record)
    if number.quantity not in quantities.QUANTITIES or number.unit not in known_units(number):
        raise ValueError(f'found quantity "{number.quantity}" in "{number.unit}"')
    if number.statistic not in STATISTICS:
        raise ValueError(f'found statistic "{number.statistic}"')
    if wrong := unknown_fields(number.subjects, number.where):
        raise ValueError(wrong)
    return number


def known_units(number: Published) -> tuple[str, ...]:
    """The units that it may be printed in."""
    return quantities.RATIO_UNITS if number.to else quantities.units(number.quantity)


class Ours(NamedTuple):
    """The same quantity here, in the published unit; None without data."""

    value: float | None
    cells: int                   # that it was computed from, or pairs of them


def ours(published: Published, rows: Sequence[Row]) -> Ours:
    """What was measured here: the mean over cells; of a ratio the geometric mean over pairs of equal cells.

    Of "mpe" and "%" of two subjects it is the mean over pairs of (of - to) / of.
    """
    own = _found(published, published.of, rows)
    if published.to is None:
        found = [quantities.converted(published.quantity, published.unit, cell, value)
                 for cell, value in own.values()]
        return Ours(sum(found) / len(found) * published.steps if found else None, len(found))
    others = _found(published, published.to, rows)
    both = [(value, others[same][1]) for same, (_, value) in own.items() if same in others and others[same][1]]
    if both and published.statistic == "total":
        return Ours(sum(one for one, _ in both) / sum(other for _, other in both), len(both))
    if both and published.statistic == "greatest":
        return Ours(max(one / other for one, other in both), len(both))
    ratios = [value / other for value, other in both]
    return Ours(_IN_UNIT[published.unit](ratios), len(ratios))


def _ratio(ratios: Sequence[float]) -> float | None:
    return stats.geometric_mean(ratios) if all(ratio > 0 for ratio in ratios) else None


def _error(ratios: Sequence[float]) -> float | None:
    """The mean of (of - to) / of, for ratios of / to."""
    return sum(1 - 1 / ratio for ratio in ratios) / len(ratios) if ratios and all(ratios) else None


def _error_percent(ratios: Sequence[float]) -> float | None:
    found = _error(ratios)
    return None if found is None else found * 100


_IN_UNIT: dict[str, Callable[[Sequence[float]], float | None]] = {"x": _ratio, "mpe": _error, "%": _error_percent}


def _found(published: Published, subject: Subject, rows: Sequence[Row]) -> dict[tuple[Any, ...], tuple[Cell, float]]:
    """Cell and quantity by what a cell is but for what subjects name: over its ok runs, as every table has it."""
    theirs = (*named(published.subjects), *_OF_THE_MACHINE)
    same = [name for name in Cell._fields if name not in theirs]
    is_about = selection(published.subjects, quantities.measure(published.quantity), published.where)
    values = {}
    for row in rows:
        if subject.owns(row.cell) and is_about(row.cell):
            value = _over_runs(published.quantity, [found for run in row.ok_runs if (
                found := quantities.of(published.quantity, row, run)) is not None])
            if value is not None:
                values[tuple(getattr(row.cell, name) for name in same)] = (row.cell, value)
    return values


def _over_runs(name: str, found: Sequence[float]) -> float | None:
    """One number for all runs; None without any."""
    return min(found, default=None) if quantities.QUANTITIES[name].is_least else stats.median(found)
