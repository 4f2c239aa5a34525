"""Before the first round: how fast this machine multiplies matrices, by the session's stacks. A few seconds, once.

A cell's rate is then told as a share of the best of them. Asked is every stack, since none is the best everywhere.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from runner.errors import Stopped
from runner.measuring import session
from runner.measuring.bench import Bench, Event
from runner.planning.plan import Plan, Planned
from runner.results import sessions
from runner.results.lines import Block
from runner.results.records import Unit
from workloads.spec import measures
from workloads.spec.cell import Cell


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


def measure(bench: Bench) -> Iterator[Event]:
    """Measure the products that are missing; the record of a failed one has the reason."""
    there = {(each.stack, each.unit) for each in sessions.read(bench.folder).products}
    missing_cells = [cell for cell in cells(bench.plan) if (cell.stack, Unit.of(cell)) not in there]
    if missing_cells:
        yield {"event": "now", "said": "measuring the machine's best matrix product first: "
               f"{len(missing_cells)} of about 3 s each"}
    by_key = {f"product{number}": cell for number, cell in enumerate(missing_cells)}
    device_name, blocks = "", []
    with suppress(Stopped):                     # the session, which is next, says so
        for event in session.made(bench, [Planned(key, "", cell) for key, cell in by_key.items()]):
            match event:
                case {"event": "line", "line": {"event": "start", "facts": facts}}:
                    device_name = str(facts.get("device", ""))
                case {"event": "line", "line": {"event": "product"} as line}:
                    blocks.append(Block.read(line).model_dump(exclude={"place"}))
                case {"event": "ending", "run": run, "ending": ending, "message": message}:
                    if ending != "killed":      # else it is made again, now or by the same command
                        cell = by_key[run.partition(".")[0]]
                        yield record(cell.stack, Unit.of(cell), ending, message=message, device_name=device_name,
                                     blocks=blocks)
                    device_name, blocks = "", []


def record(stack: str, unit: Unit, ending: str, **values: Any) -> dict[str, Any]:
    """The store's record of a product."""
    return {"event": "product", "stack": stack, **unit._asdict(), "ending": ending, **values}
