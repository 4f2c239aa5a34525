"""How often intervals and words are wrong, by simulation: python -m tests.coverage [SESSIONS] prints docs' tables.

Sessions of eight rounds of three comparisons of four stacks that take turns, on machines of several kinds. Rounds count
or are made again, and comparisons stop at a look, as runner.results.reader, runner.results.looks and
runner.measuring.stopping_rule have it; this is the same rule for many sessions at once, which a test holds against
theirs. Equal stacks have the same rate undisturbed, so that every word is false and every interval should hold 1; then
the last is 1.2 times as fast. Then quiet sessions of one to forty words, and such to which --until 2% adds rounds.
Seeded: the same tables come out again.
"""

import math
import sys
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner import student_t
from runner.analysis import doubts, stats
from runner.measuring.stopping_rule import CAP
from runner.results import turns
from runner.results.looks import look, looks
from runner.results.turns import FOREIGN_SHARE, LOST_SHARE
from workloads.spec.turns import LEAST_TURNS, TURNS

Array = NDArray[np.float64]          # (comparisons of all sessions, stacks, rounds, turns)
Booleans = NDArray[np.bool_]

COMPARISONS, STACKS, ROUNDS = 3, 4, 8
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
    sessions: float                  # the share with a false word, winners included
    coverage: float                  # of intervals of ratios
    width: float                     # the median of their half widths, of the logarithm
    doubted: float                   # the share of stacks whose word a trend withholds
    words: float                     # of the last stack against the first, over all comparisons
    rounds: float                    # the mean of those that were judged


def _calm(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    logs = (_NOISE_OF_RUNS * random.standard_normal((*shape[:-1], 1)) + _NOISE_OF_TURNS * random.standard_normal(shape))
    return Drawn(100 * np.exp(logs), _TICKS * random.standard_normal(shape))


def _neighbours(random: np.random.Generator, shape: tuple[int, ...], share: float = 0.4) -> Drawn:
    """A thread of another program, 40 % of the time in bursts that are longer than a turn: some begin or end in one."""
    calm = _calm(random, shape)
    overlap = np.where(random.random(shape) < share, np.where(random.random(shape) < 0.15, random.random(shape), 1), 0)
    often = np.exp(random.uniform(math.log(19), math.log(86), shape))
    often[:, LIBGOMP:] = random.uniform(1.3, 1.9, often[:, LIBGOMP:].shape)
    return Drawn(calm.rates / (1 + overlap * (often - 1)), calm.shares + 0.5 * overlap)


def _sibling(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    """Threads of the first stack spin through all turns of the others."""
    calm = _calm(random, shape)
    calm.rates[:, 1:] /= 50
    calm.shares[:, 1:] += 0.5
    return calm


def _just_counted(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    """A program costs one stack, alone, nearly as much as turns that count may lose."""
    calm = _calm(random, shape)
    calm.rates[:, 0] *= 1 - 0.9 * LOST_SHARE
    return calm


def _resumed(random: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    """A host that is 0.8 times as fast when an interrupted session goes on; its broken round counts nothing."""
    calm = _calm(random, shape)
    first, rounds = random.integers(1, ROUNDS, shape[0])[:, None], np.arange(shape[2])
    calm.rates[np.broadcast_to((rounds >= first)[:, None, :, None], shape)] *= 0.8
    calm.shares[np.broadcast_to((rounds == first)[:, None, :, None], shape)] = 1.0
    return calm


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


KINDS = {"quiet": _calm, "neighbours": _neighbours, "two speeds": _two_speeds, "drift": _drift, "all of these": _all,
         "busy": partial(_neighbours, share=0.85),               # few rounds can be measured
         "a sibling spins": _sibling, "resumed": _resumed, "just counted": _just_counted}


def counting(shares: Array) -> Booleans:
    """Which turns are taken and count: as runner.results.turns and the session have it, of many runs at once."""
    lost = np.where(shares > FOREIGN_SHARE, shares, 0.0)
    counts = np.zeros(shares.shape, bool)
    is_open = np.ones(shares.shape[:-1], bool)
    for taken in range(TURNS, shares.shape[-1] + 1):
        some = lost[is_open][:, :taken]
        order = some.argsort(axis=-1, kind="stable")
        total = np.take_along_axis(some, order, -1).cumsum(axis=-1)
        found = np.zeros(some.shape, bool)
        np.put_along_axis(found, order, total <= LOST_SHARE * np.arange(1, taken + 1), -1)
        counts[is_open, :taken] = found
        is_open &= counts.sum(axis=-1) < TURNS
    return counts


class Said(NamedTuple):
    """Of each comparison, at the look that ended it; nothing of one that was too busy."""

    ways: NDArray[np.int_]           # (comparisons, stacks - 1): 1 faster than the first, -1 slower, 0 none, 2 as fast
    winner: NDArray[np.int_]         # the stack, or -1
    low: Array                       # (comparisons, stacks - 1): of log-ratios
    high: Array
    rounds: NDArray[np.int_]         # that were judged


def said(logs: Array, counted: NDArray[np.int_], most: int, words: int, until: float = 0.0) -> Said:
    """What is said of log rates (comparisons, stacks, rounds), of which so many rounds of each comparison count.

    until: width of all intervals that is enough; 0: where every word is said.
    """
    count, stacks, _ = logs.shape
    shape = (count, stacks - 1)
    found = Said(np.zeros(shape, int), np.full(count, -1), np.full(shape, -np.inf), np.full(shape, np.inf),
                 np.zeros(count, int))
    is_open = np.ones(count, bool)
    for rounds in (each for each in looks(most) if each >= stats.LEAST_ROUNDS):
        here = np.flatnonzero(is_open & (counted >= rounds))
        t = student_t.quantile(1 - stats.error_of(words) * look(looks(most), rounds).share / 2, rounds - 1)
        low, high = _intervals(logs[here, 1:, :rounds] - logs[here, :1, :rounds], t)
        best = logs[here, :, :rounds].mean(axis=2).argmax(axis=1)
        lead, _ = _intervals(logs[here, best, :rounds][:, None] - logs[here, :, :rounds], t)
        lead[np.arange(len(here)), best] = np.inf
        wins = (_ways(lead, np.full_like(lead, np.inf)) == 1).all(axis=1)
        found.low[here], found.high[here], found.rounds[here] = low, high, rounds
        found.ways[here], found.winner[here] = _ways(low, high), np.where(wins, best, -1)
        is_open[here] = ((np.exp(high) - np.exp(low)) / np.exp((low + high) / 2) > until).any(axis=1) if until else (
            ~wins | (found.ways[here] == 0).any(axis=1))
    return found


def _intervals(logs: Array, t: float) -> tuple[Array, Array]:
    mean, error = logs.mean(axis=-1), logs.std(axis=-1, ddof=1) / math.sqrt(logs.shape[-1])
    return mean - t * error, mean + t * error


def _ways(low: Array, high: Array) -> NDArray[np.int_]:
    """As stats.verdict, of log-ratios; high may be infinite where only faster matters."""
    least = math.log1p(stats.LEAST_DIFFERENCE)
    middle = np.where(np.isinf(high), np.where(low > 0, least, 0.0), (low + high) / 2)
    return np.where(np.maximum(np.abs(low), np.abs(high)) < least, 2, np.where(
        (low > 0) & (middle >= least), 1, np.where((high < 0) & (middle <= -least), -1, 0)))


def measured(drawn: Drawn) -> tuple[Array, NDArray[np.int_]]:
    """The log rates of rounds, those that count first and in order, and how many rounds of each comparison count."""
    counts = counting(drawn.shares)
    calm = counts.sum(axis=-1)
    logs = np.where(counts, np.log(drawn.rates), 0.0).sum(axis=-1) / np.maximum(calm, 1)
    is_whole = (calm >= LEAST_TURNS).all(axis=1)
    order = np.argsort(~is_whole, axis=1, kind="stable")
    return np.take_along_axis(logs, order[:, None], axis=2), np.minimum(is_whole.sum(axis=1), ROUNDS)


def errors(kind: str, sessions: int, times: float = 1.0) -> Errors:
    """The last of the stacks is so many times as fast; how often what is said is true."""
    random = np.random.default_rng([list(KINDS).index(kind), 45])
    drawn = KINDS[kind](random, (sessions * COMPARISONS, STACKS, 2 * ROUNDS, _MOST))
    drawn.rates[:, -1] *= times
    logs, counted = measured(drawn)
    found = said(logs, counted, ROUNDS, COMPARISONS * STACKS)
    some = drawn.rates[:60, :, :ROUNDS], counting(drawn.shares[:60, :, :ROUNDS])
    return _errors(found, COMPARISONS, times)._replace(doubted=_doubted(*some))


def of_words(comparisons: int, stacks: int, sessions: int, until: float = 0.0, spread: float = 0.01) -> Errors:
    """Quiet sessions of equal stacks whose rounds' log rates have this standard deviation."""
    random = np.random.default_rng([comparisons, stacks, round(spread * 1e4), 45])
    most = CAP if until else ROUNDS
    words = comparisons * (stacks - 1 + (stacks > 2))
    parts = []
    for first in range(0, sessions, 1000):                   # sessions at once, for memory
        count = comparisons * min(1000, sessions - first)
        logs = spread / math.sqrt(2) * random.standard_normal((count, stacks, most))
        parts.append(said(logs, np.full(count, most), most, words, until))
    return _errors(Said(*map(np.concatenate, zip(*parts, strict=True))), comparisons, 1.0)


def _errors(found: Said, comparisons: int, times: float) -> Errors:
    truth = np.zeros(found.ways.shape)
    truth[:, -1] = math.log(times)
    is_false = ((found.ways == 2) & (truth != 0)) | ((np.abs(found.ways) == 1) & (found.ways != np.sign(truth)))
    is_false_winner = (found.winner >= 0) & ((times == 1.0) | (found.winner != found.ways.shape[1]))
    sessions = (is_false.any(axis=1) | is_false_winner).reshape(-1, comparisons).any(axis=1)
    judged = found.rounds > 0
    holds = ((found.low <= truth) & (truth <= found.high))[judged]
    widths = ((found.high - found.low) / 2)[judged]
    return Errors(float(sessions.mean()), float(holds.mean()) if judged.any() else 1.0,
                  float(np.median(widths)) if judged.any() else math.nan, 0.0, float((found.ways[:, -1] == 1).mean()),
                  float(found.rounds.mean()))


def _doubted(rates: Array, is_counted: Booleans) -> float:
    """The share of stacks of which more than half of the runs have a trend the same way."""
    trends = np.array([turns.trend(run[counted].tolist()) for run, counted in zip(
        rates.reshape(-1, _MOST), is_counted.reshape(-1, _MOST), strict=True)]).reshape(-1, ROUNDS)
    ways = [(sign * trends > doubts.TREND).sum(axis=1) for sign in (1, -1)]
    return float((2 * np.maximum(*ways) > ROUNDS).mean())


WORDS = {1: (1, 2), 2: (2, 2), 4: (1, 4), 12: (3, 4), 40: (10, 4)}      # comparisons and stacks with so many words
SPREADS = (0.002, 0.004, 0.006, 0.01)          # of a round's log-ratio; of larger ones the cap ends all sessions
UNTIL = 0.02
_SCATTER = 0.036                # the same, of a quiet session of `quick`


def limit(trials: int) -> float:
    """What 5 % come to by chance at most, three deviations of so many trials above."""
    return stats.ERROR + 3 * math.sqrt(stats.ERROR * (1 - stats.ERROR) / trials)


def lines(sessions: int) -> Iterator[str]:
    yield ("| machine | sessions with a false word | intervals that hold the truth | their half width | "
           f"words on stacks that are {FASTER:g} times as fast | rounds judged | without a word for a trend |")
    yield "|---|---|---|---|---|---|---|"
    for kind in KINDS:
        found, faster = errors(kind, sessions), errors(kind, sessions, FASTER)
        width = "-" if math.isnan(found.width) else f"{found.width:.1%}"
        yield (f"| {kind} | {max(found.sessions, faster.sessions):.1%} | {found.coverage:.2%} | {width} | "
               f"{faster.words:.1%} | {faster.rounds:.1f} | {found.doubted:.1%} |")
    yield ""
    yield f"| words of a session | {ROUNDS} rounds at most, deviation {_SCATTER:.1%} | " + " | ".join(
        f"--until {UNTIL:.0%}, deviation {spread:.1%}" for spread in SPREADS) + " |"
    yield "|---|---|" + "---|" * len(SPREADS)
    for words, shape in WORDS.items():
        found_until = [of_words(*shape, sessions, UNTIL, spread) for spread in SPREADS]
        yield f"| {words} | {of_words(*shape, 10 * sessions, spread=_SCATTER).sessions:.1%} | " + " | ".join(
            f"{each.sessions:.1%} ({each.rounds:.0f} rounds)" for each in found_until) + " |"


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print(line, flush=True)
