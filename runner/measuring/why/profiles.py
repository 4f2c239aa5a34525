"""The profiled session: the parts of a step of each row and of the best, and the gap between them. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from runner.analysis import stats, step_parts
from runner.analysis.step_parts import Parts
from runner.cells import key
from runner.measuring.why.questions import Question
from runner.planning.plan import Plan, of_cells
from runner.results.rows import Measurements
from runner.results.runs import step_seconds
from workloads.spec import measures
from workloads.spec.cell import Cell

ID = "why-parts"
_MOST_COST = 1.5               # of profiling: a step that takes longer so is another one than that which is asked about
_PROFILED_STEPS = 10


def plan(asked: Sequence[Question], seed: int) -> Plan:
    """A profiled run of each row and each best."""
    rows = dict.fromkeys(row for question in asked for row in question)
    return of_cells(ID, 1, seed, (profiled(row.cell) for row in rows))


def profiled(cell: Cell) -> Cell:
    """The cell that profiles another one's steps."""
    return cell._replace(measure=measures.PARTS[cell.measure], warm="fixed", warmup=3, steps=_PROFILED_STEPS,
                         seconds=0.0, sync="each")


def parts(measured: Measurements, asked: Sequence[Question]) -> dict[str, Parts]:
    """The parts of a step of each row and best whose profiled run went well, by the profiled cell's key."""
    timed = {key(profiled(row.cell)): stats.middle(row.ok_runs, step_seconds) or 0.0
             for question in asked for row in question}
    found = {}
    for row in measured.rows:
        if row.key in timed and (run := next((run for run in row.ok_runs if run.parts), None)) and run.parts:
            seen = run.parts
            found[row.key] = step_parts.parts(run.framework, seen.seconds / seen.steps, {
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


def telling(question: Question, parts: Mapping[str, Parts]) -> dict[str, Parts]:
    """The parts of the row and the best, by stack; {} where one was not profiled, or profiling changed its step."""
    return {} if without_parts(question, parts) else {
        each.cell.stack: parts[key(profiled(each.cell))] for each in question}


def without_parts(question: Question, parts: Mapping[str, Parts]) -> str:
    """Why a row has no parts: a row was not profiled, or profiling makes its step another one; "" where it has."""
    told = []
    for name, own in ((each.cell.stack, parts.get(key(profiled(each.cell)))) for each in question):
        if own is None:
            told.append(f"{name} was not profiled")
        elif own.cost > _MOST_COST:
            told.append(f"profiling makes a step of {name} {own.cost:.1f} times as long")
    return f"No parts are shown: {' and '.join(told)}." if told else ""


def gaps(row: Parts | None = None, best: Parts | None = None) -> dict[str, float]:
    """The share of the gap between two that each part is, the largest first; {} where nobody knows or there is none."""
    if row is None or best is None or row.seconds <= best.seconds:
        return {}
    more = {kind: (row.of(kind) - best.of(kind)) / (row.seconds - best.seconds) for kind in step_parts.KINDS
            if row.of(kind) or best.of(kind)}
    return dict(sorted(more.items(), key=lambda item: -item[1]))
