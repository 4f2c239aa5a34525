"""Which rows are behind the best of their comparison, and which of them there is time for. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from runner.analysis.paired import mean_rate
from runner.analysis.stats import LEAST_ROUNDS
from runner.cells import key
from runner.errors import InputError, unknown
from runner.planning.plan import run_seconds
from runner.results.rows import Measurements, Row, by_comparison
from workloads.spec import measures
from workloads.spec.cell import Cell

BEHIND = 0.1


class Question(NamedTuple):
    """A row that is behind, and the best of its comparison."""

    row: Row
    best: Row

    @property
    def behind(self) -> float:
        """The row's rate as a share of the best one's."""
        row, best = map(mean_rate, self)
        return row / best if row and best else 0.0


def of(measured: Measurements, stacks: Sequence[str] = ()) -> list[Question]:
    """The rows that are more than a tenth behind, or all of the stacks that are named. Raises InputError."""
    if measured.rows and all(row.cell.measure == "step" for row in measured.rows):
        raise InputError("why: found code, expected models: nobody knows the parts of a step() of your own; a profiler "
                         "such as py-spy shows them")
    known = {row.cell.stack for row in measured.rows}
    named = {name for word in stacks for name in _named(word, known)}
    asked = []
    able = [row for row in measured.rows if row.rates and row.cell.measure in measures.RATED
            and row.cell.parallel == "none"]
    for rows in by_comparison(able).values():
        *behind, best = sorted(rows, key=lambda row: mean_rate(row) or 0.0)
        if stacks and best.cell.stack in named:            # the one that is nearest to it stands for all
            asked += [Question(row, best) for row in behind[-1:]]
        asked += [question for row in behind if (question := Question(row, best)) not in asked and (
            row.cell.stack in named if stacks else question.behind < 1 - BEHIND)]
    return asked


def _named(word: str, known: Collection[str]) -> list[str]:
    """The stacks that a word of --stack means: of that name, else of the framework, such as tf. Raises InputError."""
    if found := [word] if word in known else [name for name in known if name.partition("-")[0] == word]:
        return found
    raise unknown("why: --stack", word, sorted(known))


def affordable(asked: Sequence[Question], seconds: Mapping[str, float], budget: float) -> list[Question]:
    """Those that the budget has time for without a switch, the furthest behind first, and at least one."""
    chosen: list[Question] = []
    for question in sorted(asked, key=lambda question: question.behind):
        rows = {row for each in (*chosen, question) for row in each}
        if not chosen or seconds_of_rows(rows, seconds) <= budget:
            chosen.append(question)
    return [question for question in asked if question in chosen]


def seconds_of_rows(rows: Iterable[Row], seconds: Mapping[str, float]) -> float:
    """Seconds that rows take without a switch: all rounds, a profiled run and a check."""
    return (LEAST_ROUNDS + 2) * sum(seconds_of_run(row.cell, seconds) for row in rows)


def seconds_of_run(cell: Cell, seconds: Mapping[str, float]) -> float:
    """Seconds of a run of the cell: as earlier runs took, else estimated."""
    return seconds.get(key(cell)) or run_seconds(cell)
