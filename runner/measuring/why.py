"""Why a row is behind the best of its comparison: what takes the time, and which switch moves it. Pure.

Two sessions answer it. One profiles the rows and the best (spec.measures.PARTS); the other runs, by turns in one
comparison, the best, each row as it is, and each row with one of the switches that apply to it (spec.switches), the
likeliest first, as many as the time allows. A reason is said only where its switch moved the ratio.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis import agreement, kinds, stats
from runner.analysis.kinds import Parts
from runner.analysis.stats import LEAST_ROUNDS, Ratio, Verdict
from runner.cells import key
from runner.errors import InputError, unknown
from runner.planning.plan import Plan, Planned, run_seconds
from runner.results.rows import Measurements, Row, by_comparison
from runner.results.runs import step_seconds
from runner.study.file import Study
from workloads.spec import measures, switches
from workloads.spec.cell import Cell
from workloads.spec.switches import Switch

ID, ID_OF_PARTS = "why", "why-parts"
FORMAT = 2                     # of its records
BEHIND = 0.1
_MOST_COST = 1.5               # of profiling: a step that takes longer so is another one than that which is asked about
_COMPILING = {"compile": 40.0, "tuned": 60.0, "xla": 10.0}       # seconds that a run's compiler takes, by loop
_PROFILED_STEPS = 10
_LONG = {"elementwise": "elementwise operators"}


class Question(NamedTuple):
    """A row that is behind, and the best of its comparison."""

    row: Row
    best: Row

    @property
    def behind(self) -> float:
        """The row's rate as a share of the best one's."""
        return _rate(self.row) / _rate(self.best)


class Trial(NamedTuple):
    """A switch for a row."""

    question: Question
    switch: Switch
    cell: Cell                     # the row's with the switch, as a stack of another name

    @property
    def sets(self) -> str:
        """What is set, for people."""
        return self.cell.stack.removeprefix(f"{self.question.row.cell.stack}+")


class Moved(NamedTuple):
    """What a switch did."""

    sets: str
    title: str
    moves: str                     # what else it may change
    ratio: Ratio                   # to the row as it is
    to_best: Ratio
    losses: float | None           # the largest relative difference of losses of the same steps; None of none
    check: agreement.Verdict | None = None          # of the model with it against the one without
    problem: str = ""              # why it did not run

    @property
    def helped(self) -> bool:
        """Whether it is shown to be faster, and nothing shows another model."""
        return stats.verdict(self.ratio) is Verdict.FASTER and not self.differs

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
        told = [_ratio(self.ratio)]
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


def questions(measured: Measurements, stacks: Sequence[str] = ()) -> list[Question]:
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
        *behind, best = sorted(rows, key=_rate)
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
        if not chosen or _of_rows(rows, seconds) <= budget:
            chosen.append(question)
    return [question for question in asked if question in chosen]


def _rate(row: Row) -> float:
    return stats.geometric_mean(row.rates.values()) or 0.0


def parts_plan(asked: Sequence[Question], seed: int) -> Plan:
    """A profiled run of each row and each best."""
    rows = dict.fromkeys(row for question in asked for row in question)
    return _plan(ID_OF_PARTS, 1, seed, (profiled(row.cell) for row in rows))


def profiled(cell: Cell) -> Cell:
    """The cell that profiles another one's steps."""
    return cell._replace(measure=measures.PARTS[cell.measure], warm="fixed", warmup=3, steps=_PROFILED_STEPS,
                         seconds=0.0, sync="each")


def parts_of(measured: Measurements, asked: Sequence[Question]) -> dict[str, Parts]:
    """The parts of a step of each row and best whose profiled run went well, by the profiled cell's key."""
    timed = {key(profiled(row.cell)): stats.middle(row.ok_runs, step_seconds) or 0.0
             for question in asked for row in question}
    found = {}
    for row in measured.rows:
        if row.key in timed and (run := next((run for run in row.ok_runs if run.parts), None)) and run.parts:
            seen = run.parts
            found[row.key] = kinds.parts(run.framework, seen.seconds / seen.steps, {
                name: spent / seen.steps for name, spent in seen.operators.items()}, timed[row.key])
    return found


def trace(measured: Measurements) -> dict[str, Any]:
    """A profiled step of each row as Chrome's trace, which Perfetto reads: a process a row, moments in microseconds."""
    events: list[dict[str, Any]] = []
    for process, row in enumerate(measured.rows, 1):
        events.append({"ph": "M", "name": "process_name", "pid": process,
                       "args": {"name": f"{row.cell.stack}: {row.comparison.label}"}})
        for seen in (run.parts for run in row.ok_runs if run.parts):
            events += [{"ph": "X", "pid": process, "tid": thread, "name": seen.names[name], "ts": began / 1000,
                        "dur": lasted / 1000} for thread, name, began, lasted in seen.spans]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def trials(asked: Sequence[Question], parts: Mapping[str, Parts], seconds: Mapping[str, float], budget: float
           ) -> tuple[list[Trial], list[Trial]]:
    """The trials that the budget has room for, and those that it has not.

    The likeliest of each row come first, of the rows those that are the furthest behind. Each costs its rounds and a
    check.

    parts: by the key of profiled cells; seconds: that a run took, by the key of its cell.
    """
    left = budget - _of_rows({row for question in asked for row in question}, seconds)
    ranked = [each for question in asked for each in enumerate(_candidates(question, parts))]
    chosen, untried = [], []
    for _, trial in sorted(ranked, key=lambda each: (each[0], each[1].question.behind)):
        loop = dict(each.split("=", 1) for each in trial.cell.switches.split()).get("loop", "")
        costs = (LEAST_ROUNDS + 1) * (_of_run(trial.question.row.cell, seconds) + _COMPILING.get(loop, 0.0))
        if costs <= left:
            chosen.append(trial)
            left -= costs
        else:
            untried.append(trial)
    return chosen, untried


def _of_rows(rows: Iterable[Row], seconds: Mapping[str, float]) -> float:
    """Seconds that rows take without a switch: all rounds, a profiled run and a check."""
    return (LEAST_ROUNDS + 2) * sum(_of_run(row.cell, seconds) for row in rows)


def _of_run(cell: Cell, seconds: Mapping[str, float]) -> float:
    return seconds.get(key(cell)) or run_seconds(cell)


def _candidates(question: Question, parts: Mapping[str, Parts]) -> list[Trial]:
    """All switches that apply to a row: what its framework left off here, then by the part of the gap they help."""
    row, first = question.row, question.row.ok_runs[0]
    gap = gaps(*_telling(question, parts).values())
    own = {switch: switch.sets.format(cpus=row.cell.cpus) for switch in switches.of(
        first.framework, row.cell, first.facts) if switch.sets}
    likely = sorted(own, key=lambda switch: (not switch.tells, -sum(gap.get(kind, 0.0) for kind in switch.helps)))
    return [Trial(question, switch, row.cell._replace(
        stack=f"{row.cell.stack}+{own[switch]}", switches=f"{row.cell.switches} {own[switch]}".strip()))
        for switch in likely if own[switch] not in row.cell.switches.split()]


def _telling(question: Question, parts: Mapping[str, Parts]) -> dict[str, Parts]:
    """The parts of the row and the best, by stack; {} where one was not profiled, or profiling changed its step."""
    found = {each.cell.stack: parts.get(key(profiled(each.cell))) for each in question}
    telling = {name: each for name, each in found.items() if each and each.cost <= _MOST_COST}
    return telling if len(telling) == len(found) else {}


def _without_parts(question: Question, parts: Mapping[str, Parts]) -> str:
    """Why a row has no parts: its own, or the best one's, are of another step than the one that is asked about."""
    if _telling(question, parts):
        return ""
    told = []
    for name, own in ((each.cell.stack, parts.get(key(profiled(each.cell)))) for each in question):
        if own is None:
            told.append(f"{name} was not profiled")
        elif own.cost > _MOST_COST:
            told.append(f"profiling makes a step of {name} {own.cost:.1f} times as long")
    return f"No parts are shown: {' and '.join(told)}."


def gaps(row: Parts | None = None, best: Parts | None = None) -> dict[str, float]:
    """The share of the gap between two that each part is, the largest first; {} where nobody knows or there is none."""
    if row is None or best is None or row.seconds <= best.seconds:
        return {}
    more = {kind: (row.of(kind) - best.of(kind)) / (row.seconds - best.seconds) for kind in row.kinds(best)}
    return dict(sorted(more.items(), key=lambda item: -item[1]))


def switches_plan(asked: Sequence[Question], chosen: Sequence[Trial], seed: int) -> Plan:
    """Best, rows and trials by turns."""
    rows = dict.fromkeys(row.cell for question in asked for row in question)
    return _plan(ID, LEAST_ROUNDS, seed, [*rows, *(trial.cell for trial in chosen)])


def _plan(identifier: str, rounds: int, seed: int, cells: Iterable[Cell]) -> Plan:
    planned = tuple(Planned(key(cell), cell.measure, cell) for cell in cells)
    study = Study(identifier, identifier, rounds, planned[0].cell.stack, "", ())
    return Plan(study, rounds, planned[0].cell.stack, seed, planned, ())


def reasons(measured: Measurements, asked: Sequence[Question], tried: Sequence[Trial], untried: Sequence[Trial],
            parts: Mapping[str, Parts], checks: Mapping[str, agreement.Verdict] = MappingProxyType({})) -> list[Reason]:
    """What the session of switches says of each question; checks by a trial's stack.

    Raises InputError where it is another session.
    """
    rows = {row.key: row for row in measured.rows}
    needed = {key(each) for question in asked for each in (question.row.cell, question.best.cell)}
    if not needed <= rows.keys():
        raise InputError("why: the session has other cells than the rows that are asked about")
    error = stats.error_of(len(asked) + len(tried))

    def ratio(one: Cell, other: Cell) -> Ratio:
        return stats.ratio(rows[key(one)].rates, rows[key(other)].rates, error * rows[key(one)].look.share)

    def moved(trial: Trial) -> Moved:
        own, row = rows[key(trial.cell)], rows[key(trial.question.row.cell)]
        failed = next((run for run in own.runs if run.ending != "ok"), None)
        return Moved(trial.sets, trial.switch.title, trial.switch.moves, ratio(trial.cell, row.cell),
                     ratio(trial.cell, trial.question.best.cell), _losses(own, row), checks.get(trial.cell.stack),
                     f"{failed.ending}: {failed.message}" if failed and not own.ok_runs else "")

    return [Reason(question.row.comparison.label, question.row.cell.stack, question.best.cell.stack,
                   ratio(question.row.cell, question.best.cell),
                   _telling(question, parts), _without_parts(question, parts),
                   tuple(moved(trial) for trial in tried if trial.question == question),
                   tuple(trial.sets for trial in untried if trial.question == question)) for question in asked]


def _losses(own: Row, row: Row) -> float | None:
    """The largest relative difference of the losses of the same steps in the first round that both have."""
    told: list[dict[int, dict[int, float]]] = [
        {run.round: dict(zip(run.first.loss_steps, run.first.losses.tolist(), strict=True)) for run in each.ok_runs}
        for each in (own, row)]
    for index in sorted(told[0].keys() & told[1].keys()):
        one, other = (each[index] for each in told)
        if shared := one.keys() & other.keys():
            return max(abs(one[step] - other[step]) / max(abs(other[step]), 1e-12) for step in shared)
    return None


def sentence(reason: Reason) -> str:
    """The answer to why."""
    row, best = reason.stack, reason.best
    if reason.ratio.value is None:
        return f"{row} or {best} did not run, so nothing can be said."
    if (word := stats.verdict(reason.ratio)) in (Verdict.FASTER, Verdict.NO_DIFFERENCE):
        now = "faster" if word is Verdict.FASTER else "not shown to be slower"
        return f"{row} is {now} than {best} now: {_ratio(reason.ratio)}."
    gap = gaps(reason.parts.get(row), reason.parts.get(best))
    largest = next(iter(gap.items()), None)
    where = f"{_LONG.get(largest[0], largest[0])} ({formatting.share(largest[1])} of the gap)" if largest else ""
    helped = sorted((each for each in reason.moved if each.helped), key=lambda each: -(each.ratio.value or 0.0))
    begins = f"{row} is {_ratio(reason.ratio)} of {best}"
    if word is Verdict.TOO_FEW:
        begins += f" so far, by {formatting.count(reason.ratio.pairs, 'round')}"
    if not helped:
        part = "most" if largest and largest[1] > 0.5 else "the largest part"
        lies = [f"{part} of the gap lies in {where}"] if where else []
        return f"{begins}: {'; '.join([*lies, _none_helped(len(reason.moved), len(reason.untried))])}."
    first, *others = helped
    behind = f" by its {where}" if where else ""
    also = f"; also faster: {', '.join(f'{each.sets} {_ratio(each.ratio)}' for each in others)}" if others else ""
    return (f"{begins}{behind}: with {first.title} ({first.sets}) it is {_ratio(first.ratio)} as fast, "
            f"{_ratio(first.to_best)} of {best}{also}.")


def _none_helped(tried: int, untried: int) -> str:
    if not tried:
        return "for want of time no switch was tried" if untried else "no documented switch applies"
    left = f", {untried} not tried for want of time" if untried else ""
    return f"of {formatting.count(tried, 'switch', 'switches')} none made it faster{left}"


def _ratio(ratio: Ratio) -> str:
    return "not told" if ratio.value is None else formatting.ratio(ratio.value, ratio.interval)


def rows(of: Sequence[Reason]) -> list[dict[str, Any]]:
    """A row a switch that was tried, of plain values."""
    return [{"label": reason.label, "stack": reason.stack, "best": reason.best, "switch": each.sets,
             "ratio": each.ratio.value, "low": each.ratio.interval and each.ratio.interval.low,
             "high": each.ratio.interval and each.ratio.interval.high, "to_best": each.to_best.value,
             "helped": each.helped} for reason in of for each in reason.moved]
