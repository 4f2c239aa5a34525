"""The machine's best matrix product: who is asked, what is kept of it, and each rate's share of it."""

from pathlib import Path
from typing import Any

import pytest

from runner.analysis.flags import Flag
from runner.analysis.summary import summary_of
from runner.errors import InputError
from runner.measuring import matrix_products
from runner.measuring.matrix_products import record
from runner.planning.plan import Wishes, plan
from runner.report.rates import machine_limits
from runner.results import store
from runner.results.records import Unit
from runner.results.rows import Measurements
from tests import made_rows as made
from tests.clock import FakeClock
from tests.fake_session import STACKS, bench, events, stored
from tests.fakes import MACHINE, no_engine, study
from tests.sent import Sent
from workloads.measuring.matrix_products import sizes
from workloads.spec import tasks
from workloads.spec.cell import Cell

START = b'{"event": "start", "facts": {"device": "a CPU"}, "parameters": null, "flops": 0}\n'
END = b'{"event": "end", "status": "ok", "message": ""}\n'


def told(seconds: float, size: int = 1000) -> bytes:
    return (b'{"event": "product", "numbers": "float32", "size": %d, "count": 2, "seconds": [%g, 9.0]}\n'
            % (size, seconds))


def measured(folder: Path, script: Any, is_stopping: Any = lambda: False) -> list[store.Record]:
    """The products that a session of both stacks stores."""
    made = bench(folder, script)._replace(is_stopping=is_stopping)
    stored(made, matrix_products.measure(made))
    return events(folder, "product")


def test_each_stack_is_asked_once_for_each_precision_and_number_of_threads_of_a_rate() -> None:
    grid = {"batch": [1, 2], "precision": ["float32", "float64"], "cpus": [1, 2]}
    rates, others = (matrix_products.cells(plan(each, STACKS, MACHINE, Wishes(), lambda stack: None))
                     for each in (study("a", "b", grid=grid), study("a", measure="operators")))
    assert 2 * 2 * 2 == len(rates) == len({(cell.stack, cell.precision, cell.cpus) for cell in rates})
    assert {"product"} == {cell.measure for cell in rates} and [] == others


def test_blocks_are_stored_raw_with_the_stack_and_what_they_are_of(tmp_path: Path) -> None:
    first, second = measured(tmp_path, lambda cell, run: [START, told(0.5), END])

    assert ["a", "b"] == [first["stack"], second["stack"]]
    assert ("cpu", "float32", 2, "a CPU", "ok") == tuple(
        first[name] for name in ("device", "precision", "cpus", "device_name", "ending"))
    assert [{"numbers": "float32", "size": 1000, "count": 2, "seconds": [0.5, 9.0]}] == first["blocks"]


def test_a_resumed_session_measures_only_what_is_missing(tmp_path: Path) -> None:
    asked: list[str] = []

    def script(cell: Cell, run: str) -> list[bytes]:
        asked.append(cell.stack)
        return [START, told(0.5), END]

    measured(tmp_path, script, is_stopping=lambda: len(asked) == 2)          # the second one is cut short
    again = measured(tmp_path, script)

    assert (["a", "b", "b"], ["a", "b"]) == (asked, [each["stack"] for each in again])


def test_a_stack_without_a_product_is_stored_with_the_reason_and_not_asked_again(tmp_path: Path) -> None:
    end = b'{"event": "end", "status": "unsupported", "message": "none"}\n'
    products_measured = measured(tmp_path, lambda cell, run: [end] if cell.stack == "a" else no_engine())

    assert [("unsupported", "none", []), ("not_started", "the engine went away", [])] == [
        (each["ending"], each["message"], each["blocks"]) for each in products_measured]
    assert 2 == len(measured(tmp_path, lambda cell, run: [START, told(0.5), END]))


def of(name: str, seconds: float, unit: Unit = Unit("cpu", "float32", 2), **values: Any) -> store.Record:  # noqa: B008
    """A product of 1,000 by 1,000: 2 GFLOP in so many seconds."""
    block = {"numbers": "float32", "size": 1000, "count": 1, "seconds": [seconds, 2 * seconds]}
    return record(name, unit, "ok", **{"blocks": [block], **values})


RATE = 100.0
TORCH = made.cell("torch")
FLOPS = tasks.step_flops(TORCH) / 10             # a sample's, of the ten in a batch


def session(*more: store.Record, cell: Cell = TORCH, **values: Any) -> Measurements:
    return made.measured(cell, made.session(**values), *more, *made.runs(cell, [RATE] * 5))


def test_the_limit_is_the_best_product_of_any_stack() -> None:
    summary = summary_of(session(of("torch", 0.5), of("tf", 0.1), of("mxnet", 0.2)))
    assert [("tf", 20e9)] == [(limit.stack, limit.flops_per_second) for limit in summary.limits]   # 2 GFLOP in 0.1 s


BERT = made.cell("torch", task="bert")
PADDED = {**made.FACTS, "data": {"name": "seeded sequences", "tokens": 80.0, "padded_tokens": 300.0}}


@pytest.mark.parametrize(("cell", "products", "facts", "share"), [
    (TORCH, [of("torch", 0.5), of("tf", 0.1), of("mxnet", 0.2)], {}, RATE * FLOPS / 20e9),
    (TORCH, [of("torch", 2e9 / (RATE * FLOPS / 1.25))], {}, 1.25),          # is shown, and flagged
    # products of another precision or number of threads are no limit
    (TORCH, [of("torch", 0.1, Unit("cpu", "float64", 2)), of("torch", 0.1, Unit("cpu", "float32", 4))], {}, None),
    (TORCH, [], {}, None),
    # nor is one of the cell's precision a limit of a rate in another; phases have no share
    (TORCH._replace(loop="tuned"), [of("torch", 0.1)], {**made.FACTS, "precision": "amp"}, None),
    (TORCH._replace(measure="phases"), [of("torch", 0.1)], {}, None),
    # padding is not counted
    (BERT, [of("torch", 0.1)], PADDED, RATE * tasks.step_flops(BERT, tokens=80) / 10 / 20e9)])
def test_a_share_is_the_flops_that_steps_need_over_the_best_product(
        cell: Cell, products: list[store.Record], facts: dict[str, Any], share: float | None) -> None:
    [result] = made.summarised(cell, *products,
                               *made.runs(cell, [RATE] * 5, facts=facts or made.FACTS)).comparisons[0].results
    assert (share if share is None else pytest.approx(share)) == result.machine_share
    assert (Flag.ABOVE_MACHINE in result.flags) is (share is not None and share > 1)


def test_an_input_product_that_is_skipped_is_not_counted() -> None:
    cell = made.cell("torch", task="lstm", length=3, hidden=5)
    assert 2 * 3 * 4 * 5 * (5 + 5) * 10 == tasks.step_flops(cell._replace(measure="infer"))
    assert 2 * 3 * 4 * 5 * 5 * 10 == tasks.step_flops(cell._replace(measure="infer", lstm="skip_input"))


def test_a_gpu_is_named_as_its_driver_does_and_a_slice_of_one_says_so() -> None:
    cell = made.cell("torch", device="gpu", precision="tf32")
    product = of("torch", 0.1, Unit("gpu", "tf32", 0), device_name="gpu")
    gpu = {"uuid": "GPU-0", "board": "GPU-0", "name": "NVIDIA H100 80GB HBM3"}
    whole, part = (summary_of(session(product, cell=cell, gpus={"devices": [{**gpu, "uuid": uuid}]}))
                   for uuid in ("GPU-0", "MIG-0"))

    assert machine_limits(whole)[0].endswith("tf32 on NVIDIA H100 80GB HBM3: 20.0 GFLOP/s by torch")
    assert ["a slice of NVIDIA H100 80GB HBM3"] == [limit.device_name for limit in part.limits]


@pytest.mark.parametrize(("key", "value", "said"), [
    ("seconds", [0.0], "blocks.0.seconds.0"), ("size", -1, "blocks.0.size"), ("seconds", "x", "blocks.0.seconds")])
def test_a_stored_product_that_cannot_be_is_refused(key: str, value: Any, said: str) -> None:
    block = {"numbers": "float32", "size": 1000, "count": 1, "seconds": [1.0], key: value}
    with pytest.raises(InputError, match=said.replace(".", r"\.")):
        session(of("torch", 1.0, blocks=[block]))


def worker(seconds: float, memory_bytes: int = 0) -> list[dict[str, Any]]:
    """The events of a worker whose product of 512 takes so long, and eight times that at each next size."""
    clock, events = FakeClock(step=0.0), Sent()

    def made(cell: Cell, size: int, numbers: str) -> Any:
        return lambda: clock.advance(seconds * (size / 512) ** 3), lambda: None

    cell = Cell(stack="a", task="lenet5", measure="product", memory_bytes=memory_bytes)
    sizes(cell, made, "float32", events, clock)
    return events


def test_a_worker_multiplies_larger_and_larger_matrices_until_the_next_would_take_too_long() -> None:
    small, *larger = worker(0.001)
    assert [512, 1024, 2048] == [event["size"] for event in (small, *larger)]    # 1, 8 and 64 ms; 0.5 s would follow
    assert [512] == [event["size"] for event in worker(1.3)]
    assert [512, 1024] == [event["size"] for event in worker(0.001, memory_bytes=2**29)]    # 3 of 2048: 101 MB of 67
    assert 16 == small["count"] and all(seconds >= 0.01 for seconds in small["seconds"])    # enough for the clock
