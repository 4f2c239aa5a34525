"""What changes within a run: accuracy and loss by epoch and by step, and the seconds of steps, as charts. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner import formatting
from runner.analysis import curves
from runner.analysis.stats import median
from runner.analysis.summary_format import PublishedNumber, Result
from runner.cells import comparison_key, label
from runner.grouping import grouped
from runner.report.claims import wording
from runner.report.document import Chart, Curve, Curves, Polyline, Strip, Strips
from runner.report.figures import SWITCHES
from runner.results.rows import Row, by_comparison
from runner.results.runs import Run
from runner.results.turns import counting
from workloads.spec.cell import DEFAULTS, Cell
from workloads.spec.measures import RATED

_MOST_LEARNING = 6             # comparisons whose losses are drawn; the tables have all
_LEAST_STEPS = 10              # that make a curve of losses
MOST_CHARTS = 24               # in a section
_MOST_RUNS = 40                # of a strip; of more every second one is drawn, or third, ...
_MOST_WARM, _MOST_TIMED = 32, 96     # points of a run; more steps are put together, their median shown
_LEAST_WARM = 8                # of a warm-up; above it as many as make it no rougher than the timed part
_ROOM = 1.3                    # above what nearly all timed steps take
_LEAST_ROOM = 1.8              # above their median
_NEARLY_ALL = 98               # per cent
_LONGEST = 1e9                 # seconds of a run; what says more was not measured


# ---- learning

def learning_charts(rows: Sequence[Row], series: Mapping[str, int], numbers: Sequence[PublishedNumber]
                    ) -> Iterator[Chart]:
    """Accuracy, or loss without it, against epoch and against time: two charts of what is trained alike.

    What a paper compares in one figure, such as optimizers, shares a chart. The accuracies that it prints, each the
    best of all epochs, are levels in the first.
    """
    trained = [row for row in rows if any(len(run.epochs) > 1 for run in row.ok_runs)]
    for group in list(grouped(trained, lambda row: comparison_key(_unswitched(row.cell))).values())[:_MOST_LEARNING]:
        has_accuracy = all(epoch.accuracy is not None for row in group for run in row.ok_runs for epoch in run.epochs)
        what, is_zero_based = ("accuracy", False) if has_accuracy else ("loss", True)
        told = [name for name in SWITCHES if len({getattr(row.cell, name) for row in group}) > 1]
        title = label(_unswitched(group[0].cell)) if told else group[0].comparison.label
        names = [" ".join([row.cell.stack, *(str(getattr(row.cell, name)) for name in told)]) for row in group]
        signs = [index if told else series.get(row.cell.stack, 0) for index, row in enumerate(group)]
        for axis in ("epoch", "seconds of training"):
            drawn = tuple(_curve(row, name, what, axis, sign)
                          for row, name, sign in zip(group, names, signs, strict=True))
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


def loss_charts(rows: Sequence[Row], baseline: str, series: Mapping[str, int]) -> Iterator[Chart]:
    """Losses, and how far they lie apart: two charts a comparison of trainings without warm-up."""
    told = [row for row in rows if row.cell.measure == "train" and not row.cell.warmup]
    groups = [group for group in curves.pairs(told, baseline) if len(group[0].own) >= _LEAST_STEPS]
    for group in groups[:_MOST_LEARNING]:
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


def _curve(row: Row, name: str, what: str, axis: str, sign: int) -> Curve:
    """The median over runs at each epoch, and the span; against time, at the median of the runs' times."""
    runs = [run.epochs for run in row.ok_runs if run.epochs]
    count = min(map(len, runs))
    values = np.array([[getattr(epoch, what) for epoch in epochs[:count]] for epochs in runs], float)
    times = np.cumsum([[epoch.train_seconds for epoch in epochs[:count]] for epochs in runs], axis=1)
    x = np.arange(1, count + 1) if axis == "epoch" else np.median(times, axis=0)
    band = [_floats(values.min(axis=0)), _floats(values.max(axis=0))] if len(runs) > 1 else []
    return Curve(name, sign, _floats(x), _floats(np.median(values, axis=0)), *band)


def _floats(values: NDArray[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


# ---- seconds of steps

class _Steps(NamedTuple):
    """The steps of a run in their order, the warm-up first."""

    samples: NDArray[Any]      # of each its end, duration and seconds a step; steps measured together are one
    first: float | None        # seconds of the first step, at whose end time begins where they are known
    warmup: int                # how many of them are the warm-up

    @property
    def begin(self) -> float:
        """When the timed steps begin."""
        return float(self.samples[0, self.warmup - 1]) if self.warmup else 0.0


def _steps(row: Row, run: Run) -> _Steps:
    """The run's steps; only where each was waited for are the warm-up's own seconds those of single steps."""
    worker = run.first
    warm, counts = worker.warmup_seconds, np.ones(len(worker.warmup_seconds))
    if len(warm) and row.cell.sync != "each":
        warm, counts = warm.mean(keepdims=True), np.array([float(len(warm))])
    seconds = np.concatenate([warm, worker.step_seconds])
    counts = np.concatenate([counts, worker.curve_steps])
    durations, first = seconds * counts, float(seconds[0]) if counts[0] == 1 else None
    return _Steps(np.stack([np.cumsum(durations) - (first or 0.0), durations, seconds]), first, len(warm))


def step_charts(rows: Sequence[Row], results: Mapping[str, Result], series: Mapping[str, int]
                ) -> Iterator[tuple[str, Chart]]:
    """(key, chart) of each comparison of timed steps, a strip for each stack that ended ok; results by their keys."""
    groups = list(by_comparison(row for row in rows if row.cell.measure in RATED and row.ok_runs).values())
    for index, group in enumerate(groups[:MOST_CHARTS]):
        rates = {row.key: result.rate_per_worker or 0.0 for row in group if (result := results.get(row.key))}
        ordered = sorted(group, key=lambda row: -rates.get(row.key, 0.0))              # as bars and tables are
        strips = tuple(strip for row in ordered for strip in _strip(row, results.get(row.key), series))
        if strips:
            is_cut = index == MOST_CHARTS - 1 and len(groups) > MOST_CHARTS
            shortened = f" (drawn are the first {MOST_CHARTS} of {len(groups):,} comparisons)" if is_cut else ""
            yield group[0].comparison.key, Strips(
                f"{group[0].comparison.label}: time of a step over the time of a run, each stack on scales of its own"
                + shortened, strips)


def _strip(row: Row, result: Result | None, series: Mapping[str, int]) -> Iterator[Strip]:
    step = result.step_seconds if result else None
    runs = row.ok_runs[::-(-len(row.ok_runs) // _MOST_RUNS)]
    with np.errstate(over="ignore"):
        every = [(run, _steps(row, run)) for run in runs if len(run.first.step_seconds)]
        times = [(run, one) for run, one in every
                 if one.samples[1].sum() < _LONGEST and np.median(one.samples[2, one.warmup:]) > 0]
    if not times:
        return
    warm, timed = zip(*(_lines(one) for _, one in times), strict=True)
    seconds = np.concatenate([line[1] for line in timed])
    top = max(_ROOM * float(np.percentile(seconds, _NEARLY_ALL)), _LEAST_ROOM * float(np.median(seconds)))
    first = median([one.first for _, one in times if one.first is not None])
    joined = tuple(map(_shown, warm, timed))
    yield Strip(
        row.cell.stack, series.get(row.cell.stack, 0), joined if len(joined) > 1 else (),
        _shown(_median(warm), _median(timed)), float(np.median([one.begin for _, one in times])), top * 1000,
        f"first step {formatting.seconds(first)}" if first is not None and first > top else "",
        "; ".join(filter(None, ("" if step is None else f"{formatting.milliseconds(step)} a step",
                                "" if len(runs) == len(row.ok_runs) else f"{len(runs)} of {len(row.ok_runs):,} runs"))),
        tuple(span for run, one in times for span in _disturbed(run, one)))


def _disturbed(run: Run, times: _Steps) -> Iterator[tuple[float, float]]:
    """From when to when each disturbed turn was, on the curve's axis."""
    sizes = run.first.turn_samples
    if sum(sizes) != times.samples.shape[1] - times.warmup:
        return
    ends = np.array([times.begin, *times.samples[0, times.warmup:]])[np.cumsum([0, *sizes])]       # of turns
    for counts, span in zip(counting(run.first.turns), pairwise(_floats(ends)), strict=True):
        if not counts:
            yield span


def _shown(*parts: NDArray[Any]) -> Polyline:
    """The parts as one line, in milliseconds."""
    x, y = np.hstack(parts)
    return Polyline(_floats(x), _floats(y * 1000))


def _lines(times: _Steps) -> tuple[NDArray[Any], NDArray[Any]]:
    """The points of the warm-up and of the timed part, in seconds."""
    begin = 0 if times.first is None else min(1, times.warmup)       # the first sample that is drawn
    warm, timed = times.samples[:, begin:times.warmup], times.samples[:, times.warmup:]
    as_smooth = _MOST_TIMED * times.warmup // max(timed.shape[1], 1)
    return _points(warm, min(max(as_smooth, _LEAST_WARM), _MOST_WARM)), _points(timed, _MOST_TIMED)


def _points(samples: NDArray[Any], most: int) -> NDArray[Any]:
    """At most `most` points, each at the middle of the steps that it stands for; a single sample is a level line."""
    ends, durations, seconds = samples
    if len(seconds) < 2:
        return np.stack([np.concatenate([np.maximum(ends - durations, 0.0), ends]), np.tile(seconds, 2)])
    size = -(-len(seconds) // most)
    whole = np.pad(np.stack([np.maximum(ends - durations / 2, 0.0), seconds]), ((0, 0), (0, -len(seconds) % size)),
                   constant_values=np.nan)
    return np.asarray(np.nanmedian(whole.reshape(2, -1, size), axis=2))      # the last one may be of fewer


def _median(lines: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The median line, taken at equal shares of each line's points, whose numbers may differ."""
    told = [line for line in lines if line.size]
    if not told:
        return np.empty((2, 0))
    shares = np.linspace(0, 1, max(line.shape[1] for line in told))
    return np.asarray(np.median([[np.interp(shares, np.linspace(0, 1, len(values)), values) for values in line]
                                 for line in told], axis=0))
