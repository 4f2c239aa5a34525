"""What both sessions say of each row: the switches that moved its ratio, and a sentence. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis import agreement, curves, doubts, stats
from runner.analysis.paired import Paired
from runner.analysis.stats import Ratio, Verdict
from runner.analysis.step_parts import Parts
from runner.cells import key
from runner.errors import InputError
from runner.measuring.why.profiles import gaps, telling, without_parts
from runner.measuring.why.questions import Question
from runner.measuring.why.trials import Trial
from runner.results.rows import Measurements
from workloads.spec.cell import Cell

_LONG = {"elementwise": "elementwise operators"}
_NOT_SLOWER = {Verdict.FASTER: "faster than", Verdict.NO_DIFFERENCE: "not shown to be slower than",
               Verdict.AS_FAST: "as fast as"}


class Moved(NamedTuple):
    """What a switch did."""

    sets: str
    title: str
    moves: str                     # what else it may change
    ratio: Ratio                   # to the row as it is
    verdict: Verdict               # on it
    to_best: Ratio
    losses: float | None           # the largest relative difference of losses of the same steps; None of none
    check: agreement.Verdict | None = None          # of the model with it against the one without
    problem: str = ""              # why it did not run

    @property
    def helped(self) -> bool:
        """Whether it is shown to be faster, and nothing shows another model."""
        return self.verdict is Verdict.FASTER and not self.differs

    @property
    def differs(self) -> str:
        """Where the model with it is another one; "" where it is not, or only as its precision says."""
        return self.check.first if self.check and self.moves != "precision" else ""

    @property
    def outputs(self) -> float | None:
        """The largest relative difference of what both infer; None where no check tells."""
        return self.check.worst.get("inferred", self.check.worst.get("logits")) if self.check else None

    def told(self) -> str:
        """What it did, for people: "2.60x (2.41–2.80), equal, outputs differ by up to 3e-07"."""
        if self.problem:
            return self.problem
        told = [self.ratio.text("unknown"), *([self.verdict.value] if self.verdict in doubts.REMEDIES else [])]
        if self.moves == "memory":
            told.append("may take more memory")
        if not self.check or self.check.problem:
            told.append(f"not checked{f': {self.check.problem}' if self.check else ''}")
        elif self.moves != "precision":
            told.append(f"another model: differs first in {self.differs}" if self.differs else "equal")
        told += [f"{name} differ by up to {error:.0e}" for name, error in (
            ("outputs", self.outputs), ("losses", self.losses)) if self.moves in ("rounding", "precision") and error]
        return ", ".join(told)

    def record(self) -> dict[str, Any]:
        """For programs."""
        return {"sets": self.sets, "title": self.title, **_record("ratio", self.ratio),
                **_record("to_best", self.to_best), "losses": self.losses, "outputs": self.outputs,
                "is_equal": None if not self.check or self.check.problem else not self.check.first,
                "moves": self.moves, "helped": self.helped, "problem": self.problem, "told": self.told()}


class Reason(NamedTuple):
    """What is known of a row."""

    label: str
    stack: str
    best: str
    ratio: Ratio                   # of the row to the best, in the session of switches
    verdict: Verdict               # on it
    parts: Mapping[str, Parts]     # of the row and the best, by stack; {} where profiling tells nothing of their steps
    without_parts: str             # why there are none; "" where there are
    moved: tuple[Moved, ...]
    untried: tuple[str, ...]       # for want of time

    def record(self) -> dict[str, Any]:
        """For programs."""
        return {"label": self.label, "stack": self.stack, "best": self.best, **_record("ratio", self.ratio),
                "parts": {name: each.record() for name, each in self.parts.items()},
                "without_parts": self.without_parts, "sentence": sentence(self),
                "switches": [each.record() for each in self.moved], "untried": list(self.untried)}


def _record(name: str, ratio: Ratio) -> dict[str, Any]:
    return {name: ratio.value, f"{name}_interval": ratio.interval and ratio.interval.record()}


def of(measured: Measurements, asked: Sequence[Question], tried: Sequence[Trial], untried: Sequence[Trial],
            parts: Mapping[str, Parts], checks: Mapping[str, agreement.Verdict] = MappingProxyType({})) -> list[Reason]:
    """What the session of switches says of each question; checks: by a trial's stack. Raises InputError for another."""
    rows = {row.key: row for row in measured.rows}
    needed = {key(each) for question in asked for each in (question.row.cell, question.best.cell)}
    if not needed <= rows.keys():
        raise InputError("why: the session has other cells than the rows that are asked about")
    error, doubted = stats.error_of(len(asked) + len(tried)), doubts.of(measured)

    def paired(one: Cell, other: Cell) -> Paired:
        return Paired.of(rows[key(one)], rows[key(other)], error, doubted)

    def moved(trial: Trial) -> Moved:
        own, row = rows[key(trial.cell)], rows[key(trial.question.row.cell)]
        losses = curves.Pair.of(own, row).distances()
        failed = next((run for run in own.runs if run.ending != "ok"), None)
        to_row, to_best = (paired(trial.cell, each.cell) for each in trial.question)
        return Moved(trial.sets, trial.switch.title, trial.switch.moves, to_row.ratio, to_row.verdict, to_best.ratio,
                     float(losses.max()) if len(losses) else None, checks.get(trial.cell.stack),
                     f"{failed.ending}: {failed.message}" if failed and not own.ok_runs else "")

    return [Reason(question.row.comparison.label, question.row.cell.stack, question.best.cell.stack,
                   to_best.ratio, to_best.verdict, telling(question, parts), without_parts(question, parts),
                   tuple(moved(trial) for trial in tried if trial.question == question),
                   tuple(trial.sets for trial in untried if trial.question == question))
            for question in asked for to_best in [paired(question.row.cell, question.best.cell)]]


def sentence(reason: Reason) -> str:
    """The answer to why."""
    row, best = reason.stack, reason.best
    if reason.ratio.value is None:
        return f"{row} or {best} did not run, so nothing can be said."
    if now := _NOT_SLOWER.get(reason.verdict):
        return f"{row} is {now} {best} now: {reason.ratio.text()}."
    gap = gaps(reason.parts.get(row), reason.parts.get(best))
    largest = next(iter(gap.items()), None)
    where = f"{_LONG.get(largest[0], largest[0])} ({formatting.share(largest[1])} of the gap)" if largest else ""
    helped = sorted((each for each in reason.moved if each.helped), key=lambda each: -(each.ratio.value or 0.0))
    begins = f"{row} is {reason.ratio.text()} of {best}"
    if not reason.ratio.is_judged:
        begins += f" so far, by {formatting.count(reason.ratio.pairs, 'round')}"
    elif reason.verdict in doubts.REMEDIES:
        begins += f" ({reason.verdict.value})"
    if not helped:
        part = "most" if largest and largest[1] > 0.5 else "the largest part"
        lies = [f"{part} of the gap lies in {where}"] if where else []
        return f"{begins}: {'; '.join([*lies, _none_helped(len(reason.moved), len(reason.untried))])}."
    first, *others = helped
    behind = f" by its {where}" if where else ""
    also = f"; also faster: {', '.join(f'{each.sets} {each.ratio.text()}' for each in others)}" if others else ""
    return (f"{begins}{behind}: with {first.title} ({first.sets}) it is {first.ratio.text()} as fast, "
            f"{first.to_best.text('unknown')} of {best}{also}.")


def _none_helped(tried: int, untried: int) -> str:
    if not tried:
        return "for want of time no switch was tried" if untried else "no documented switch applies"
    left = f", {untried} not tried for want of time" if untried else ""
    return f"of {formatting.count(tried, 'switch', 'switches')} none made it faster{left}"


def rows(of: Sequence[Reason]) -> list[dict[str, Any]]:
    """A row a switch that was tried, of plain values."""
    return [{"label": reason.label, "stack": reason.stack, "best": reason.best, "switch": each.sets,
             "ratio": each.ratio.value, "low": each.ratio.interval and each.ratio.interval.low,
             "high": each.ratio.interval and each.ratio.interval.high, "to_best": each.to_best.value,
             "helped": each.helped} for reason in of for each in reason.moved]
