"""Why a stack gets no word, whatever its interval says. Pure.

A session that was interrupted, or too few of whose rounds could be measured, says none: the same command goes on.
A program that the framework compiles within the timed steps is in their rate. And a stack whose turns get faster or
slower through most of its rounds has no one rate: its warm-up was too short, or it slows down by itself. What the
machine does to some rounds is no doubt: it makes them differ, and the interval wider.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runner import formatting
from runner.analysis.stats import LEAST_ROUNDS, Verdict
from runner.results.rows import Measurements, Row, blocks
from runner.results.runs import Run
from runner.results.turns import TREND
from workloads.spec.measures import OPEN

METHOD = ("any verdict, where the session is unfinished or fewer than five rounds could be measured, where programs "
          "were compiled within timed steps, or where the turns (without turns: twelfths of "
          "the timed steps) of more than half of the runs get faster by more than 5 % from first to last, or slower, "
          "and by more than their noise (t test of the slope, 5 %); of the baseline, too")
REMEDIES = {Verdict.UNFINISHED: "the same command goes on", Verdict.TOO_BUSY: "the same command goes on",
            Verdict.COMPILED: "more --set warmup=", Verdict.NOT_STEADY: "more --set seconds=",
            Verdict.TOO_FEW: "more --rounds, until both ended ok in five"}


class Doubt(NamedTuple):
    """What withholds a word."""

    verdict: Verdict
    text: str                  # the same with the number of runs behind it


Doubts = Mapping[str, Doubt]   # by the key of the row


def of(measured: Measurements) -> Doubts:
    """The doubts about the rows of a session."""
    found = ((row.key, _missing(row, block, measured) or _doubt(row.ok_runs, row.cell.measure))
             for block in blocks(measured.rows).values() for row in block)
    return {key: doubt for key, doubt in found if doubt}


def _is_busy(block: Sequence[Row], rounds: int) -> bool:
    """Whether too few rounds of rows that are measured together count, and not for lost runs alone."""
    return (block[0].counted_rounds < min(LEAST_ROUNDS, rounds)
            and not all(row.is_calm(run) for row in block for run in row.runs))


def _missing(row: Row, block: Sequence[Row], measured: Measurements) -> Doubt | None:
    """What is left to measure."""
    verdict = (Verdict.UNFINISHED if row.key in measured.interrupted else
               Verdict.TOO_BUSY if _is_busy(block, measured.rounds) else None)
    if verdict is None or not any(run.ending == "ok" for run in row.runs):
        return None
    return Doubt(verdict, f"{verdict.value} ({row.counted_rounds} of {measured.rounds} rounds could be measured)")


def _doubt(runs: tuple[Run, ...], measure: str) -> Doubt | None:
    """What the runs show, where they time the same step over and over: epochs are whole, profiles are no rates."""
    if measure not in OPEN:
        return None
    trends = [math.fsum(worker.trend for worker in run.workers) / len(run.workers) for run in runs]
    for verdict, how, count, tolerated in (
            (Verdict.COMPILED, "", sum(any(worker.timed_compiled for worker in run.workers) for run in runs), 0),
            (Verdict.NOT_STEADY, "getting faster in ", sum(each > TREND for each in trends), len(runs) / 2),
            (Verdict.NOT_STEADY, "slowing down in ", sum(each < -TREND for each in trends), len(runs) / 2)):
        if count > tolerated:
            return Doubt(verdict, f"{verdict.value} ({how}{count} of {formatting.count(len(runs), 'run')})")
    return None
