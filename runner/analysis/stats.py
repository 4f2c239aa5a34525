"""Statistics over runs, for 3 to 20 of them: pure functions of rates.

The unit of replication is the run (a fresh container), never the step. An interval is a smoothed studentised bootstrap
over runs, on logarithms: runs are drawn with replacement, each shifted by normal noise of Silverman's width
(1.06 s n^(-1/5)), and the quantiles of (mean* - mean) / s* are laid around the mean with the runs' own s. The draws
for n runs are made once, from a constant seed: the same ratio has the same interval wherever it stands, and no verdict
can be had by another seed.

Why not the percentile bootstrap (2026-11-21): no interval that stays inside the data can cover 95 % with few runs; the
smallest and the largest of n hold the median with probability 1 - 2^(1 - n), 75 % at n = 3. The studentised bootstrap
without noise has endless intervals at n = 3, where 3 of 27 draws are one run three times. Measured coverage in per
cent, 10,000 simulated sessions each:
    runs                                       3     4     5     7    10    20
    normal, lognormal                       95.5  95.2  95.1  94.9  95.0  95.2
    logarithms of Student's t, 3 degrees    96.6  96.0  95.6  95.7  94.4  93.8
    uniform                                 93.4  93.4  94.6  95.4  96.0  95.9
    one run in ten up to 10 % slower        95.4  95.2  95.1  94.0  93.7  93.6
    exponential tail to one side            89.8  89.6  89.5  90.6  92.1  94.0
    percentile bootstrap, normal            75    80    84    88    90    92
With more than 200 runs the interval is Student's.
A strong skew is out of reach of few runs. A stack against itself is called faster or slower one time in twenty, with 3
rounds as with 10 (tests/unit/test_stats.py).
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ByRound = Mapping[int, float]   # rates of one stack

CONFIDENCE = 0.95
LEAST_RUNS = 3
RESAMPLES = 10_000              # with another seed an interval's end would move by 2 to 4 % of the half-width
_SEED = 20261121
# hyperfine's; the usual 3.5 names a run in 20 % of sessions with five runs of plain normal noise, 10 in 3 %
OUTLIER_SCORE = 10.0
MOST_RESAMPLED = 200            # runs; the mean of more is near enough to normal, and their draws fill the memory
_AT_ONCE = 8                    # groups, so that the resamples of one go stay in a CPU's cache
_THREADS = 2                    # that draw at once


class Interval(NamedTuple):
    """The ends of a 95 % interval."""

    low: float
    high: float


class Ratio(NamedTuple):
    """How many times as fast one stack is as another, from the rounds that both have."""

    value: float | None          # geometric mean over the pairs; None without any
    interval: Interval | None    # None with fewer than LEAST_RUNS pairs
    pairs: int


class Verdict(StrEnum):
    """What a ratio's interval allows to say."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    TOO_FEW = "too few rounds"
    NO_DATA = "no data"
    BASELINE = "baseline"


def verdict(ratio: Ratio) -> Verdict:
    """Faster or slower only where the interval excludes 1."""
    if ratio.value is None:
        return Verdict.NO_DATA
    if ratio.interval is None:
        return Verdict.TOO_FEW
    if ratio.interval.low > 1:
        return Verdict.FASTER
    return Verdict.SLOWER if ratio.interval.high < 1 else Verdict.NO_DIFFERENCE


def median(values: Sequence[float] | Array) -> float | None:
    """The median; None of nothing. Ten times as fast as numpy's on the short series that runs are."""
    ordered = values.copy() if isinstance(values, np.ndarray) else list(values)
    ordered.sort()
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2 if len(ordered) else None


def geometric_mean(values: Sequence[float]) -> float | None:
    """The geometric mean; None of nothing."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def outliers(values: Sequence[float]) -> list[int]:
    """Positions whose modified z-score (Iglewicz and Hoaglin, 1993) is above OUTLIER_SCORE: named, never removed."""
    if len(values) < LEAST_RUNS:
        return []
    middle = median(values) or 0.0
    away = [abs(value - middle) for value in values]
    scale = 1.4826 * (median(away) or 0.0) or 1.2533 * sum(away) / len(away)  # the second where most runs are equal
    return [place for place, distance in enumerate(away) if distance > OUTLIER_SCORE * scale] if scale else []


def ratios(pairs: Sequence[tuple[ByRound, ByRound]]) -> list[Ratio]:
    """The Ratio of each (rates of one stack, rates of the other), both by round.

    Only rounds that both have count, and each round gives one ratio, so that a drift over the session cancels.
    """
    quotients = [np.array([one[index] / other[index] for index in sorted(one.keys() & other.keys())])
                 for one, other in pairs]
    found = intervals(quotients)
    return [Ratio(geometric_mean(values.tolist()), interval, len(values))
            for values, interval in zip(quotients, found, strict=True)]


def unpaired(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[Ratio]:
    """The Ratio of each (values of one, values of the other) that were not measured in the same rounds.

    The value is the ratio of the geometric means. For the interval each side is drawn on its own, and the difference of
    the mean logarithms is divided by Welch's standard error, so that neither numbers nor spreads need be alike. `pairs`
    says how many runs the smaller side has. Simulated coverage, as of Welch's own t interval: 94 to 97 % with as many
    runs on both sides; 91 % where 3 runs with four times the spread stand against 10.
    """
    return [_unpaired(np.log(np.asarray(one)), np.log(np.asarray(other))) for one, other in pairs]


def _unpaired(one: Array, other: Array) -> Ratio:
    least = min(len(one), len(other))
    if not least:
        return Ratio(None, None, 0)
    value = math.exp(one.mean() - other.mean())
    return Ratio(value, _welch(one, other) if least >= LEAST_RUNS else None, least)


def _welch(one: Array, other: Array) -> Interval:
    """The ends for the ratio of two groups of logarithms."""
    difference = one.mean() - other.mean()
    shares = [group.var(ddof=1) / len(group) for group in (one, other)]
    error = math.sqrt(sum(shares))
    if max(len(one), len(other)) > MOST_RESAMPLED:
        return _welch_student(difference, error, shares, (len(one), len(other)))
    # both ways to deal two sets of draws to the groups, so that the ratio turned round has its interval turned round
    pivots = np.concatenate([_welch_pivots(one, other, sides) for sides in ((0, 1), (1, 0))])
    low, high = map(float, _tails(pivots))
    return Interval(math.exp(difference - high * error), math.exp(difference - low * error))


def _welch_student(difference: float, error: float, shares: Sequence[float], sizes: tuple[int, int]) -> Interval:
    """Welch's own interval, by Student's distribution."""
    spread = sum(share**2 / (size - 1) for share, size in zip(shares, sizes, strict=True))
    half = _quantile(error**4 / spread) * error if spread else 0.0
    return Interval(math.exp(difference - half), math.exp(difference + half))


def _welch_pivots(one: Array, other: Array, sides: tuple[int, int]) -> Array:
    """(RESAMPLES,): the resampled differences over their own standard errors."""
    means, variances = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for logs, side, sign in ((one, sides[0], 1), (other, sides[1], -1)):
        spread = 0.0 if np.ptp(logs) == 0 else float(logs.std(ddof=1))
        standard = (logs - logs.mean())[None, :] / (spread or 1.0)
        drawn, squares = _moments(standard, _resamples(len(logs), side), np.empty((3, 1, RESAMPLES)))
        means += sign * spread * drawn[0]
        variances += spread**2 * squares[0] / (len(logs) - 1)
    errors = np.sqrt(variances)
    return np.divide(means, errors, out=np.zeros(RESAMPLES), where=errors > 0)


def intervals(groups: Sequence[Sequence[float] | Array]) -> list[Interval | None]:
    """For each group of positive values a 95 % interval of the typical one; None with fewer than LEAST_RUNS.

    The typical value is the exponential of the mean logarithm, the median of what scatters evenly on that scale.
    """
    found: list[Interval | None] = [None] * len(groups)
    sizes: dict[int, list[int]] = {}
    for place, group in enumerate(groups):
        if LEAST_RUNS <= len(group) <= MOST_RESAMPLED:
            sizes.setdefault(len(group), []).append(place)
        elif len(group) > MOST_RESAMPLED:
            found[place] = _student(group)
    with ThreadPoolExecutor(_THREADS) as pool:           # numpy lets other threads run while it works
        for size, places in sorted(sizes.items()):
            logs = np.log(np.array([groups[place] for place in places], dtype=np.float64))
            shares = pool.map(partial(_all_ends, resamples=_resamples(size)), np.array_split(logs, _THREADS))
            for place, (low, high) in zip(places, np.exp(np.concatenate(list(shares))).tolist(), strict=True):
                found[place] = Interval(low, high)
    return found


def _quantile(degrees: float) -> float:
    """Student's, at the upper end of CONFIDENCE."""
    from scipy.special import stdtrit  # a quarter of the time that every command would take to start

    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))


def _student(group: Sequence[float] | Array) -> Interval:
    """Student's interval of the mean logarithm."""
    logs = np.log(np.asarray(group, dtype=np.float64))
    half = _quantile(len(logs) - 1) * float(logs.std(ddof=1)) / math.sqrt(len(logs))
    return Interval(math.exp(logs.mean() - half), math.exp(logs.mean() + half))


class _Resamples(NamedTuple):
    """Draws of n runs with noise, as matrices (run, resample), so that all groups of n runs share one product."""

    counts: Array                # how often a run was drawn, over n
    noises: Array                # the sum of the noise on it, doubled, over n
    noise_means: Array           # (resample,) over the n draws
    noise_squares: Array         # (resample,) mean of squares


@lru_cache(maxsize=16)
def _resamples(size: int, side: int = 0) -> _Resamples:
    """side: 1 are other draws than 0's, for a second group beside the first."""
    random = np.random.default_rng([_SEED, size, *[side] * (side > 0)])
    drawn = np.tile(random.integers(0, size, (RESAMPLES // 2, size)), (2, 1))
    half = random.standard_normal((RESAMPLES // 2, size)) * 1.06 * size**-0.2
    noise = np.concatenate([half, -half])      # so that "a over b" and "b over a" get the same verdict
    counts, noises = np.zeros((size, RESAMPLES)), np.zeros((size, RESAMPLES))
    resample = np.arange(RESAMPLES)[:, None]
    np.add.at(counts, (drawn, resample), 1 / size)
    np.add.at(noises, (drawn, resample), 2 * noise / size)
    return _Resamples(counts, noises, noise.mean(axis=1), (noise**2).mean(axis=1))


def _all_ends(logs: Array, resamples: _Resamples) -> Array:
    """(groups, 2): the ends for logs (groups, n), a few groups at a time."""
    work, ends = np.empty((3, _AT_ONCE, RESAMPLES)), np.empty((len(logs), 2))
    for first in range(0, len(logs), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        ends[some] = _ends(logs[some], resamples, work)
    return ends


def _ends(logs: Array, resamples: _Resamples, work: Array) -> Array:
    """(groups, 2): the ends for logs (groups, n). work: room for _moments."""
    size = logs.shape[1]
    means, spreads = logs.mean(axis=1), logs.std(axis=1, ddof=1)
    spreads[np.ptp(logs, axis=1) == 0] = 0.0   # not what is left of rounding
    standard = (logs - means[:, None]) / np.where(spreads == 0, 1.0, spreads)[:, None]
    pivots, variances = _moments(standard, resamples, work)
    variances *= size / (size - 1)
    pivots /= np.sqrt(variances, out=variances)
    low, high = _tails(pivots)
    ends: Array = np.stack([means - high * spreads, means - low * spreads], axis=1)
    return ends


def _tails(pivots: Array) -> tuple[Array, Array]:
    """What cuts off an equal tail on either side of the last axis; orders pivots in part.

    Two searches for one place each take numpy a fifth of the time of one search for two (numpy 2.4, x86-64).
    """
    count = pivots.shape[-1]
    tail = round((1 - CONFIDENCE) / 2 * count)
    pivots.partition(tail - 1, axis=-1)
    pivots[..., tail:].partition(count - 2 * tail, axis=-1)
    return pivots[..., tail - 1], pivots[..., count - tail]


def _moments(standard: Array, resamples: _Resamples, work: Array) -> tuple[Array, Array]:
    """(groups, resamples) twice: means, and variances over n, of the resampled runs of groups (groups, n).

    They lie in work, (3, at least groups, resamples): arrays made anew each time take twice as long. Not by BLAS, which
    would wait for every CPU, and another program may have one.
    """
    means, variances, products = work[:, :len(standard)]
    np.einsum("gn,nr->gr", standard, resamples.counts, out=means)
    means += resamples.noise_means
    np.einsum("gn,nr->gr", standard**2, resamples.counts, out=variances)
    variances += np.einsum("gn,nr->gr", standard, resamples.noises, out=products)
    variances += resamples.noise_squares
    variances -= np.multiply(means, means, out=products)
    return means, variances
