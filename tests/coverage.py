"""How often intervals and words are wrong, by simulation: python -m tests.coverage [SESSIONS] prints docs' table.

A session has eight rounds of three comparisons of four stacks, which take turns. Equal stacks have the same rate
undisturbed, so that every word is false and every interval should hold 1; then the last is 1.2 times as fast.
Then sessions to which --until 2% adds rounds, of equal stacks whose log-ratio of a round has this standard deviation:
the rule looks more than once, so words may be false more often than in sessions whose rounds are fixed.
Seeded: the same tables come out again.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner.analysis import doubts, stats
from runner.analysis.stats import ByRound, Verdict
from runner.measuring import stopping_rule
from runner.measuring.stopping_rule import Until, Width
from runner.results import turns
from runner.results.turns import FOREIGN_SHARE
from workloads.spec.turns import LEAST_TURNS, TURNS

Array = NDArray[np.float64]          # (sessions * comparisons, stacks, rounds, turns)
Booleans = NDArray[np.bool_]

COMPARISONS, STACKS, ROUNDS = 3, 4, 8
WORDS = COMPARISONS * STACKS         # of three ratios to the baseline and of the fastest, in each comparison
LIBGOMP = 2                          # of the stacks: a neighbour makes them 19 to 86 times as slow, others 1.3 to 1.9
FASTER = 1.2
_MOST = 2 * TURNS                    # of a run on a busy machine
_NOISE_OF_RUNS, _NOISE_OF_TURNS = 0.02, 0.05           # of logarithms
_TICKS = 0.03                        # of the share of the CPUs that others take in a turn: what counting ticks adds


class Drawn(NamedTuple):
    """Turns of sessions, in the order in which each run takes them."""

    rates: Array
    shares: Array                    # of the CPUs that others seem to take


class Errors(NamedTuple):
    """Of so many sessions."""

    sessions: float                  # the share with a false word, winners included
    coverage: float                  # of intervals of ratios
    width: float                     # the median of their half widths, of the ratio
    doubted: float                   # the share of stacks whose word a trend withholds


def _calm(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    logs = (_NOISE_OF_RUNS * random.standard_normal((*shape[:-1], 1)) + _NOISE_OF_TURNS * random.standard_normal(shape))
    return Drawn(100 * np.exp(logs), _TICKS * random.standard_normal(shape))


def _neighbours(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    """A thread of another program, 40 % of the time in bursts that are longer than a turn: some begin or end in one."""
    calm = _calm(random, shape)
    overlap = np.where(random.random(shape) < 0.4, np.where(random.random(shape) < 0.15, random.random(shape), 1), 0)
    often = np.exp(random.uniform(math.log(19), math.log(86), shape))
    often[:, LIBGOMP:] = random.uniform(1.3, 1.9, often[:, LIBGOMP:].shape)
    return Drawn(calm.rates / (1 + overlap * (often - 1)), calm.shares + 0.5 * overlap)


def _two_speeds(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    """A host that is slower by 1.7 to 1.8 for 40 % of the time, some seconds at once, which no share shows."""
    calm = _calm(random, shape)
    sessions, stacks, rounds, count = shape                          # turns follow each other stack by stack
    moments = np.moveaxis(calm.rates, 1, 3).reshape(sessions, rounds, count * stacks).copy()
    is_slow = random.random(moments.shape[:-1]) < 0.4
    for moment in range(moments.shape[-1]):
        is_new = random.random(is_slow.shape) < 0.06                 # turns of 130 ms, of states of two seconds
        is_slow = np.where(is_new, random.random(is_slow.shape) < 0.4, is_slow)
        moments[..., moment] /= np.where(is_slow, random.uniform(1.7, 1.8, is_slow.shape), 1.0)
    return calm._replace(rates=np.moveaxis(moments.reshape(sessions, rounds, count, stacks), 3, 1))


def _drift(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    """A machine that loses a fifth over the session."""
    calm = _calm(random, shape)
    rounds, count = shape[2:]
    return calm._replace(rates=calm.rates * np.linspace(1.0, 0.8, rounds * count).reshape(rounds, count))


def _all(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    drawn = [make(random, shape) for make in (_neighbours, _two_speeds, _drift)]
    return Drawn(drawn[0].rates * drawn[1].rates * drawn[2].rates / 100**2, drawn[0].shares)


KINDS = {"quiet": _calm, "neighbours": _neighbours, "two speeds": _two_speeds, "drift": _drift, "all of these": _all}


def counting(shares: Array) -> Booleans:
    """Which turns are taken, and count: as runner.results.turns and the session have it, of many runs at once."""
    is_calm = shares <= FOREIGN_SHARE
    is_taken = np.cumsum(is_calm, axis=-1) - is_calm < TURNS
    has_enough = (is_calm & is_taken).sum(axis=-1, keepdims=True) >= LEAST_TURNS
    return is_taken & (is_calm | ~has_enough)


def errors(kind: str, sessions: int, times: float = 1.0) -> Errors:
    """The last of the stacks is so many times as fast; how often all that is true is said: true_words."""
    drawn, counts = _sessions(kind, sessions, times)
    truths = np.ones(STACKS)
    truths[-1] = times
    false, held, widths = 0, 0, []
    for first in range(0, len(drawn), COMPARISONS):
        words = [word for comparison in drawn[first:first + COMPARISONS] for word in _false_words(comparison, truths)]
        false += any(words)
    for comparison in drawn:
        for stack, ratio in enumerate(_to_baseline(comparison), 1):
            assert ratio.interval and ratio.value
            held += ratio.interval.low <= truths[stack] <= ratio.interval.high
            widths.append((ratio.interval.high - ratio.interval.low) / 2 / ratio.value)
    return Errors(false / sessions, held / len(widths), float(np.median(widths)), counts)


def true_words(kind: str, sessions: int) -> float:
    """The share of stacks that are FASTER times as fast as the baseline, and called faster."""
    drawn, _ = _sessions(kind, sessions, FASTER)
    return sum(stats.verdict(_to_baseline(comparison)[-1]) is Verdict.FASTER for comparison in drawn) / len(drawn)


def _sessions(kind: str, sessions: int, times: float) -> tuple[list[list[ByRound]], float]:
    """The rates by round of each stack in each comparison, and the share of stacks that a trend makes doubtful."""
    random = np.random.default_rng([list(KINDS).index(kind), 45])
    found = KINDS[kind](random, (sessions * COMPARISONS, STACKS, ROUNDS, _MOST))
    found.rates[:, -1] *= times
    is_counted = counting(found.shares)
    logs = np.where(is_counted, np.log(found.rates), 0.0).sum(axis=-1) / is_counted.sum(axis=-1)
    rates: list[list[ByRound]] = [[dict(enumerate(rounds)) for rounds in comparison]
                                  for comparison in np.exp(logs).tolist()]
    some = min(len(rates), 60)
    return rates, _doubted(found.rates[:some], is_counted[:some])


def _doubted(rates: Array, is_counted: Booleans) -> float:
    """The share of stacks of which more than half of the runs have a trend the same way."""
    trends = np.array([turns.trend(run[counted].tolist()) for run, counted in zip(
        rates.reshape(-1, _MOST), is_counted.reshape(-1, _MOST), strict=True)]).reshape(-1, ROUNDS)
    ways = [(sign * trends > doubts.TREND).sum(axis=1) for sign in (1, -1)]
    return float((2 * np.maximum(*ways) > ROUNDS).mean())


def _to_baseline(comparison: list[ByRound]) -> list[stats.Ratio]:
    return [stats.ratio(rates, comparison[0], stats.error_of(WORDS)) for rates in comparison[1:]]


def _false_words(comparison: list[ByRound], truths: Array) -> Iterator[bool]:
    """Of each stack against the baseline, and of the fastest."""
    said: Mapping[Verdict, float] = {Verdict.FASTER: 1, Verdict.SLOWER: -1}
    for stack, ratio in enumerate(_to_baseline(comparison), 1):
        way = said.get(stats.verdict(ratio), 0)
        yield way != 0 and way != np.sign(truths[stack] - truths[0])
    means = [stats.geometric_mean(rates.values()) or 0.0 for rates in comparison]
    best = int(np.argmax(means))
    others = [other for other in range(STACKS) if other != best]
    against = [stats.ratio(comparison[best], comparison[other], stats.error_of(WORDS)) for other in others]
    is_winner = all(stats.verdict(ratio) is Verdict.FASTER for ratio in against)
    yield is_winner and not all(truths[best] > truths[other] for other in others)


UNTIL = Until(0.02, stopping_rule.CAP)
SPREADS = (0.002, 0.004, 0.006, 0.01)          # of a round's log-ratio; of larger ones the cap ends all sessions


class Stopped(NamedTuple):
    """Of so many sessions with --until."""

    sessions: float                  # the share with a false word
    coverage: float                  # of intervals of ratios
    rounds: float                    # the mean


def until(spread: float, sessions: int) -> Stopped:
    """How often words and intervals are wrong where rounds are added until intervals are narrow."""
    random = np.random.default_rng([round(spread * 1e4), 45])
    false, held, rounds = 0, 0, []
    for _ in range(sessions):
        rates = np.exp(spread / math.sqrt(2) * random.standard_normal((COMPARISONS, STACKS, UNTIL.cap)))
        seen: list[list[Width]] = []
        for count in stopping_rule.looks(ROUNDS, UNTIL.cap):
            comparisons = [[dict(enumerate(stack)) for stack in comparison]
                           for comparison in rates[..., :count].tolist()]
            found = [ratio for comparison in comparisons for ratio in _to_baseline(comparison)]
            seen.append([Width("", "", (each.interval.high - each.interval.low) / each.value)
                         for each in found if each.interval and each.value])
            if stopping_rule.outcome(seen, count, UNTIL):
                break
        false += any(word for comparison in comparisons for word in _false_words(comparison, np.ones(STACKS)))
        held += sum(not each.excludes(1.0) for each in found)
        rounds.append(count)
    return Stopped(false / sessions, held / len(found) / sessions, float(np.mean(rounds)))


def limit(trials: int) -> float:
    """What 5 % come to by chance at most, three deviations of so many trials above."""
    return stats.ERROR + 3 * math.sqrt(stats.ERROR * (1 - stats.ERROR) / trials)


def lines(sessions: int) -> Iterator[str]:
    """The table."""
    yield ("| turns | sessions with a false word | intervals that hold the truth | their half width | "
           f"words on stacks that are {FASTER:g} times as fast | stacks without a word for a trend |")
    yield "|---|---|---|---|---|---|"
    for kind in KINDS:
        found = errors(kind, sessions)
        shares = (found.sessions, found.coverage, found.width, true_words(kind, sessions), found.doubted)
        yield f"| {kind} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |"
    yield ""
    yield f"| deviation of a round's log-ratio, --until {UNTIL.width:.0%} | sessions with a false word | " \
          "intervals that hold the truth | rounds |"
    yield "|---|---|---|---|"
    for spread in SPREADS:
        stopped = until(spread, sessions)
        yield f"| {spread:.1%} | {stopped.sessions:.1%} | {stopped.coverage:.2%} | {stopped.rounds:.1f} |"


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print(line, flush=True)
