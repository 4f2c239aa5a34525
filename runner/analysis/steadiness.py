"""Whether the timed steps of a run were steady, from their seconds alone. Pure.

A run's rate depends on when one looks where it is not steady:
* its first steps take over three times the typical step and, together, more than 5 % of the run too much;
* the median of its first or last twentieth is more than half above that of the rest: a short start shows here whose
  bias is small, such as 5 of 100 steps at twice the time;
and where it drifts:
* two parts of it differ by more than noise does, and without the smaller the rate would differ by more than 5 %;
* a line through the parts changes by more than 7.5 % from end to end, and by more than noise would.
Whether a drift is the stack's or the machine's, only several runs can tell (runner/analysis/gate.py).
Steps are first put into 20 parts, in which one above twice the typical is cut off there, so that rare slow steps
(garbage collection, a timer) pass; the noise is told by how parts differ from their neighbours, and around the line.
Too short to tell is a run of fewer than 12 steps that differ by more than a tenth, of less than a quarter of a second,
or of noise so great that a jump of 7.5 % of the whole would be missed.

Simulated by `python -m tests.coverage` (docs/measurements.md has the table): starts of 5 to 30 of 100 steps at twice to
ten times the time are found in every run, a slope of 15 % in all at 5 % noise and in 93 of 100 at 10 %, where a test of
2 % false alarms that knew the noise would find 97. False alarms: 1.5 % at 10 % noise, none at 5 %; 4 to 5 % where
neighbours are correlated by 0.3 to 0.5 at 10 %, a third where they are by 0.9, which is a drift in all but name.
"""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from runner.results.values import Samples

LEAST_SECONDS = 0.25             # of all timed steps: shorter windows scatter by 4 % and more on a quiet host
_LEAST_STEPS = 12                # fewer have no parts
_FEW_STEPS = 5                   # fewer tell nothing
_ALIKE = 1.1                     # few steps are steady where none is longer than the shortest by more
_PARTS = 20
_LARGE = 3.0                     # of the typical step: as first steps are
_CUT_OFF = 2.0                   # of the typical step
_BIAS = 0.05                     # of the rate, that a start or a part may make
_JUMP_SIGMAS = 4.0
_END_SHARE, _LEAST_END = 20, 3   # a twentieth, and as few steps as have a median
_END = 1.5                       # of the rest's median
_SLOPE = 0.075                   # from end to end
_SLOPE_SIGMAS, _SLOPE_SIGMAS_FEW = 2.3, 3.2      # with few steps the noise itself is known badly
_MANY_STEPS = 40
_NOISE = 0.075                   # that a jump must not need to be seen
_MOVE = 1.128                    # mean difference of two neighbours over their deviation, as in control charts
_AT_ONCE = 4_000_000             # samples, so that many long runs do not fill the memory

Array = NDArray[np.float64]
Booleans = NDArray[np.bool_]


class Steadiness(StrEnum):
    """What a run's steps allow to say of its rate."""

    STEADY = "steady"
    SLOW_START = "slow start"            # its first steps stand out
    SLOW_END = "slow end"                # its last steps do, and the first ones do not
    TOO_SHORT = "too short to tell"
    DRIFTING = "drifting"                # two parts of it differ, or a line through it leads away
    COMPILED = "compiled"                # programs, within the timed steps; what a framework tells, and no step shows


def steadiness(seconds: Sequence[float] | Samples) -> Steadiness:
    """Whether the steps were steady, from the seconds of each in order."""
    return each([np.asarray(seconds, dtype=np.float64)])[0]


def each(runs: Sequence[Samples], totals: Sequence[float] | None = None) -> list[Steadiness]:
    """The steadiness of every run; runs of as many steps are looked at together.

    totals: the seconds of all timed steps of each run, where a value of it stands for more than one step.
    """
    if totals is None:
        with np.errstate(over="ignore"):
            totals = [float(np.sum(run)) for run in runs]
    judged = [Steadiness.TOO_SHORT] * len(runs)
    lengths: dict[int, list[int]] = {}
    for index, run in enumerate(runs):
        lengths.setdefault(len(run), []).append(index)
    for length, indexes in lengths.items():
        step = max(1, _AT_ONCE // max(1, length))
        for first in range(0, len(indexes), step):
            some = indexes[first:first + step]
            equal = _judged(np.array([runs[index] for index in some]), np.array([totals[index] for index in some]))
            for index, one in zip(some, equal, strict=True):
                judged[index] = one
    return judged


def drift(seconds: Sequence[float] | Samples) -> float:
    """The logarithm of the first half's mean step over the second half's, rare slow steps cut off; 0 of no steps."""
    steps = np.asarray(seconds, dtype=np.float64)
    half = len(steps) // 2
    typical = float(np.median(steps[half:])) if half else 0.0
    if not typical > 0 or not np.isfinite(steps).all():
        return 0.0
    steps = np.minimum(steps / typical, _CUT_OFF)
    return float(np.log(steps[:half].mean() / steps[-half:].mean()))


def _judged(seconds: Array, total: Array) -> list[Steadiness]:
    """The steadiness of runs with equally many steps; seconds: (runs, steps), total: (runs,)."""
    count = seconds.shape[1]
    if count < _FEW_STEPS:
        return [Steadiness.TOO_SHORT] * len(seconds)
    with np.errstate(all="ignore"):                      # steps of no time, or without end, are sorted out below
        if count < _LEAST_STEPS:
            none = np.zeros(len(seconds), bool)
            starts, ends, drifts, is_told = none, none, none, seconds.max(axis=1) <= _ALIKE * seconds.min(axis=1)
        else:
            starts, ends, drifts, is_told = _of_parts(seconds / np.median(seconds[:, count // 2:], axis=1)[:, None])
        is_told &= (total >= LEAST_SECONDS) & np.isfinite(total)
    return [Steadiness.SLOW_START if start else Steadiness.SLOW_END if end else Steadiness.DRIFTING if drifting
            else Steadiness.STEADY if told else Steadiness.TOO_SHORT
            for start, end, drifting, told
            in zip(starts.tolist(), ends.tolist(), drifts.tolist(), is_told.tolist(), strict=True)]


def _of_parts(steps: Array) -> tuple[Booleans, Booleans, Booleans, Booleans]:
    """For each run: whether its start is slow, or its end; whether it drifts, and whether it is long enough to tell.

    steps: (runs, steps), each divided by the run's typical step.
    """
    levels = _levels(steps)
    noise = np.abs(np.diff(levels, axis=1)).mean(axis=1) / _MOVE
    is_known = np.isfinite(levels).all(axis=1)
    starts, ends = _slow_ends(steps)
    starts |= _has_large_start(steps)
    drifts = _jumps(levels, noise) | _drifts(
        levels, noise, _SLOPE_SIGMAS if steps.shape[1] >= _MANY_STEPS else _SLOPE_SIGMAS_FEW)
    is_told = _JUMP_SIGMAS * noise / np.sqrt(levels.shape[1]) <= _NOISE
    return starts & is_known, ends & is_known, drifts & is_known, is_known & is_told


def _levels(steps: Array) -> Array:
    """(runs, parts): the mean of each part, rare slow steps cut off."""
    count = steps.shape[1]
    parts = min(_PARTS, count // 2)
    ends = np.arange(parts + 1) * count // parts
    levels: Array = np.add.reduceat(np.minimum(steps, _CUT_OFF), ends[:-1], axis=1) / np.diff(ends)
    return levels


def _has_large_start(steps: Array) -> Booleans:
    half = steps[:, :steps.shape[1] // 2]
    lead = np.logical_and.accumulate(half > _LARGE, axis=1)
    is_large: Booleans = np.where(lead, half - 1, 0.0).sum(axis=1) > _BIAS * steps.sum(axis=1)
    return is_large


def _slow_ends(steps: Array) -> tuple[Booleans, Booleans]:
    """Whether a run's first steps are much slower than the rest, and whether its last ones are."""
    share = max(_LEAST_END, -(-steps.shape[1] // _END_SHARE))
    return (np.median(steps[:, :share], axis=1) > _END * np.median(steps[:, share:], axis=1),
            np.median(steps[:, -share:], axis=1) > _END * np.median(steps[:, :-share], axis=1))


def _jumps(levels: Array, noise: Array) -> Booleans:
    """Whether a run can be cut in two parts whose means differ."""
    parts = levels.shape[1]
    before = np.arange(1, parts)
    after = parts - before
    sums = np.cumsum(levels, axis=1)
    jump = np.abs(sums[:, :-1] / before - (sums[:, -1:] - sums[:, :-1]) / after)
    is_large = jump * np.minimum(before, after) / parts > _BIAS
    is_clear = jump > _JUMP_SIGMAS * noise[:, None] * np.sqrt(1 / before + 1 / after)
    has_jump: Booleans = (is_large & is_clear).any(axis=1)
    return has_jump


def _drifts(levels: Array, noise: Array, sigmas: float) -> Booleans:
    """Whether the line through the means of a run's parts has a slope."""
    parts = levels.shape[1]
    away = np.arange(parts) - (parts - 1) / 2
    spread = float(away @ away)
    means = levels.mean(axis=1)
    slopes = levels @ away / spread
    rest = levels - means[:, None] - slopes[:, None] * away
    around = np.sqrt((rest**2).sum(axis=1) / (parts - 2))
    error = np.maximum(around, noise) / np.sqrt(spread)
    has_drift: Booleans = (np.abs(slopes) * parts > _SLOPE * means) & (np.abs(slopes) > sigmas * error)
    return has_drift
