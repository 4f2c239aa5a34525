"""What profiled runs found: operators, the device's time, graphs; and largest batches. Tables of equal cells. Pure."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from runner.analysis.stats import median, middle
from runner.analysis.summary_format import DeviceTime, GraphChange, LargestBatch, Profile
from runner.formatting import rerun
from runner.results.rows import Measurements, Row, by_comparison
from runner.study import operators, quantities


def tables(measured: Measurements) -> dict[str, Any]:
    """The Summary's fields of profiled runs: a table for each comparison, by stack."""
    def stacks(rows: Sequence[Row], read: Callable[[Row], BaseModel | None]) -> dict[str, BaseModel]:
        return {row.cell.stack: value.model_copy(update={"rerun": rerun(measured.session_of(row.key), row.key)})
                for row in rows if row.ok_runs and (value := read(row)) is not None}

    def of(measure: str, read: Callable[[Row], BaseModel | None]) -> list[dict[str, Any]]:
        groups = by_comparison(row for row in measured.rows if row.cell.measure == measure).values()
        return [{"experiment": group[0].experiment, "label": group[0].comparison.label, "task": group[0].cell.task,
                 "stacks": stacks(group, read)} for group in groups]

    return {"operators": of("operators", _profile), "kernels": of("kernels", _device_time),
            "graphs": of("graph", _graph), "largest_batches": of("max_batch", _largest)}


def _profile(row: Row) -> Profile:
    runs = [run for run in row.ok_runs if run.operators]
    own = {name: median([run.operators.get(name, 0.0) for run in runs]) or 0.0
           for name in sorted({name for run in runs for name in run.operators})}
    own_names = operators.named(runs[0].framework if runs else "", own)
    medians = {word: middle(runs, partial(quantities.of, word, row)) for word in operators.WORDS}
    return Profile(seconds={word: seconds for word, seconds in medians.items() if seconds is not None},
                   names={word: dict(sorted(own_names[word].items(), key=lambda item: -item[1]))
                          for word in (*operators.WORDS, "") if word in own_names})


def _device_time(row: Row) -> DeviceTime | None:
    every = [run.kernels for run in row.ok_runs if run.kernels]
    if not every:
        return None
    first = every[0]
    shares = {field: middle(row.ok_runs, partial(quantities.of, name, row)) for field, name in (
        ("kernels", "kernel_share"), ("copies", "copy_share"), ("launches", "launch_share"),
        ("kernels_a_step", "kernels"))}
    seconds = {name: median([getattr(kernels, name) / kernels.steps for kernels in every])
               for name in ("kernel_seconds", "copy_seconds", "overlap_seconds", "gap_seconds")}
    return DeviceTime(**shares, **seconds, gaps=middle(every, lambda kernels: kernels.share(kernels.gap_seconds)),
                      top={name: seconds / first.steps for name, _, seconds in first.top}, source=first.source,
                      top_calls={name: calls / first.steps for name, calls, _ in first.top})


def _graph(row: Row) -> GraphChange | None:
    graph = next((run.graph for run in row.ok_runs if run.graph), None)
    return GraphChange(**graph.model_dump(exclude={"place", "nodes_run"}),
                       removed_share=graph.removed_share) if graph else None


def _largest(row: Row) -> LargestBatch | None:
    least = min((run.max_batch for run in row.ok_runs if run.max_batch), key=lambda each: each.largest, default=None)
    return None if least is None else LargestBatch.model_validate(least, from_attributes=True)
