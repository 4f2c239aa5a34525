"""Rates as shares of the machine: the FLOPs that a step needs a second, over the best matrix product of the session.

Needed are the FLOPs of the task's own table (workloads.spec.tasks.step_flops); of sequences at the mean
length without padding. A share above 1 says that one of the two is wrong, so it is flagged and never hidden: a
convolution may need fewer multiplications than its table counts (Winograd), or the product was measured while others
took CPUs.
"""

from collections.abc import Mapping, Sequence

from runner.analysis.flags import Flag
from runner.analysis.stats import middle
from runner.analysis.summary_format import Comparison, MachineLimit, Result
from runner.results.records import Product, Unit, best
from runner.results.rows import Measurements, Row, recorded
from runner.results.runs import Run
from workloads.spec import measures, tasks
from workloads.spec.cell import Cell


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


def shared(comparisons: Sequence[Comparison], measured: Measurements) -> tuple[Comparison, ...]:
    """The comparisons, with each rate's share of the machine."""
    products, rows = best(measured.products), {row.key: row for row in measured.rows}
    if not products:
        return tuple(comparisons)
    return tuple(comparison if comparison.measure not in measures.RATED else comparison.model_copy(update={
        "results": tuple(_with_share(result, rows.get(result.key), products) for result in comparison.results)})
        for comparison in comparisons)


def _with_share(result: Result, row: Row | None, products: Mapping[Unit, Product]) -> Result:
    """The result with its share; none where it computed in another precision than the product of the cell."""
    product = products.get(Unit.of(row.cell)) if row else None
    if (row is None or product is None or result.rate_per_worker is None or not tasks.is_known(row.cell)
            or Flag.OTHER_PRECISION in result.flags):
        return result
    steps = result.rate_per_worker / (middle(row.ok_runs, row.amount) or 1.0)
    share = steps * needed_flops(row.cell, row.ok_runs) / product.flops_per_second
    flags = (*result.flags, Flag.ABOVE_MACHINE) if share > 1 else result.flags
    return result.model_copy(update={"machine_share": share, "flags": flags})


def needed_flops(cell: Cell, runs: Sequence[Run]) -> float:
    """The FLOPs that a step needs, without padding."""
    tokens = middle(runs, lambda run: run.tokens("tokens")) if tasks.is_sequence(cell.task) else None
    return float(tasks.step_flops(cell, tokens))
