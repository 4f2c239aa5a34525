"""Statistics over runs: pure functions of rates.

The unit of replication is the run (a fresh container), never the step. An interval is Student's, of the mean logarithm,
so that "a over b" and "b over a" say the same; a ratio's is over the log-ratios of rounds that both stacks have. What
may be said of many ratios together is Holm's (1979): the chance that any false word stands in a session is 5 %.

Why Student's t (2026-11-22; before it a smoothed studentised bootstrap): one formula that anyone can check, and it says
nothing false more often. `python -m tests.coverage` prints both errors, of single ratios and of sessions, for 5, 7, 10
and 20 rounds with lognormal noise, slow runs, two levels and a drift by round (the table is in docs/measurements.md):
of words on equal stacks 2.1 to 5.5 % are false, of sessions of twelve 0.4 to 5.5 % have one. The most is where half of
the runs are on a second level; slow runs now and then make intervals too wide rather than too narrow. Fewer than five
rounds get no word, since they cannot show what their own noise is.

Rounds of one session cannot show how far its ratios lie from another session's or from a longer one's (2026-11-25: on a
machine that others share, sessions of five minutes differ by 2 to 4 % beyond what their rounds scatter, while the steps
of every run look steady; docs/measurements.md). So a session's ratios have a second variance, between sessions, that
must come from several of them (Kalibera and Jones, 2013, on repetition at each level that varies): the variances
add up, and the degrees of freedom are Welch's and Satterthwaite's. These are more than the rounds' alone, so where
rounds scatter more than sessions a sum would be surer than its larger part, and at Holm's small levels too sure: of
five rounds that scatter by 20 %, 1.1 % are below a p value of 0.56 %. So no sum's interval is narrower, and no p value
of it smaller, than any part's (2026-11-26: 0.62 % then).

Where a machine's speed wanders, its rounds scatter and its sessions differ more than that: on two such hosts by 5.9 and
8.7 % where rounds scattered by 16 and 18 % (docs/measurements.md). So the mean of a short session is known no better,
either, than where sessions differ by two fifths of the rounds' standard deviation.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from runner.analysis import student

Array = NDArray[np.float64]
One = TypeVar("One")
ByRound = Mapping[int, float]   # rates of one stack

CONFIDENCE = 0.95
ERROR = 1 - CONFIDENCE
POWER = 0.8                     # of the smallest difference that could have been shown
LEAST_RUNS = 3                  # that have an interval
LEAST_ROUNDS = 5                # that have a word
# hyperfine's; the usual 3.5 names a run in 20 % of sessions with five runs of plain normal noise, 10 in 3 %
OUTLIER_SCORE = 10.0
SESSION_SPREAD = 0.03           # of a log-ratio from session to session, the standard deviation beyond its rounds'
SESSION_SCATTER = 0.4           # the same as a share of its rounds' standard deviation, of a session of minutes
_SPREAD_DEGREES = 30            # of freedom that a session spread is known with: about nine ratios of five sessions
_NOTHING = 1e-9                 # of a log-ratio: what rounding leaves of equal rates


@dataclass(frozen=True)
class Interval:
    """A 95 % interval; methods.interval says how it was made."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False,
                                                     "revalidate_instances": "always"}     # in a Summary
    low: float
    high: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def record(self) -> dict[str, float]:
        """The ends by name."""
        return {"low": self.low, "high": self.high}


class Mean(NamedTuple):
    """The mean of logarithms, or of log-ratios, and how well it is known."""

    value: float
    error: float                 # its standard error
    degrees: float               # of freedom
    parts: tuple[tuple[float, float], ...] = ()     # of a sum each error and its degrees: it is never surer than one

    def across_sessions(self, spread: float, scatter: float = 0.0) -> "Mean":
        """The mean of values as other sessions may find it, between which it moves by the spread, a standard deviation.

        scatter: it is known no better than where it moves by that share of its values' own standard deviation.
        """
        if not spread and not scatter:
            return self
        moved = _sum(self.value, self, Mean(0.0, spread, _SPREAD_DEGREES)) if spread else self
        count = self.degrees + 1
        wider = Mean(self.value, self.error * math.sqrt(1 + scatter**2 * count), self.degrees)
        if wider.error >= moved.error:                     # with no more degrees it is never surer
            return wider
        rest = (each for each in moved.parts if each != (self.error, self.degrees))
        return moved._replace(parts=(*rest, (wider.error, wider.degrees)))

    def interval(self, error: float = ERROR) -> Interval:
        """The interval of the geometric mean; error: the chance that it misses the true value."""
        half = self._half_width(error)
        return Interval(_exp(self.value - half), _exp(self.value + half))

    def plain_interval(self, error: float = ERROR) -> Interval:
        """The interval of a mean of plain values, which may be 0 or below."""
        half = self._half_width(error)
        return Interval(self.value - half, self.value + half)

    def _half_width(self, error: float) -> float:
        return max(student.quantile(1 - error / 2, degrees) * each for each, degrees in self.errors())

    def errors(self) -> tuple[tuple[float, float], ...]:
        """Each error that it has at least, its own first, with its degrees of freedom."""
        return (self.error, self.degrees), *self.parts

    def p_value(self) -> float:
        """The chance of a mean so far from 0 where it is 0."""
        if abs(self.value) < _NOTHING:
            return 1.0
        return max(student.two_sided(self.value / each, degrees) if each else 0.0 for each, degrees in self.errors())

    def smallest(self, error: float = ERROR) -> float:
        """The least difference that would be shown in POWER of such sessions: 0.03 is 3 % faster."""
        return _exp(max((student.quantile(1 - error / 2, degrees) + student.quantile(POWER, degrees)) * each
                        for each, degrees in self.errors())) - 1


class Ratio(NamedTuple):
    """How many times as fast one stack is as another, from the rounds that both have."""

    value: float | None          # geometric mean over the pairs; None without any
    interval: Interval | None    # None with fewer than LEAST_RUNS pairs
    pairs: int
    mean: Mean | None = None     # of the log-ratios, as other sessions may find it; None where there is no interval
    of_rounds: Mean | None = None        # the same as the rounds of this session alone say it


class Verdict(StrEnum):
    """What a ratio allows to say."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    NOT_STEADY = "not steady"
    TOO_SHORT = "too short to tell"
    TOO_FEW = "needs five rounds"
    NO_DATA = "no data"
    BASELINE = "baseline"


def p_value(ratio: Ratio) -> float | None:
    """The p value of the ratio against 1; None with fewer than LEAST_ROUNDS rounds."""
    return ratio.mean.p_value() if ratio.mean and ratio.pairs >= LEAST_ROUNDS else None


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values adjusted by Holm: of those up to ERROR any is false with a probability of at most ERROR."""
    adjusted, least = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = least
    return adjusted


def adjusted(p_values: Mapping[int, float]) -> dict[int, float]:
    """The p values of some of many things, adjusted by Holm (holm), by the index of each."""
    return dict(zip(p_values, holm(list(p_values.values())), strict=True))


def verdict(ratio: Ratio, adjusted: float | None = None) -> Verdict:
    """Faster or slower only where the p value, adjusted for others where there are some, is at most ERROR."""
    if ratio.value is None:
        return Verdict.NO_DATA
    own = p_value(ratio)
    if own is None:
        return Verdict.TOO_FEW
    if (own if adjusted is None else adjusted) > ERROR:
        return Verdict.NO_DIFFERENCE
    return Verdict.FASTER if ratio.value > 1 else Verdict.SLOWER


def median(values: Sequence[float] | Array) -> float | None:
    """The median; None of nothing. Ten times as fast as numpy's on the short series that runs are."""
    ordered = values.copy() if isinstance(values, np.ndarray) else list(values)
    ordered.sort()
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2 if len(ordered) else None


def middle(runs: Sequence[One], of: Callable[[One], float | None]) -> float | None:
    """The median over the runs that have the value."""
    return median([value for value in map(of, runs) if value is not None])


def geometric_mean(values: Sequence[float]) -> float | None:
    """The geometric mean; None of nothing."""
    return _exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def outliers(values: Sequence[float]) -> list[int]:
    """Positions whose modified z-score (Iglewicz and Hoaglin, 1993) is above OUTLIER_SCORE: named, never removed."""
    if len(values) < LEAST_RUNS:
        return []
    middle = median(values) or 0.0
    away = [abs(value - middle) for value in values]
    scale = 1.4826 * (median(away) or 0.0) or 1.2533 * sum(away) / len(away)  # the second where most runs are equal
    return [index for index, distance in enumerate(away) if distance > OUTLIER_SCORE * scale] if scale else []


def ratios(pairs: Sequence[tuple[ByRound, ByRound]], spread: float = 0.0, scatter: float = 0.0) -> list[Ratio]:
    """The Ratio of each (rates of one stack, rates of the other), both by round.

    Only rounds that both have count, and each round gives one ratio, so that a drift over the session cancels.
    spread, scatter: from session to session (Mean.across_sessions); 0 where no other session is spoken of, as of a
    stack against itself.
    """
    return [_ratio([math.log(one[index]) - math.log(other[index]) for index in sorted(one.keys() & other.keys())],
                   spread, scatter)
            for one, other in pairs]


def _ratio(logs: Sequence[float], spread: float, scatter: float) -> Ratio:
    if not logs:
        return Ratio(None, None, 0)
    of_rounds = mean_of(logs)
    if of_rounds is None or len(logs) < LEAST_RUNS:
        return Ratio(_exp(math.fsum(logs) / len(logs)), None, len(logs))
    mean = of_rounds.across_sessions(spread, scatter)
    return Ratio(_exp(mean.value), mean.interval(), len(logs), mean, of_rounds)


def between(one: Ratio, other: Ratio) -> Ratio:
    """How many times the other ratio one is, where they share no rounds: Welch's t on their mean logarithms.

    `pairs` says how many rounds the smaller side has.
    """
    if one.mean is None or other.mean is None:
        value = None if one.value is None or other.value is None else one.value / other.value
        return Ratio(value, None, min(one.pairs, other.pairs))
    mean = _sum(one.mean.value - other.mean.value, one.mean, other.mean)
    return Ratio(_exp(mean.value), mean.interval(), min(one.pairs, other.pairs), mean)


def _sum(value: float, *means: Mean) -> Mean:
    """The means' sum or difference, with Welch's and Satterthwaite's degrees of freedom."""
    variance = sum(mean.error**2 for mean in means)
    known = sum(mean.error**4 / mean.degrees for mean in means)
    degrees = variance**2 / known if known else sum(mean.degrees for mean in means)
    return Mean(value, math.sqrt(variance), degrees,
                tuple(each for mean in means for each in mean.errors() if each[1] < degrees))   # with more it is surer


def spread_of(ratios: Sequence[Sequence[Ratio]]) -> tuple[float, int] | None:
    """How far ratios move from session to session beyond their rounds' scatter, and its degrees of freedom.

    ratios: of each cell, one a session. The spread is the standard deviation of a log-ratio by the method of moments
    (DerSimonian and Kacker, 2007, with equal weights), all cells together: the variance of what sessions found, less
    what their rounds explain, and 0 where that is below it. None where no cell has two sessions with an interval.
    """
    cells = [means for cell in ratios if len(means := [ratio.of_rounds for ratio in cell if ratio.of_rounds]) > 1]
    degrees = sum(len(means) - 1 for means in cells)
    if not degrees:
        return None
    squares = math.fsum((len(means) - 1) * (np.var([mean.value for mean in means], ddof=1)
                                            - np.mean([mean.error**2 for mean in means])) for means in cells)
    return math.sqrt(max(0.0, squares) / degrees), degrees


def mean_of(values: Sequence[float]) -> Mean | None:
    """The mean with its standard error; None of fewer than two."""
    count = len(values)
    if count < 2:
        return None
    mean = math.fsum(values) / count
    spread = math.fsum((value - mean)**2 for value in values) / (count - 1)
    if max(values) - min(values) < _NOTHING**2:
        spread = 0.0                       # not what is left of rounding
    return Mean(mean, math.sqrt(spread / count), count - 1)


def intervals(groups: Sequence[Sequence[float] | Array]) -> list[Interval | None]:
    """For each group of positive values a 95 % interval of the typical one; None with fewer than LEAST_RUNS.

    The typical value is the exponential of the mean logarithm, the median of what scatters evenly on that scale.
    """
    return [interval(group) for group in groups]


def interval(values: Sequence[float] | Array) -> Interval | None:
    """The 95 % interval of the geometric mean of positive values; None with fewer than LEAST_RUNS."""
    mean = mean_of([math.log(value) for value in values]) if len(values) >= LEAST_RUNS else None
    return mean and mean.interval()


def lag_one(values: Sequence[float]) -> float | None:
    """The correlation of each value with the next; None where there are fewer than three or none differs."""
    if len(values) < 3:
        return None
    mean = math.fsum(values) / len(values)
    away = [value - mean for value in values]
    squares = math.fsum(each * each for each in away)
    return math.fsum(one * following for one, following in pairwise(away)) / squares if squares else None


def _exp(value: float) -> float:
    """exp(value), limited to what a float holds."""
    return math.exp(max(-700.0, min(700.0, value)))
