"""Rates as shares of the machine: the FLOPs that a step needs a second, over the best matrix product of the session.

Needed are the FLOPs of the task's own table (workloads.spec.tasks.step_flops); of sequences at the mean
length without padding. A share above 1 says that one of the two is wrong, so it is flagged and never hidden: a
convolution may need fewer multiplications than its table counts (Winograd), or the product was measured while others
took CPUs.
"""

from collections.abc import Mapping
from operator import methodcaller

from runner.analysis import stats
from runner.analysis.paired import mean_rate
from runner.analysis.summary_format import MachineLimit
from runner.results.records import Product, Unit, best
from runner.results.rows import Measurements, Row, recorded
from workloads.spec import measures, tasks


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


def of(row: Row, products: Mapping[Unit, Product]) -> float | None:
    """The share of the machine that a row's steps need; None of what has no rate, or no product to be a share of."""
    product, rate = products.get(Unit.of(row.cell)), mean_rate(row)
    if product is None or rate is None or row.cell.measure not in measures.RATED or not tasks.is_known(row.cell):
        return None
    steps = rate / (stats.middle(row.ok_runs, row.amount) or 1.0)
    # of sequences without padding
    tokens = stats.middle(row.ok_runs, methodcaller("tokens", "tokens")) if tasks.is_sequence(row.cell.task) else None
    return steps * float(tasks.step_flops(row.cell, tokens)) / product.flops_per_second
