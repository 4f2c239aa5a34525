"""A stack against itself: how often evenbench calls what is equal faster or slower. Pure.

A session of one cell, run two times rounds times repetitions. Runs are taken two by two in the order they were made; of
each two a coin that the seed tosses says which is "one side's", so that no drift can favour a side. Every repetition is
then a comparison like any other: paired rounds, bootstrap interval, verdict. The sides are no part of the cell, whose
key stays what it is; they follow from round and seed alone.
"""

import random
from typing import Any, NamedTuple

from runner.analysis import stats
from runner.analysis.stats import CONFIDENCE, Interval, Ratio, Verdict
from runner.errors import InputError
from runner.results.rows import Measurements
from runner.study.file import Experiment, Study
from workloads.spec.tasks import NAMES

ID = "aa"
MEASURES = ("train", "infer")
_ALARMS = (Verdict.FASTER, Verdict.SLOWER)


class Plan(NamedTuple):
    """What an A/A session does."""

    rounds: int              # of each comparison
    repetitions: int

    @property
    def runs(self) -> int:
        """Of both sides in all repetitions."""
        return 2 * self.rounds * self.repetitions


class Found(NamedTuple):
    """What came of it."""

    comparisons: tuple[Ratio, ...]     # a ratio a repetition that has one
    judged: int                        # repetitions with an interval
    alarms: int                        # of these, called faster or slower
    rate: float | None                 # alarms over judged
    interval: Interval | None          # of the rate, by Clopper and Pearson
    width: float | None                # the median of the intervals' (high - low) / ratio

    def record(self) -> dict[str, Any]:
        """For programs."""
        return {**self._asdict(), "interval": self.interval and self.interval._asdict(),
                "comparisons": [{"ratio": each.value, "rounds": each.pairs, "verdict": stats.verdict(each).value,
                                 "interval": each.interval and each.interval._asdict()} for each in self.comparisons]}


def study(stack: str, task: str, measure: str, asked: Plan) -> Study:
    """The study of one cell; as many rounds as there are runs. Raises InputError."""
    for what, found, known in (("task", task, NAMES), ("--measure", measure, MEASURES)):
        if found not in known:
            raise InputError(f'aa: {what} "{found}" is unknown; known: {", ".join(known)}')
    title = f"{stack} against itself: {asked.repetitions} comparisons of {asked.rounds} rounds"
    settings = {"task": task, "measure": measure}
    one = Experiment(ID, title, (stack,), settings, ({},), {}, (), {})
    return Study(ID, title, asked.runs, stack, f"{asked.repetitions}x{asked.rounds}", (one,))


def judge(measured: Measurements, asked: Plan, seed: int) -> Found:
    """The false alarms among the repetitions. Raises InputError where the session is not of one cell."""
    if len(measured.rows) != 1:
        raise InputError(f"aa: found {len(measured.rows)} cells, expected one")
    rates = measured.rows[0].rates
    pairs = []
    for repetition in range(asked.repetitions):
        sides: tuple[dict[int, float], dict[int, float]] = ({}, {})
        for index in range(asked.rounds):
            number = repetition * asked.rounds + index
            for turn, side in enumerate(_sides(seed, number)):
                if 2 * number + turn in rates:
                    sides[side][index] = rates[2 * number + turn]
        pairs.append(sides)
    return _found([ratio for ratio in stats.ratios(pairs) if ratio.value is not None])


def _sides(seed: int, pair: int) -> tuple[int, int]:
    """Whose the first and the second run of a pair are."""
    first = random.Random(f"aa:{seed}:{pair}").randrange(2)
    return first, 1 - first


def _found(ratios: list[Ratio]) -> Found:
    with_interval = [ratio for ratio in ratios if ratio.interval]
    alarms = sum(stats.verdict(ratio) in _ALARMS for ratio in with_interval)
    widths = [(ratio.interval.high - ratio.interval.low) / ratio.value for ratio in with_interval
              if ratio.interval and ratio.value]
    count = len(with_interval)
    return Found(tuple(ratios), count, alarms, alarms / count if count else None, binomial(alarms, count),
                 stats.median(widths))


def binomial(hits: int, trials: int) -> Interval | None:
    """The exact 95 % interval of a share (Clopper and Pearson, 1934); None of no trials."""
    from scipy.special import betaincinv  # as in runner.analysis.stats: not when every command starts

    if not trials:
        return None
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(hits, trials - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0
    return Interval(low, high)


def words(found: Found, title: str) -> list[str]:
    """The result for people, line by line."""
    if found.rate is None or found.interval is None or found.width is None:
        return [f"{title}: no comparison has three rounds that ended ok on both sides, so nothing can be said."]
    low, high = (f"{end * 100:.1f}" for end in found.interval)
    return [f"{title}:",
            f"{found.alarms} of {found.judged} comparisons called it faster or slower than itself: "
            f"{found.rate * 100:.1f} % ({low} to {high} %, exact binomial 95 %).",
            f"A 95 % interval allows itself 5 %; here intervals were {found.width * 100:.1f} % wide, the median."]
