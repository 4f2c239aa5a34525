"""Seconds a step over the time of a run: a chart a comparison, which shows who was warm and steady. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from runner import formatting
from runner.analysis.stats import median
from runner.analysis.summary_format import Result
from runner.report.document import Chart, Line, Strip, Strips
from runner.results.rows import Row, by_comparison
from runner.results.runs import Run, Samples
from runner.results.turns import counting
from workloads.spec.measures import RATED

MOST_CHARTS = 24              # in a section
_MOST_RUNS = 40               # of a strip; of more every second one is drawn, or third, ...
_MOST_WARM, _MOST_TIMED = 32, 96     # points of a run; more steps are put together, their median shown
_LEAST_WARM = 8                # of a warm-up; above it as many as make it no rougher than the timed part
_X_AXIS = "seconds since the first step (thin: a run, thick: their median, red: disturbed turns)"
_ROOM = 1.3                    # above what nearly all timed steps take
_LEAST_ROOM = 1.8              # above their median
_NEARLY_ALL = 98               # per cent
_LONGEST = 1e9                 # seconds of a run; what says more was not measured


class StepTimes(NamedTuple):
    """The steps of a run in their order, the warm-up first."""

    seconds: Samples           # of a step; of steps that were measured together, their mean
    counts: Samples            # how many steps each of them stands for
    warmup: int                # how many of them are the warm-up


class _Curve(NamedTuple):
    """A run's points in seconds, from the end of the first step where that is known by itself."""

    warmup: Line
    timed: Line
    first: float | None        # seconds of the first step
    begin: float               # of the timed steps


def step_times(row: Row, run: Run) -> StepTimes | None:
    """The run's steps; None where nothing is timed.

    Only where every step was waited for are the warm-up's own seconds those of single steps.
    """
    worker = run.first
    warm, timed = worker.warmup_seconds, worker.step_seconds
    if not len(timed):
        return None
    counts = np.array(worker.curve_steps, dtype=np.float64)
    if row.cell.sync == "each" or not len(warm):
        warm_counts = np.ones(len(warm))
    else:
        warm, warm_counts = np.array([warm.mean()]), np.array([float(len(warm))])
    return StepTimes(np.concatenate([warm, timed]), np.concatenate([warm_counts, counts]), len(warm))


def charts(rows: Sequence[Row], results: Mapping[str, Result], series: Mapping[str, int]
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
                + shortened, _X_AXIS, "ms", strips)


def _strip(row: Row, result: Result | None, series: Mapping[str, int]) -> Iterator[Strip]:
    step = result.step_seconds if result else None
    runs = row.ok_runs[::-(-len(row.ok_runs) // _MOST_RUNS)]
    times = [(run, one) for run in runs if (one := step_times(row, run))]
    with np.errstate(over="ignore"):
        curves = [_curve(one) for _, one in times if (one.seconds * one.counts).sum() < _LONGEST
                  and np.median(one.seconds[one.warmup:]) > 0]
    if not curves:
        return
    timed = np.concatenate([curve.timed.y for curve in curves])
    top = max(_ROOM * float(np.percentile(timed, _NEARLY_ALL)), _LEAST_ROOM * float(np.median(timed)))
    first = median([curve.first for curve in curves if curve.first is not None])
    joined = tuple(_shown(curve.warmup, curve.timed) for curve in curves)
    warm_median, timed_median = (_median([getattr(curve, part) for curve in curves]) for part in ("warmup", "timed"))
    yield Strip(
        row.cell.stack, series.get(row.cell.stack, 0), joined if len(joined) > 1 else (),
        _shown(warm_median, timed_median),
        float(np.median([curve.begin for curve in curves])), top * 1000,
        f"first step {formatting.seconds(first)}" if first is not None and first > top else "",
        "; ".join(filter(None, ("" if step is None else f"{formatting.milliseconds(step)} a step",
                                "" if len(runs) == len(row.ok_runs) else f"{len(runs)} of {len(row.ok_runs):,} runs"))),
        tuple(span for run, one in times for span in _disturbed(run, one)))


def _disturbed(run: Run, times: StepTimes) -> Iterator[tuple[float, float]]:
    """From when to when each disturbed turn was, on the curve's axis."""
    sizes = run.first.turn_samples
    if sum(sizes) != len(times.seconds) - times.warmup:
        return
    first = float(times.seconds[0]) if times.counts[0] == 1 else 0.0
    ends = np.concatenate([[0.0], np.cumsum(times.seconds * times.counts)]) - first
    ends_of_turns = times.warmup + np.cumsum([0, *sizes])
    for counts, begin, end in zip(counting(run.first.turns), ends_of_turns[:-1], ends_of_turns[1:], strict=True):
        if not counts:
            yield max(0.0, float(ends[begin])), float(ends[end])


def _shown(one: Line, other: Line) -> Line:
    """Both lines as one, in milliseconds."""
    return Line(one.x + other.x, tuple(value * 1000 for value in one.y + other.y))


def _curve(times: StepTimes) -> _Curve:
    durations, warmup = times.seconds * times.counts, times.warmup
    first = float(times.seconds[0]) if times.counts[0] == 1 else None
    begin = 0 if first is None else min(1, warmup)       # the first sample that is drawn
    ends = np.cumsum(durations) - (first or 0.0)
    as_smooth = _MOST_TIMED * warmup // max(len(ends) - warmup, 1)
    warm_points = min(max(as_smooth, _LEAST_WARM), _MOST_WARM)
    parts = (slice(begin, warmup), warm_points), (slice(warmup, None), _MOST_TIMED)
    drawn = [_points(ends[part], durations[part], times.seconds[part], most) for part, most in parts]
    return _Curve(drawn[0], drawn[1], first, float(ends[warmup - 1]) if warmup else 0.0)


def _points(ends: Samples, durations: Samples, seconds: Samples, most: int) -> Line:
    """At most `most` points, each at the middle of the steps that it stands for; a single sample is a level line."""
    if not len(seconds):
        return Line((), ())
    if len(seconds) == 1:
        value = float(seconds[0])
        return Line((max(float(ends[0] - durations[0]), 0.0), float(ends[0])), (value, value))
    size = -(-len(seconds) // most)
    middles = np.maximum(ends - durations / 2, 0.0)
    return Line(*(tuple(_medians(values, size)) for values in (middles, seconds)))


def _medians(values: Samples, size: int) -> list[float]:
    """The median of every `size` values in a row; the last median may be of fewer."""
    whole = len(values) // size * size
    medians = values if size == 1 else np.median(values[:whole].reshape(-1, size), axis=1)
    rest = [float(np.median(values[whole:]))] if whole < len(values) else []
    return [*medians.tolist(), *rest]


def _median(lines: Sequence[Line]) -> Line:
    """The median line, taken at equal shares of each line's points, whose numbers may differ."""
    told = [line for line in lines if line.x]
    if not told:
        return Line((), ())
    shares = np.linspace(0, 1, max(len(line.x) for line in told))
    x, y = (np.median([np.interp(shares, np.linspace(0, 1, len(values)), values) for values in lines], axis=0)
            for lines in zip(*told, strict=True))
    return Line(tuple(x.tolist()), tuple(y.tolist()))
