"""The quantity of a published number, of what was measured here, and how that differs from the paper's cells. Pure.

A published number is never used to compute one of ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner import formatting
from runner.analysis import stats
from runner.analysis.summary_format import PublishedNumber
from runner.results.rows import Row, recorded
from runner.study import quantities
from runner.study.published import Published
from runner.study.subjects import Subject, Value, named, of_several_forms, sizes, stand_ins
from workloads.spec.cell import Cell

ON_A_CPU = "on a CPU"          # what the paper has of a GPU
_MOST_VALUES = 3               # of a size that are listed; of more the first and the last
_ALL = 0                       # images: as many as the set has


def ours(published: Published, rows: Sequence[Row]) -> PublishedNumber:
    """With what was measured here: the mean over cells; of a ratio the geometric mean over pairs of equal cells.

    Of "mpe" and "%" of two subjects it is the mean over pairs of (of - to) / of.
    """
    own = _by_cell(published, published.of, rows)
    others = _by_cell(published, published.to, rows) if published.to else own
    both = [(own[same], others[same]) for same in own if same in others and others[same][1]]
    used = [row for pair in both for row, _ in pair]
    ran_instead = stand_ins(published.subjects, (row.cell for row in used))
    mixed = of_several_forms(ran_instead)
    if mixed or not both:
        return PublishedNumber(**dict(published), ours=None, cells=0, differs=(mixed,) if mixed else ())
    fewer = [f"{len(both)} of {formatting.count(published.paper_cells, 'cell')}"][:len(both) < published.paper_cells]
    name = quantities.QUANTITIES[published.quantity].beside
    beside = ours(published.model_copy(update={"quantity": name}), rows).ours if name else None
    values = [(row.cell, one, other) for (row, one), (_, other) in both]
    return PublishedNumber(
        **dict(published), ours=_value(published, values), beside=beside, cells=len(both),
        differs=(*fewer, *differences(published.paper, used)), stand_ins=ran_instead,
        keys=tuple(dict.fromkeys(row.key for row in used)))


def _value(published: Published, values: Sequence[tuple[Cell, float, float]]) -> float | None:
    """Of cells with their quantity and the other subject's, in the published unit and statistic."""
    if published.to is None:
        converted = [quantities.converted(published.quantity, published.unit, cell, value) for cell, value, _ in values]
        return sum(converted) / len(converted) * published.steps
    ratios = [one / other for _, one, other in values]
    if published.unit in ("x", "% more"):
        ratio = _ratio(published.statistic, values, ratios)
        return (ratio - 1) * 100 if ratio is not None and published.unit == "% more" else ratio
    if not all(ratios):
        return None
    return sum(1 - 1 / ratio for ratio in ratios) / len(ratios) * (100 if published.unit == "%" else 1)


def _ratio(statistic: str, values: Sequence[tuple[Cell, float, float]], ratios: Sequence[float]) -> float | None:
    if statistic == "total":
        return sum(one for _, one, _ in values) / sum(other for *_, other in values)
    if statistic == "greatest":
        return max(ratios)
    return stats.geometric_mean(ratios) if all(ratio > 0 for ratio in ratios) else None


def _by_cell(published: Published, subject: Subject, rows: Sequence[Row]) -> dict[tuple[Any, ...], tuple[Row, float]]:
    """Each of the subject's cells' rows with its quantity, by all cell fields that subjects do not name."""
    theirs = (*named(published.subjects), "cpus", "memory_bytes")     # nodes may share a machine differently
    same = [name for name in Cell._fields if name not in theirs]
    is_about = published.selection()
    return {tuple(getattr(row.cell, name) for name in same): (row, value) for row in rows
            if subject.owns(row.cell) and is_about(row.cell)
            and (value := over_runs(published.quantity, row)) is not None}


def over_runs(name: str, row: Row) -> float | None:
    """A row's quantity as one number for all its runs; None where none tells."""
    values = [value for run in row.ok_runs if (value := quantities.of(name, row, run)) is not None]
    quantity = quantities.QUANTITIES[name]
    if quantity.is_of_rate and all(value > 0 for value in values):
        return stats.geometric_mean(values)
    return min(values, default=None) if quantity.is_least else stats.median(values)


def differences(paper: Mapping[str, Sequence[Value]], rows: Sequence[Row]) -> tuple[str, ...]:
    """What differs, in words; none where all that was measured is of the paper's sizes, or these are not known."""
    if not paper or not rows:
        return ()
    here = sizes(row.cell for row in rows)
    has_stand_in = any(recorded(run.facts, "data").get("stand_in") is True
                       for row in rows if row.cell.measure == "epochs" for run in row.ok_runs)
    return (*_differences(paper, here), *["stand-in data"][:has_stand_in])


def _differences(paper: Mapping[str, Sequence[Value]], here: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    for name, values in here.items():
        theirs = paper.get(name, ())
        if not theirs or set(values) <= set(theirs):
            continue
        if name == "device":
            yield ON_A_CPU if set(values) == {"cpu"} else f"on a {'/'.join(map(str, values)).upper()}"
        elif name == "epochs":
            yield f"{_listed(values)} of {_listed(theirs)} epochs"
        elif name == "images" and set(theirs) == {_ALL}:
            yield f"{_listed(values)} images, not all"
        else:
            yield f"{name} {_listed(values)}, not {_listed(theirs)}"


def _listed(values: Sequence[Value]) -> str:
    shown = values if len(values) <= _MOST_VALUES else (values[0], "...", values[-1])
    return "/".join(map(str, shown))
