"""Statistics over runs: pure functions of rates.

The unit of replication is the run (a fresh process), never the step. An interval is Student's t, of the mean logarithm,
so that "a over b" and "b over a" say the same; a ratio's is over the log-ratios of the rounds that both stacks have.

Faster and slower are said only where the interval that is printed excludes 1. Where a plan may say m words, each
interval misses its truth with a chance of 0.05 / m (Bonferroni), so that at most one session in twenty has a false
word; m is fixed by the plan, not by what came out. Fewer than five rounds cannot show their own noise: no word.

`python -m tests.coverage` prints how often intervals and words are wrong where neighbours, two speeds of the host or a
drift disturb the turns.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from runner import formatting, student_t
from runner.results.looks import LEAST_ROUNDS as LEAST_ROUNDS
from runner.results.turns import LOST_SHARE

Array = NDArray[np.float64]
One = TypeVar("One")
ByRound = Mapping[int, float]   # rates of one stack

CONFIDENCE = 0.95
ERROR = 1 - CONFIDENCE
LEAST_RUNS = 3                  # that have an interval
LEAST_DIFFERENCE = LOST_SHARE   # of a ratio, that is worth a word: others may cost the turns that count as much
_NOTHING = 1e-12                # of a log-ratio: what rounding leaves of equal rates


@dataclass(frozen=True)
class Interval:
    """Of a mean or a ratio; methods.interval says how it was made."""

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

    def interval(self, error: float = ERROR) -> Interval:
        """The interval of the geometric mean; error: the chance that it misses the true value."""
        low, high = self.plain_interval(error)
        return Interval(_exp(low), _exp(high))

    def plain_interval(self, error: float) -> Interval:
        """The interval of a mean of plain values, which may be 0 or below."""
        half = student_t.quantile(1 - error / 2, self.degrees) * self.error
        return Interval(self.value - half, self.value + half)


class Ratio(NamedTuple):
    """How many times as fast one stack is as another, from the rounds that both have."""

    value: float | None = None   # geometric mean over the pairs; None without any
    interval: Interval | None = None     # that decides the word; None with fewer than LEAST_RUNS pairs
    pairs: int = 0
    mean: Mean | None = None     # of the log-ratios; None where there is no interval

    @property
    def is_judged(self) -> bool:
        """Whether it has as many rounds as a word needs."""
        return self.interval is not None and self.pairs >= LEAST_ROUNDS

    def text(self, none: str = "-") -> str:
        """1.32x (1.28–1.37); none: for a ratio without a value."""
        return none if self.value is None else formatting.ratio(self.value, self.interval)

    def at(self, error: float) -> "Ratio":
        """The same with an interval that misses with that chance."""
        return self._replace(interval=self.mean.interval(error)) if self.mean else self

    def excludes(self, value: float) -> bool:
        """Whether the ratio is shown to be another one, and further from it than what is worth a word."""
        return self.is_judged and is_apart(value, self.value, self.interval)


class Verdict(StrEnum):
    """What a ratio allows to say."""

    FASTER = "faster"
    SLOWER = "slower"
    AS_FAST = "as fast"
    NO_DIFFERENCE = "no difference shown"
    COMPILED = "compiled while timed"
    NOT_STEADY = "not steady"
    TOO_FEW = "needs five rounds"
    TOO_BUSY = "too busy"
    UNFINISHED = "unfinished"
    NO_DATA = "no data"
    BASELINE = "baseline"


SAID = frozenset({Verdict.FASTER, Verdict.SLOWER, Verdict.AS_FAST})        # that decide a comparison


def error_of(words: int) -> float:
    """The chance with which the interval of each of so many words may miss (Bonferroni)."""
    return ERROR / max(1, words)


def is_apart(limit: float, value: float | None, interval: Interval | None) -> bool:
    """Whether the interval leaves out the limit, and the value is further from it than LEAST_DIFFERENCE."""
    return (value is not None and interval is not None and not interval.low <= limit <= interval.high
            and abs(math.log(value / limit)) >= math.log1p(LEAST_DIFFERENCE))


def verdict(ratio: Ratio) -> Verdict:
    """Faster or slower only where the interval excludes 1; as fast where all of it is too near to matter."""
    if ratio.value is None:
        return Verdict.NO_DATA
    if not ratio.is_judged:
        return Verdict.TOO_FEW
    away = [math.log(each) for each in (ratio.interval or ())]
    if max(map(abs, away)) < math.log1p(LEAST_DIFFERENCE):
        return Verdict.AS_FAST
    if not ratio.excludes(1.0):
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


def geometric_mean(values: Collection[float]) -> float | None:
    """The geometric mean; None of nothing."""
    return _exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def quotients(one: ByRound, other: ByRound) -> dict[int, float]:
    """One over the other in each round that both have, in order."""
    return {index: one[index] / other[index] for index in sorted(one.keys() & other.keys())}


def ratio(one: ByRound, other: ByRound, error: float = ERROR) -> Ratio:
    """How many times as fast one stack is as the other; error: error_of the words about them.

    Only rounds that both have count, and each round gives one ratio, so that a drift over the session cancels.
    """
    logs = [math.log(one[index]) - math.log(other[index]) for index in sorted(one.keys() & other.keys())]
    if not logs:
        return Ratio()
    mean = mean_of(logs)
    return Ratio(_exp(mean.value if mean else math.fsum(logs) / len(logs)), None, len(logs), mean).at(error)


def between(one: Ratio, other: Ratio, error: float = ERROR) -> Ratio:
    """How many times the other ratio one is, where they share no rounds: Welch's t on their mean logarithms.

    `pairs` says how many rounds the smaller side has.
    """
    pairs = min(one.pairs, other.pairs)
    if one.mean is None or other.mean is None:
        return Ratio(None if one.value is None or other.value is None else one.value / other.value, None, pairs)
    a, b = one.mean, other.mean
    variance, known = a.error**2 + b.error**2, a.error**4 / a.degrees + b.error**4 / b.degrees
    mean = Mean(a.value - b.value, math.sqrt(variance), variance**2 / known if known else a.degrees + b.degrees)
    return Ratio(_exp(mean.value), None, pairs, mean).at(error)


def spread_of(ratios: Sequence[Sequence[Ratio]]) -> tuple[float, int] | None:
    """How far ratios move from session to session beyond their rounds' scatter, and its degrees of freedom.

    ratios: of each cell, one a session. The spread is the standard deviation of a log-ratio by the method of moments
    (DerSimonian and Kacker, 2007, with equal weights), all cells together: the variance of what sessions found, less
    what their rounds explain, and 0 where that is below it. None where no cell has two sessions with an interval.
    """
    cells = [means for cell in ratios if len(means := [ratio.mean for ratio in cell if ratio.mean]) > 1]
    degrees = sum(len(means) - 1 for means in cells)
    if not degrees:
        return None
    squares = math.fsum((len(means) - 1) * (np.var([mean.value for mean in means], ddof=1)
                                            - np.mean([mean.error**2 for mean in means])) for means in cells)
    return math.sqrt(max(0.0, squares) / degrees), degrees


def mean_of(values: Sequence[float]) -> Mean | None:
    """The mean with its standard error; None of fewer than LEAST_RUNS."""
    count = len(values)
    if count < LEAST_RUNS:
        return None
    mean = math.fsum(values) / count
    spread = math.fsum((value - mean)**2 for value in values) / (count - 1)
    if max(values) - min(values) < _NOTHING:
        spread = 0.0
    if abs(mean) < _NOTHING:
        mean = 0.0
    return Mean(mean, math.sqrt(spread / count), count - 1)


def interval(values: Sequence[float] | Array) -> Interval | None:
    """The 95 % interval of the geometric mean of positive values; None with fewer than LEAST_RUNS.

    The geometric mean is the typical value, the median of what scatters evenly on the scale of logarithms.
    """
    mean = mean_of([math.log(value) for value in values])
    return mean and mean.interval()


def _exp(value: float) -> float:
    """exp(value), limited to what a float holds."""
    return math.exp(max(-700.0, min(700.0, value)))
