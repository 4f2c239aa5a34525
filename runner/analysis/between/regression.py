"""Whether a head is slower than its base by more than is allowed, over all comparisons of one session. Pure.

The head is slower where the interval of its ratio to the base, as the session's report has it (summary.words_of), lies
below the allowed ratio, 1 - allow, and within the allowance where all intervals lie above it: at most one session in
twenty of equal sides is called slower. For what lies between, the rounds that would tell are said.
"""

import math
from collections.abc import Sequence, Set
from enum import StrEnum
from typing import Any, NamedTuple

from runner import formatting, schemas, student_t
from runner.analysis import doubts, stats
from runner.analysis.doubts import Doubts
from runner.analysis.paired import Paired
from runner.analysis.stats import LEAST_ROUNDS, Ratio
from runner.analysis.summary import timed, words_of
from runner.cells import lanes_key
from runner.errors import InputError
from runner.results.rows import Measurements, Row

ROUNDS = 10
_POWER = 0.8                     # with which the estimated rounds would tell
MOST_ROUNDS = 1000


def rounds_within(seconds: float, of_round: float) -> int:
    """The most rounds to plan for so much time; twice what is thought to fit, since a guess may be too high."""
    return max(2 * LEAST_ROUNDS, min(MOST_ROUNDS, math.ceil(2 * seconds / max(of_round, 1.0))))


class Answer(StrEnum):
    """What a comparison shows, or all of them: the first that one of them shows."""

    SLOWER = "slower than allowed"
    BROKEN = "the head did not run"
    UNCLEAR = "could not tell"
    WITHIN = "within the allowance"


# of a session that is complete
EXIT_CODES = {Answer.WITHIN: 0, Answer.SLOWER: 1, Answer.BROKEN: 1, Answer.UNCLEAR: 3}


class Compared(NamedTuple):
    """One comparison of head and base."""

    block: str                       # (rows.blocks) that it is measured in
    label: str
    measure: str
    unit: str
    base: float | None               # rates of one worker
    head: float | None
    ratio: Ratio                     # head over base
    answer: Answer
    reason: str = ""                 # why it could not be told

    def record(self) -> dict[str, Any]:
        """The same as JSON values."""
        interval = self.ratio.interval
        return {"label": self.label, "measure": self.measure, "unit": self.unit, "base": self.base, "head": self.head,
                "ratio": self.ratio.value, "interval": interval and interval.record(), "rounds": self.ratio.pairs,
                "answer": self.answer.value, "reason": self.reason}


class Outcome(NamedTuple):
    """All comparisons of a session."""

    base: str
    head: str
    allow: float
    compared: tuple[Compared, ...]

    @property
    def answer(self) -> Answer:
        """Slower, or broken, where one is; within where all are."""
        answers = {each.answer for each in self.compared}
        return next(each for each in Answer if each in answers)

    @property
    def decided(self) -> Set[str]:
        """The blocks that need no more rounds: all, once one comparison is slower."""
        unclear = {each.block for each in self.compared if each.answer is Answer.UNCLEAR}
        return {each.block for each in self.compared} - (set() if self.answer is Answer.SLOWER else unclear)

    def record(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {"schema": schemas.GATE, "base": self.base, "head": self.head, "allow": self.allow,
                "answer": self.answer.value, "compared": [each.record() for each in self.compared]}


def judge(measured: Measurements, base: str, head: str, allow: float) -> Outcome:
    """What a session of both says. Raises InputError where no comparison has both."""
    groups = timed(measured)
    pairs = [(group[base], group[head]) for group in groups if base in group and head in group]
    if not pairs:
        raise InputError(f"gate: found no cell that both {base} and {head} have; `evenbench plan` says why cells are "
                         "skipped")
    error, doubted = stats.error_of(words_of(groups, base)), doubts.of(measured)
    least = min(LEAST_ROUNDS, measured.rounds)
    return Outcome(base, head, allow, tuple(_compared(of_base, of_head, doubted, 1 - allow, error, least)
                                            for of_base, of_head in pairs))


def _compared(base: Row, head: Row, doubted: Doubts, limit: float, error: float, least: int) -> Compared:
    paired, answer = Paired.of(head, base, error, doubted), Answer.UNCLEAR
    ratio, reason = paired.ratio, paired.withheld(head.cell.stack, base.cell.stack)
    if base.rates and not head.rates and head.runs:
        last = next(run for run in reversed(head.runs) if run.counts)
        answer = Answer.BROKEN if len(base.rates) >= least else answer
        reason = f"{last.ending}: {last.message}" if last.message else last.ending
    elif not ratio.is_judged:
        reason = reason or f"{formatting.count(ratio.pairs, 'round')} in which both ended ok, {LEAST_ROUNDS} are needed"
    elif not reason and ratio.excludes(limit):
        answer = Answer.SLOWER if (ratio.value or 0.0) < limit else Answer.WITHIN
    elif not reason:
        reason = _rounds_that_would_tell(ratio, limit, error * base.look.share)
    of_head, of_base = paired.rates
    return Compared(lanes_key(base.cell), base.comparison.label, base.cell.measure, base.unit, of_base, of_head, ratio,
                    answer, reason)


def _rounds_that_would_tell(ratio: Ratio, limit: float, error: float) -> str:
    """How many rounds would show a ratio like this one to be on its side of the limit, by the normal approximation."""
    mean = ratio.mean
    away = abs(mean.value - math.log(limit)) if mean else 0.0
    if mean is None or away < math.log1p(stats.LEAST_DIFFERENCE):
        return f"the ratio is within {formatting.share(stats.LEAST_DIFFERENCE)} of the allowed one"
    reach = student_t.quantile(1 - error / 2, MOST_ROUNDS) + student_t.quantile(_POWER, MOST_ROUNDS)
    rounds = max(ratio.pairs + 1, math.ceil(ratio.pairs * (reach * mean.error / away)**2))
    return (f"about {rounds} rounds would tell" if rounds <= MOST_ROUNDS
            else f"more than {MOST_ROUNDS} rounds would be needed: the ratio is too near to the allowed one")


def conclusion(outcome: Outcome) -> str:
    """The outcome in a sentence."""
    named = [each.label for each in outcome.compared if each.answer is outcome.answer]
    what = f"slower than {outcome.base} by more than {formatting.share(outcome.allow)}"
    where = f"in {len(named)} of {len(outcome.compared)}"
    match outcome.answer:
        case Answer.WITHIN:
            return f"{outcome.head} is not {what} in any of {formatting.count(len(named), 'comparison')}."
        case Answer.SLOWER:
            return f"{outcome.head} is {what} {where}: {'; '.join(named)}."
        case Answer.BROKEN:
            return f"{outcome.head} did not run where {outcome.base} did, {where}: {'; '.join(named)}."
    return f"It is undecided whether {outcome.head} is {what} {where}."


def columns(outcome: Outcome) -> Sequence[dict[str, str]]:
    """A row a comparison, for every form."""
    return [{"comparison": f"{each.label}: {each.unit}",
             **{side: "-" if rate is None else formatting.number(rate)
                for side, rate in (("base", each.base), ("head", each.head))},
             "head / base": each.ratio.text(),
             "": each.answer.value + (f" ({each.reason})" if each.reason else "")} for each in outcome.compared]
