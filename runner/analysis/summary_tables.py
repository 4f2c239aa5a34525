"""A summary's tables beside its comparisons: lanes, profiled runs, largest batches, what the machine reaches. Pure.

Lanes: how fast each stack is as it stands (common, loop native) and as its experts would tune it (loop tuned). Two
comparisons are a pair where their cells differ in the loop alone. Ratios of a stack's lanes are as those of stacks.

Rates as shares of the machine: the FLOPs that a step needs a second, over the best matrix product of the session.
Needed are the FLOPs of the task's own table (workloads.spec.tasks.step_flops); of sequences at the mean
length without padding. A share above 1 says that one of the two is wrong, so it is flagged and never hidden: a
convolution may need fewer multiplications than its table counts (Winograd), or the product was measured while others
took CPUs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any

from pydantic import BaseModel

from runner.analysis.doubts import Doubts
from runner.analysis.paired import Paired, mean_rate
from runner.analysis.stats import Ratio, Verdict, median, middle
from runner.analysis.summary_format import (
    Comparison,
    DeviceTime,
    GraphChange,
    LaneResult,
    Lanes,
    LargestBatch,
    MachineLimit,
    Profile,
    Result,
)
from runner.cells import lanes_key
from runner.formatting import rerun
from runner.results.records import Product, Unit, best
from runner.results.rows import Measurements, Row, by_comparison, recorded
from runner.study import operators, quantities
from workloads.spec import measures, tasks

_SWITCHES = ("loop", "layout", "precision", "attention")     # facts that say what the tuned runs really had on
Groups = Sequence[Mapping[str, Row]]           # the comparisons, each as its rows by stack


def words(groups: Groups) -> int:
    """How many words they could say of tuned against common."""
    return sum(name in groups[common] for common, tuned in _places(groups) for name in groups[tuned])


def _places(groups: Groups) -> list[tuple[int, int]]:
    """The places of a common comparison and of its tuned one."""
    first = [next(iter(rows.values())) for rows in groups]
    places = {row.comparison.key: place for place, row in enumerate(first)}
    return [(places[common], place) for place, row in enumerate(first)
            if (common := lanes_key(row.cell)) != row.comparison.key and common in places]


def lanes(groups: Groups, comparisons: Sequence[Comparison], doubts: Doubts, error: float) -> Iterator[Lanes]:
    """The Lanes of each pair among the comparisons; error: of the ratios' intervals."""
    for common_place, tuned_place in _places(groups):
        common, tuned, beside = comparisons[common_place], comparisons[tuned_place], groups[common_place]
        rates = {result.stack: result.rate_per_worker for result in common.results}
        yield Lanes(
            experiment=tuned.experiment, label=common.label, unit=common.unit, task=tuned.task,
            common=common.key, tuned=tuned.key,
            results=tuple(_lane(each, rates.get(each.stack), groups[tuned_place].get(each.stack),
                                beside.get(each.stack), doubts, error) for each in tuned.results),
            common_winner=common.winner, tuned_winner=tuned.winner, common_left_out=common.left_out,
            tuned_left_out=tuned.left_out)


def _lane(tuned: Result, common_rate: float | None, row: Row | None, other: Row | None, doubts: Doubts, error: float
          ) -> LaneResult:
    """row: of the tuned lane, other: of the common one."""
    paired = Paired.of(row, other, error, doubts) if row and other and row.rates and other.rates else None
    ratio = paired.ratio if paired else Ratio()
    facts = row.ok_runs[0].facts if row and row.ok_runs else {}
    return LaneResult(
        stack=tuned.stack, common_rate=common_rate, tuned_rate=tuned.rate_per_worker,
        ratio=ratio.value, ratio_interval=ratio.interval, pairs=ratio.pairs,
        verdict=paired.verdict if paired else Verdict.NO_DATA,
        withheld=paired.withheld("tuned", "common") if paired else "",
        switches={name: str(facts[name]) for name in _SWITCHES if name in facts}, endings=tuned.endings,
        first_step_seconds=tuned.first_step_seconds, compile_seconds=tuned.compile_seconds)


def profiles(measured: Measurements) -> dict[str, Any]:
    """The Summary's fields of profiled runs: a table for each comparison, by stack."""
    def of(measure: str, read: Callable[[Row], BaseModel | None]) -> list[dict[str, Any]]:
        groups = by_comparison(row for row in measured.rows if row.cell.measure == measure).values()
        return [{"experiment": group[0].experiment, "label": group[0].comparison.label, "task": group[0].cell.task,
                 "stacks": {row.cell.stack: value.model_copy(update={
                     "rerun": rerun(measured.session_of(row.key), row.key)})
                     for row in group if row.ok_runs and (value := read(row)) is not None}} for group in groups]

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


def limits(measured: Measurements) -> tuple[MachineLimit, ...]:
    """The best product of each device, precision and number of threads."""
    return tuple(MachineLimit(
        **unit._asdict(), stack=product.stack, device_name=_name(measured, product),
        flops_per_second=product.flops_per_second) for unit, product in best(measured.products).items())


def _name(measured: Measurements, product: Product) -> str:
    """NVML's name of the GPU, since frameworks shorten it. A slice is named so."""
    devices = recorded(measured.session, "gpus").get("devices")
    first = devices[0] if isinstance(devices, list) and devices and isinstance(devices[0], dict) else {}
    if product.device != "gpu" or not first:
        return product.device_name
    name = str(first.get("name", ""))
    return name if first.get("uuid") == first.get("board") else f"a slice of {name}"


def machine_share(row: Row, products: Mapping[Unit, Product]) -> float | None:
    """The share of the machine that a row's steps need; None of what has no rate, or no product to be a share of."""
    product, rate = products.get(Unit.of(row.cell)), mean_rate(row)
    if product is None or rate is None or row.cell.measure not in measures.RATED or not tasks.is_known(row.cell):
        return None
    steps = rate / (middle(row.ok_runs, row.amount) or 1.0)
    # of sequences without padding
    tokens = middle(row.ok_runs, methodcaller("tokens", "tokens")) if tasks.is_sequence(row.cell.task) else None
    return steps * float(tasks.step_flops(row.cell, tokens)) / product.flops_per_second
