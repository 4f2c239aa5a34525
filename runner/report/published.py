"""The study's own numbers beside ours, each with the experiment that it is about. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from runner import formatting
from runner.analysis.summary_format import PublishedNumber, Summary
from runner.report import claim_text
from runner.report.comparisons import cut, fitting
from runner.report.document import Chart, Dots, Mark, Table, plain
from runner.results.rows import Experiment, Measurements
from runner.study import quantities
from workloads.spec.cell import Cell

Numbers = Sequence[PublishedNumber]
THEIRS, OURS = 3, 0            # signs
ELSEWHERE = ""                 # the key of numbers that no experiment here is about
_AXES = {"s": "seconds", "x": "ratio", "bytes": "bytes", "share": "share", "%": "%", "mpe": "(of - to) / of",
         "W": "watts", "count": "number", "samples/s": "samples/s", "steps/s": "steps/s"}


def by_experiment(summary: Summary, measured: Measurements) -> dict[str, Numbers]:
    """The numbers by the id of the experiment that they are about."""
    cells = _cells(measured)
    found: dict[str, list[PublishedNumber]] = {}
    for number in summary.published:
        found.setdefault(_about(number, measured.experiments, cells), []).append(number)
    return {name: tuple(numbers) for name, numbers in found.items()}


def _cells(measured: Measurements) -> dict[str, list[Cell]]:
    """Of each experiment, the skipped ones too."""
    by_key = {row.key: row.cell for row in measured.rows}
    found = {one.id: [by_key[key] for key in one.keys if key in by_key] for one in measured.experiments}
    for skip in measured.skipped:
        found.setdefault(skip.experiment, []).append(skip.cell)
    return found


def _about(number: PublishedNumber, experiments: Sequence[Experiment], cells: Mapping[str, Sequence[Cell]]) -> str:
    """The one it names; else of those that have its cells the one titled like its source, or the first."""
    if number.experiment:
        return number.experiment
    having = [one for one in experiments if any(_is_of(number, cell) for cell in cells[one.id])]
    titled = [one for one in having if one.title.split(":")[0] == number.source]
    return next((one.id for one in (*titled, *having)), ELSEWHERE)


def _is_of(number: PublishedNumber, cell: Cell) -> bool:
    """Whether a cell is one that the number is about, as far as stack, measure and where tell."""
    wanted = {**{name: (value,) for name, value in number.of.settings.items()}, **number.where}
    return (cell.stack in (number.of.stack, *number.of.also)
            and cell.measure == quantities.measure(number.quantity)
            and all(getattr(cell, name, None) in values for name, values in wanted.items()))


def tables(numbers: Numbers) -> Iterator[Table]:
    """Theirs, ours, and how they compare; none without numbers."""
    if numbers:
        lines = tuple((*claim_text.beside(number), _ours_to_theirs(number)) for number in numbers)
        yield plain("Published, and the same here",
                    ("source", "of", "quantity", "published", "here", "here / published"), lines,
                    "On other hardware; seconds here are of one step unless the quantity says otherwise.")
    contradicted = tuple((number.source, number.id, number.contradiction) for number in numbers if number.contradiction)
    if contradicted:
        yield plain("Published numbers that do not follow from the paper's others", ("source", "number", "arithmetic"),
                    contradicted)


def _ours_to_theirs(number: PublishedNumber) -> str:
    if number.ours is None or not number.value or number.unit == "mpe" or number.ours / number.value <= 0:
        return ""
    return formatting.ratio(number.ours / number.value, None)


def charts(numbers: Numbers) -> Iterator[Chart]:
    """A chart a unit, of the numbers that have one here; ratios are read against 1."""
    for unit in dict.fromkeys(number.unit for number in numbers):
        both = [number for number in numbers if number.unit == unit and (number.ours or 0) > 0 and number.value > 0]
        kept = fitting([_group(number) for number in both])
        if kept:
            yield Dots("Published and here" + cut(len(kept), len(both)), _AXES.get(unit, unit), kept,
                       reference=1.0 if unit == "x" else None)


def _group(number: PublishedNumber) -> tuple[str, tuple[Mark, ...]]:
    source, whose, quantity, theirs, here, *_ = claim_text.beside(number)
    return f"{source}: {quantity}, {whose}", (
        Mark("published", THEIRS, number.value, None, None, theirs),
        Mark("here", OURS, number.ours or 0.0, None, None, here))
