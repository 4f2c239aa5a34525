"""Before the first round: how fast this machine multiplies matrices, by the session's stacks. A few seconds, once.

A cell's rate is then told as a share of the best of them. Asked is every stack, since none is the best everywhere.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from runner.errors import BenchError
from runner.launchers.protocol import Running
from runner.launchers.watchdog import Ending, follow, limits
from runner.measuring.bench import Bench, Event
from runner.planning.plan import Plan
from runner.results import earlier_sessions
from runner.results.lines import Block
from runner.results.matrix_products import Product, Unit, best, record
from runner.results.store import Record
from workloads.spec import measures
from workloads.spec.cell import Cell

_AT_ONCE = 4                     # workers that import side by side
Heard = Iterator[dict[str, Any] | Ending]


def cells(plan: Plan) -> list[Cell]:
    """A cell for each stack, device, precision and number of threads that the plan has rates of; one GPU."""
    by_unit: dict[tuple[str, Unit], Cell] = {}
    for planned in plan.cells:
        cell = planned.cell
        if cell.measure in measures.RATED and not cell.source:         # whose FLOPs nobody counts
            by_unit.setdefault((cell.stack, Unit.of(cell)), Cell(
                stack=cell.stack, task=cell.task, measure="product", device=cell.device, precision=cell.precision,
                cpus=cell.cpus, memory_bytes=cell.memory_bytes, input="synthetic", onednn=cell.onednn))
    return list(by_unit.values())


def missing(plan: Plan, folder: Path) -> list[Cell]:
    """Those that the session's store does not tell of yet."""
    told = {(each["stack"], each["device"], each["precision"], each["cpus"])
            for each in earlier_sessions.Told().read(folder).products}
    return [cell for cell in cells(plan) if (cell.stack, *Unit.of(cell)) not in told]


def reached(folder: Path) -> Mapping[Unit, Product]:
    """The best that a session's store tells of."""
    return best(map(Product.read, earlier_sessions.Told().read(folder).products))


def measure(bench: Bench) -> Iterator[Event]:
    """Measure what is missing; the record of one that fails has the reason."""
    missing_cells = missing(bench.plan, bench.folder)
    if missing_cells:
        yield {"event": "now", "said": "measuring the machine's best matrix product first: "
               f"{len(missing_cells)} of about 3 s each"}
    listens = bench.launcher.tells
    many = _AT_ONCE if listens else 1
    for first in range(0, len(missing_cells), many):
        with ExitStack() as alive:
            waiting = [(cell, alive.enter_context(_worker(bench, cell, f"product.{number}.1", listens)))
                       for number, cell in enumerate(missing_cells[first:first + many], first)]
            for cell, worker in waiting:
                if bench.is_stopping():
                    return
                product = _measured(cell, worker, listens)
                if product["ending"] != "killed":            # else the same command measures it
                    yield product


@contextmanager
def _worker(bench: Bench, cell: Cell, run: str, listens: bool) -> Iterator[tuple[Running, Heard] | BenchError]:
    """A started worker and what it says, or why there is none; where it listens, it waits once it has imported."""
    try:
        running = bench.launcher.start(cell, bench.stacks[cell.stack], bench.data, run, listens=listens)
    except BenchError as error:
        yield error
        return
    try:
        yield running, follow(running, limits(cell, bench.stall), bench.clock, bench.is_stopping)
    finally:
        running.stop()


def _measured(cell: Cell, worker: tuple[Running, Heard] | BenchError, listens: bool) -> Record:
    """The record of a stack's product."""
    unit, name = Unit.of(cell), ""
    blocks: list[dict[str, Any]] = []
    if isinstance(worker, BenchError):
        return record(cell.stack, unit, "not_started", message=str(worker), blocks=[])
    running, events = worker
    for heard in events:
        if isinstance(heard, Ending):
            return record(cell.stack, unit, heard.word, message=heard.message, device_name=name, blocks=blocks)
        if heard["event"] == "waiting" and listens:
            running.tell("go")
        elif heard["event"] == "start":
            name = str(heard["facts"].get("device", ""))
        elif heard["event"] == "product":
            blocks.append(Block.read(heard).model_dump(exclude={"place"}))
    raise AssertionError("follow always yields an Ending last")
