"""A stack against itself: how often evenbench calls what is equal faster or slower. Pure.

A real session of one stack under two names, which are two stacks to the plan, the order and the record, and one to the
launcher: both run once a round, in the order that the session draws. Its rounds that count are cut into repetitions,
each of which is then a comparison like any other: paired rounds, Student's t, a word or none. How much a round is like
the one before it (lag-1 correlation) says whether rounds are as independent as that test takes them to be.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from runner import formatting, student_t
from runner.analysis import stats
from runner.analysis.stats import CONFIDENCE, Interval, Ratio, Verdict
from runner.errors import InputError, unknown
from runner.results.looks import ONCE
from runner.results.rows import Measurements
from runner.study.file import Experiment, Study
from workloads.spec import tasks

ID = "aa"
MEASURES = ("train", "infer")
_NORMAL = 1.96                  # deviations that hold 95 %
_ALARMS = (Verdict.FASTER, Verdict.SLOWER)


class Plan(NamedTuple):
    """What an A/A session does."""

    rounds: int              # of each comparison
    repetitions: int


class FalseAlarms(NamedTuple):
    """What came of it."""

    comparisons: tuple[Ratio, ...]     # a ratio a repetition that has one
    judged: int                        # repetitions that could get a word
    alarms: int                        # of these, called faster or slower
    rate: float | None                 # alarms over judged
    interval: Interval | None          # of the rate, by Clopper and Pearson
    width: float | None                # the median of the intervals' (high - low) / ratio
    lag_ratios: float | None           # correlation of a round's log-ratio with the next round's
    lag_rates: float | None            # the same of the first name's log-rates
    rounds: int                        # that both names have

    def record(self) -> dict[str, Any]:
        """For programs."""
        return {**self._asdict(), "interval": self.interval and self.interval.record(),
                "comparisons": [{"ratio": each.value, "rounds": each.pairs, "verdict": stats.verdict(each).value,
                                 "interval": each.interval and each.interval.record()} for each in self.comparisons]}


def again(stack: str) -> str:
    """The stack's other name."""
    return f"{stack}-again"


def study(stack: str, task: str, measure: str, asked: Plan) -> Study:
    """The study of one cell under two names. Raises InputError."""
    for what, value, known in (("task", task, tasks.NAMES), ("--measure", measure, MEASURES)):
        if value not in known:
            raise unknown(f"aa: {what}", value, known)
    title = f"{stack} against itself: {formatting.count(asked.repetitions, 'comparison')} of {asked.rounds} rounds"
    settings = {"task": task, "measure": measure, "warm": "steady", "seconds": 2.0, "steps": 50}     # as quick's
    one = Experiment(ID, title, (stack, again(stack)), settings, ({},), {}, {})
    return Study(ID, title, asked.rounds * asked.repetitions, stack, f"{asked.repetitions}x{asked.rounds}", (one,))


def judge(measured: Measurements, asked: Plan) -> FalseAlarms:
    """The false words among the repetitions. Raises InputError where the session is not of one cell under two names."""
    if len(measured.rows) != 2:
        raise InputError(f"aa: found {len(measured.rows)} cells, expected one under two names")
    one, other = (replace(row, look=ONCE).rates for row in measured.rows)        # each repetition is looked at once
    both = sorted(one.keys() & other.keys())
    ratios = [stats.ratio({index: other[index] for index in part}, one)
              for first in range(0, len(both), asked.rounds) if (part := both[first:first + asked.rounds])]
    with_word = [ratio for ratio in ratios if ratio.is_judged]
    alarms = sum(stats.verdict(ratio) in _ALARMS for ratio in with_word)
    widths = [(ratio.interval.high - ratio.interval.low) / ratio.value for ratio in with_word
              if ratio.interval and ratio.value]
    count = len(with_word)
    return FalseAlarms(tuple(ratios), count, alarms, alarms / count if count else None, binomial(alarms, count),
                       stats.median(widths), lag_one([math.log(other[index] / one[index]) for index in both]),
                       lag_one([math.log(one[index]) for index in both]), len(both))


def lag_one(values: Sequence[float]) -> float | None:
    """The correlation of each value with the next; None where there are fewer than three or none differs."""
    if len(values) < 3:
        return None
    mean = math.fsum(values) / len(values)
    away = [value - mean for value in values]
    squares = math.fsum(each * each for each in away)
    return math.fsum(one * following for one, following in pairwise(away)) / squares if squares else None


def binomial(hits: int, trials: int) -> Interval | None:
    """The exact 95 % interval of a share (Clopper and Pearson, 1934); None of no trials."""
    if not trials:
        return None
    tail = (1 - CONFIDENCE) / 2
    low = beta_quantile(tail, hits, trials - hits + 1) if hits else 0.0
    high = beta_quantile(1 - tail, hits + 1, trials - hits) if hits < trials else 1.0
    return Interval(low, high)


def lines(outcome: FalseAlarms, title: str) -> list[str]:
    """The result for people, line by line."""
    if outcome.rate is None or outcome.interval is None or outcome.width is None:
        return [f"{title}: no comparison has {stats.LEAST_ROUNDS} rounds that ended ok under both names, so nothing "
                "can be said."]
    low, high = (f"{end * 100:.1f}" for end in outcome.interval)
    return [f"{title}:",
            f"{outcome.alarms} of {outcome.judged} comparisons called it faster or slower than itself: "
            f"{outcome.rate * 100:.1f} % ({low} to {high} %, exact binomial 95 %).",
            f"A word allows itself 5 %; here intervals were {outcome.width * 100:.1f} % wide, the median.",
            *([f"A round's ratio is correlated with the next one's by {outcome.lag_ratios:+.2f} (rounds that are "
               f"independent: within {_NORMAL / math.sqrt(outcome.rounds):.2f} of 0 in 95 %), its rate by "
               f"{outcome.lag_rates:+.2f}."] if outcome.lag_ratios is not None and outcome.lag_rates is not None
              else [])]


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The quantile of the beta distribution, by halving."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if student_t.incomplete_beta(middle, a, b) < probability else (low, middle)
    return (low + high) / 2
