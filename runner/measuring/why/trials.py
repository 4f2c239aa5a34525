"""The session of switches: which are tried for which rows, the likeliest first, in the time that there is. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runner.analysis.stats import LEAST_ROUNDS
from runner.analysis.step_parts import Parts
from runner.measuring.why.profiles import gaps, telling
from runner.measuring.why.questions import Question, seconds_of_rows, seconds_of_run
from runner.planning.plan import Plan, of_cells
from workloads.spec import switches
from workloads.spec.cell import Cell
from workloads.spec.switches import Switch

ID = "why"
_COMPILING = {"compile": 40.0, "tuned": 60.0, "xla": 10.0}       # seconds that a run's compiler takes, by loop


class Trial(NamedTuple):
    """A switch for a row."""

    question: Question
    switch: Switch
    cell: Cell                     # the row's with the switch, as a stack of another name

    @property
    def sets(self) -> str:
        """What is set, for people."""
        return self.cell.stack.removeprefix(f"{self.question.row.cell.stack}+")


def of(asked: Sequence[Question], parts: Mapping[str, Parts], seconds: Mapping[str, float], budget: float
           ) -> tuple[list[Trial], list[Trial]]:
    """The trials that the budget has room for, and those that it has not.

    The likeliest of each row come first, of the rows those that are the furthest behind. parts: by the key of profiled
    cells; seconds: that a run took, by the key of its cell.
    """
    left = budget - seconds_of_rows({row for question in asked for row in question}, seconds)
    ranked = [each for question in asked for each in enumerate(_candidates(question, parts))]
    chosen, untried = [], []
    for _, trial in sorted(ranked, key=lambda each: (each[0], each[1].question.behind)):
        loop = dict(each.split("=", 1) for each in trial.cell.switches.split()).get("loop", "")
        costs = (LEAST_ROUNDS + 1) * (seconds_of_run(trial.question.row.cell, seconds) + _COMPILING.get(loop, 0.0))
        if costs <= left:
            chosen.append(trial)
            left -= costs
        else:
            untried.append(trial)
    return chosen, untried


def _candidates(question: Question, parts: Mapping[str, Parts]) -> list[Trial]:
    """All switches that apply to a row: what its framework left off here, then by the part of the gap they help."""
    row, first = question.row, question.row.ok_runs[0]
    gap = gaps(*telling(question, parts).values())
    own = {switch: switch.sets.format(cpus=row.cell.cpus) for switch in switches.of(
        first.framework, row.cell, first.facts) if switch.sets}
    likely = sorted(own, key=lambda switch: (not switch.tells, -sum(gap.get(kind, 0.0) for kind in switch.helps)))
    return [Trial(question, switch, row.cell._replace(
        stack=f"{row.cell.stack}+{own[switch]}", switches=f"{row.cell.switches} {own[switch]}".strip()))
        for switch in likely if own[switch] not in row.cell.switches.split()]


def plan(asked: Sequence[Question], chosen: Sequence[Trial], seed: int) -> Plan:
    """Best, rows and trials by turns."""
    rows = dict.fromkeys(row.cell for question in asked for row in question)
    return of_cells(ID, LEAST_ROUNDS, seed, [*rows, *(trial.cell for trial in chosen)])
