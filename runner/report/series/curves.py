"""Learning curves: accuracy and loss against epochs, time and steps, a band over runs. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.analysis import curves
from runner.analysis.summary_format import PublishedNumber
from runner.cells import comparison_key, label
from runner.grouping import grouped
from runner.report.claims import wording
from runner.report.comparisons import SWITCHES
from runner.report.document import Chart, Curve, Curves
from runner.results.rows import Row
from workloads.spec.cell import DEFAULTS, Cell

_MOST_CHARTS = 6               # comparisons that are drawn; the tables have all
_LEAST_STEPS = 10              # that make a curve


def charts(rows: Sequence[Row], series: Mapping[str, int], numbers: Sequence[PublishedNumber] = ()) -> Iterator[Chart]:
    """Accuracy, or loss without it, against epoch and against time: two charts of what is trained alike.

    What a paper compares in one figure, such as optimizers, shares a chart. The accuracies that it prints, each the
    best of all epochs, are levels in the first.
    """
    trained = [row for row in rows if any(len(run.epochs) > 1 for run in row.ok_runs)]
    for group in list(grouped(trained, lambda row: comparison_key(_unswitched(row.cell))).values())[:_MOST_CHARTS]:
        has_accuracy = all(epoch.accuracy is not None for row in group for run in row.ok_runs for epoch in run.epochs)
        what, is_zero_based = ("accuracy", False) if has_accuracy else ("loss", True)
        told = [name for name in SWITCHES if len({getattr(row.cell, name) for row in group}) > 1]
        signs = {row.key: index if told else series.get(row.cell.stack, 0) for index, row in enumerate(group)}
        title = label(_unswitched(group[0].cell)) if told else group[0].comparison.label
        for axis in ("epoch", "seconds of training"):
            drawn = tuple(_curve(row, what, axis, signs[row.key])._replace(
                name=" ".join([row.cell.stack, *(str(getattr(row.cell, name)) for name in told)])) for row in group)
            levels = list(_levels(group, drawn, numbers)) if axis == "epoch" and has_accuracy else []
            said = f"; published: {', '.join(text for _, text in levels)}" if levels else ""
            yield Curves(f"{title}: {what}, the median run and the span of all{said}", axis, what,
                         (*drawn, *(level for level, _ in levels)), is_zero_based)


def _levels(group: Sequence[Row], drawn: Sequence[Curve], numbers: Sequence[PublishedNumber]
            ) -> Iterator[tuple[Curve, str]]:
    """The best accuracy that the paper prints of a row of the group, as a level over the epochs here, and in words."""
    last = max(x for curve in drawn for x in curve.x)
    for number in numbers:
        if number.quantity == "accuracy" and number.to is None and number.unit == "%" and any(
                wording.is_of(number, number.of, row.cell) for row in group):
            differs = f"; here {'; '.join(number.differs)}" if number.differs else ""
            yield (Curve(f"published, {number.of}", len(drawn), (1.0, last), (number.value / 100,) * 2),
                   f"{wording.printed(number)} at best ({number.source}{differs})")


def step_charts(rows: Sequence[Row], baseline: str, series: Mapping[str, int]) -> Iterator[Chart]:
    """Losses, and how far they lie apart: two charts a comparison of trainings without warm-up."""
    told = [row for row in rows if row.cell.measure == "train" and not row.cell.warmup]
    groups = [group for group in curves.pairs(told, baseline) if len(group[0].own) >= _LEAST_STEPS]
    for group in groups[:_MOST_CHARTS]:
        name, to = group[0].row.comparison.label, group[0].to
        losses = [(to, group[0].steps, group[0].other), *((pair.row, pair.steps, pair.own) for pair in group)]
        yield Curves(f"{name}: loss", "step", "loss", tuple(_of_steps(*each, series) for each in losses))
        apart = tuple(_of_steps(pair.row, pair.steps, pair.distances(), series) for pair in group)
        if any(map(any, (curve.y for curve in apart))):        # else they are the same to the last bit
            yield Curves(f"{name}: how far from {to.cell.stack}'s loss, relative", "step", "difference", apart,
                         is_logarithmic=True)


def _of_steps(row: Row, steps: NDArray[Any], values: NDArray[Any], series: Mapping[str, int]) -> Curve:
    return Curve(row.cell.stack, series.get(row.cell.stack, 0), _floats(steps),
                 _floats(np.clip(values, -curves.FAR, curves.FAR)))


def _unswitched(cell: Cell) -> Cell:
    return cell._replace(**{name: DEFAULTS[name] for name in SWITCHES})


def _curve(row: Row, what: str, axis: str, sign: int) -> Curve:
    """The median over runs at each epoch, and the span; against time, at the median of the runs' times."""
    runs = [run.epochs for run in row.ok_runs if run.epochs]
    count = min(map(len, runs))
    values = np.array([[getattr(epoch, what) for epoch in epochs[:count]] for epochs in runs], float)
    times = np.cumsum([[epoch.train_seconds for epoch in epochs[:count]] for epochs in runs], axis=1)
    x = np.arange(1, count + 1) if axis == "epoch" else np.median(times, axis=0)
    has_band = len(runs) > 1
    return Curve(row.cell.stack, sign, _floats(x), _floats(np.median(values, axis=0)),
                 _floats(values.min(axis=0)) if has_band else (), _floats(values.max(axis=0)) if has_band else ())


def _floats(values: NDArray[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
