"""How often intervals and words are wrong, by simulation: python -m tests.coverage [SESSIONS] prints docs' tables.

Stacks are equal, so that every word is false and every interval should hold 1. Seeded: the same tables come out again.
"""

import math
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner.analysis import gate, stats, steadiness
from runner.analysis.stats import Verdict
from runner.analysis.steadiness import Steadiness
from runner.analysis.summary import summarise
from tests import made_rows, made_steps

Rates = NDArray[np.float64]          # (sessions, stacks, rounds)

KINDS = ("lognormal", "slow runs", "two levels", "drift by round")
ROUNDS = (5, 7, 10, 20)
CELLS = 12                           # of a session whose words are counted together
SHARES, LOSSES = (0.1, 0.2, 0.4, 0.6), (0.05, 0.1, 0.3)      # of runs with a slow start; of their rate by it
_NOISE = 0.02                        # of a run's logarithm
_DRAWN = 4000                        # runs of a kind of steps
_MOVED = (Steadiness.SLOW_START, Steadiness.SLOW_END, Steadiness.DRIFTING)


class Errors(NamedTuple):
    """Of equal stacks."""

    coverage: float                  # share of intervals that hold 1
    words: float                     # share of ratios that are called faster or slower
    sessions: float                  # share of sessions of CELLS ratios with such a word


def rates(kind: str, random: np.random.Generator, sessions: int, stacks: int, rounds: int) -> Rates:
    """Rates of stacks that differ in nothing."""
    shape = (sessions, stacks, rounds)
    noise = 100 * np.exp(_NOISE * random.standard_normal(shape))
    if kind == "slow runs":                              # one run in ten is up to 30 % slower
        return noise * np.where(random.random(shape) < 0.1, 1 - 0.3 * random.random(shape), 1.0)
    if kind == "two levels":                             # as by the place of an array: half of the runs are 10 % slower
        return noise * np.where(random.random(shape) < 0.5, 0.9, 1.0)
    if kind == "drift by round":                         # the machine loses a fifth over the session
        return noise * np.linspace(1.0, 0.8, rounds)
    return noise


def errors(kind: str, rounds: int, sessions: int) -> Errors:
    """Of so many sessions of CELLS ratios, each of two stacks of its own."""
    random = np.random.default_rng([KINDS.index(kind), rounds, 19])
    drawn = rates(kind, random, sessions * CELLS, 2, rounds).tolist()
    found = stats.ratios([(dict(enumerate(one)), dict(enumerate(other))) for one, other in drawn])
    covered = sum(ratio.interval is not None and ratio.interval.low <= 1 <= ratio.interval.high for ratio in found)
    own = [stats.p_value(ratio) or 0.0 for ratio in found]
    false = sum(each <= stats.ERROR for each in own)
    together = sum(min(stats.holm(own[first:first + CELLS])) <= stats.ERROR for first in range(0, len(own), CELLS))
    return Errors(covered / len(found), false / len(found), together / sessions)


def whole_sessions(kind: str, rounds: int, sessions: int, stacks: int = 4) -> float:
    """The share with some false word, winners included, of sessions of 12 equal cells that are summarised for real."""
    random = np.random.default_rng([KINDS.index(kind), rounds, 20])
    cells = [made_rows.cell(f"stack{index % stacks}", batch=10 + index // stacks) for index in range(CELLS)]
    wrong = 0
    for drawn in rates(kind, random, sessions, CELLS, rounds).tolist():
        runs = [record for cell, each in zip(cells, drawn, strict=True) for record in made_rows.runs(cell, each)]
        found = summarise([made_rows.session(), made_rows.plan(*cells, rounds=rounds, baseline="stack0"), *runs])
        wrong += any(each.winner or any(result.verdict in ("faster", "slower") for result in each.results)
                     for each in found.comparisons)
    return wrong / sessions


def words_beside_slow_starts(share: float, loss: float, rounds: int, sessions: int) -> float:
    """The share of false words on a stack of whose runs such a share has a slow start, which costs so much of the rate.

    The other stack has none. What the gate withholds is no word.
    """
    random = np.random.default_rng([int(100 * share), int(100 * loss), rounds])
    drawn = rates("lognormal", random, sessions, 2, rounds)
    starts = random.random((sessions, rounds)) < share
    drawn[:, 1] *= np.where(starts, 1 - loss, 1.0)
    found = stats.ratios([(dict(enumerate(one)), dict(enumerate(other))) for one, other in drawn.tolist()])
    each = [[Steadiness.SLOW_START if start else Steadiness.STEADY for start in runs] for runs in starts.tolist()]
    return sum((stats.p_value(ratio) or 0.0) <= stats.ERROR and gate.together([gate.Moves(runs, [])])[0].verdict is None
               for ratio, runs in zip(found, each, strict=True)) / sessions


def limit(trials: int) -> float:
    """What 5 % come to by chance at most, three deviations of so many trials above."""
    return stats.ERROR + 3 * math.sqrt(stats.ERROR * (1 - stats.ERROR) / trials)


def tables(sessions: int) -> Iterator[str]:
    """The lines for docs/measurements.md."""
    yield ("| runs | rounds | intervals that hold 1 | false words of single ratios | sessions of 12 ratios with one | "
           "the same, 3 comparisons of 4 stacks, with winners |")
    yield "|---|---|---|---|---|---|"
    for kind in KINDS:
        for rounds in ROUNDS:
            found = errors(kind, rounds, sessions)
            whole = f"{whole_sessions(kind, rounds, sessions // 5) * 100:.1f} %" if rounds == ROUNDS[0] else ""
            yield "| " + " | ".join([kind, str(rounds), *(f"{each * 100:.1f} %" for each in found), whole]) + " |"
    yield ""
    yield "| share of runs with a slow start | " + " | ".join(f"{rounds} rounds" for rounds in ROUNDS) + " |"
    yield "|---|" + "---|" * len(ROUNDS)
    for share in SHARES:
        words = [[words_beside_slow_starts(share, loss, rounds, sessions) for loss in LOSSES] for rounds in ROUNDS]
        yield f"| {share:.0%} | " + " | ".join(", ".join(f"{each:.1%}" for each in one) for one in words) + " |"
    yield ""
    yield "| steps | called not steady | too short to tell |"
    yield "|---|---|---|"
    for steps in (30, 100, 300):
        for name, runs in _shapes(steps):
            each = steadiness.each(list(runs))
            shares = (sum(one in kinds for one in each) / len(each) * 100
                      for kinds in (_MOVED, (Steadiness.TOO_SHORT,)))
            yield f"| {steps}, {name} | " + " | ".join(f"{share:.1f} %" for share in shares) + " |"
    yield ""
    yield "| rows of five runs of 150 steps | get no word |"
    yield "|---|---|"
    for name, runs in _rows(np.random.default_rng(22), _DRAWN // 4, 150):
        yield f"| {name} | {withheld(runs):.1%} |"


def withheld(runs: made_steps.Runs) -> float:
    """The share of rows, of five runs each, that are called not steady."""
    each, drifts = steadiness.each(list(runs)), [steadiness.drift(run) for run in runs]
    rows = [row for first in range(0, len(runs), 5)
            for row in gate.together([gate.Moves(each[first:first + 5], drifts[first:first + 5])])]
    return sum(row.verdict is Verdict.NOT_STEADY for row in rows) / len(rows)


def _rows(random: np.random.Generator, rows: int, steps: int) -> Iterator[tuple[str, made_steps.Runs]]:
    """What the machine does, each run its own; and the same with what the stack does in every run."""
    index = np.arange(steps)
    shapes = {"": np.ones(steps), ", the first 5 % at 2x": np.where(index < 0.05 * steps, 2, 1),
              ", the first 20 % at 1.3x": np.where(index < 0.2 * steps, 1.3, 1),
              ", falling by 15 %": np.linspace(1.15, 1, steps), ", rising by 15 %": np.linspace(1, 1.15, steps)}
    for noise, neighbour in ((0.05, 0.0), (0.05, 0.9), (0.05, 0.98), (0.1, 0.9), (0.1, 0.98)):
        for name, shape in shapes.items():
            yield (f"{noise:.0%} noise, neighbours correlated by {neighbour}{name}",
                   made_steps.correlated(random, 5 * rows, steps, noise, neighbour) * shape)


def _shapes(steps: int) -> Iterator[tuple[str, made_steps.Runs]]:
    random = np.random.default_rng([steps, 21])
    yield from made_steps.noises(random, _DRAWN, steps)
    for noise in (0.05, 0.1):
        worst = min(made_steps.starts(random, _DRAWN // 4, steps, noise), key=lambda shape: sum(
            one in _MOVED for one in steadiness.each(list(shape[1]))))
        yield f"the start that is found least of 16: {worst[0]}", worst[1]
        yield from made_steps.slopes(random, _DRAWN, steps, noise)


if __name__ == "__main__":
    for line in tables(int(sys.argv[1]) if len(sys.argv) > 1 else 2000):
        print(line, flush=True)
