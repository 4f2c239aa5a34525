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


class _Steps(NamedTuple):
    """The steps of a run in their order, the warm-up first."""

    seconds: Samples           # of a step; of steps that were measured together, their mean
    durations: Samples         # of the steps that each of them stands for
    ends: Samples              # seconds from the end of the first step, where that is known by itself
    first: float | None        # seconds of the first step
    warmup: int                # how many of them are the warm-up

    @property
    def begin(self) -> float:
        """When the timed steps begin."""
        return float(self.ends[self.warmup - 1]) if self.warmup else 0.0


def _steps(row: Row, run: Run) -> _Steps:
    """The run's steps; only where each was waited for are the warm-up's own seconds those of single steps."""
    worker = run.first
    warm, counts = worker.warmup_seconds, np.ones(len(worker.warmup_seconds))
    if len(warm) and row.cell.sync != "each":
        warm, counts = warm.mean(keepdims=True), np.array([float(len(warm))])
    seconds = np.concatenate([warm, worker.step_seconds])
    counts = np.concatenate([counts, worker.curve_steps])
    durations, first = seconds * counts, float(seconds[0]) if counts[0] == 1 else None
    return _Steps(seconds, durations, np.cumsum(durations) - (first or 0.0), first, len(warm))


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
    with np.errstate(over="ignore"):
        every = [(run, _steps(row, run)) for run in runs if len(run.first.step_seconds)]
        times = [(run, one) for run, one in every
                 if one.durations.sum() < _LONGEST and np.median(one.seconds[one.warmup:]) > 0]
    if not times:
        return
    warm, timed = zip(*(_lines(one) for _, one in times), strict=True)
    seconds = np.concatenate([line.y for line in timed])
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
    if sum(sizes) != len(times.seconds) - times.warmup:
        return
    ends = times.begin, *times.ends[times.warmup:]
    ends_of_turns = np.cumsum([0, *sizes])
    for counts, begin, end in zip(counting(run.first.turns), ends_of_turns[:-1], ends_of_turns[1:], strict=True):
        if not counts:
            yield float(ends[begin]), float(ends[end])


def _shown(one: Line, other: Line) -> Line:
    """Both lines as one, in milliseconds."""
    return Line(one.x + other.x, tuple(value * 1000 for value in one.y + other.y))


def _lines(times: _Steps) -> tuple[Line, Line]:
    """The points of the warm-up and of the timed part, in seconds."""
    warmup = times.warmup
    begin = 0 if times.first is None else min(1, warmup)       # the first sample that is drawn
    as_smooth = _MOST_TIMED * warmup // max(len(times.ends) - warmup, 1)
    warm_points = min(max(as_smooth, _LEAST_WARM), _MOST_WARM)
    one, other = (_points(times.ends[part], times.durations[part], times.seconds[part], most) for part, most in (
        (slice(begin, warmup), warm_points), (slice(warmup, None), _MOST_TIMED)))
    return one, other


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
