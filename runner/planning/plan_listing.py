"""A plan as people read it. Pure."""

from collections.abc import Mapping
from typing import Any

from runner import formatting
from runner.cells import comparisons
from workloads.spec.cell import parse


def parts(record: Mapping[str, Any], seconds: float) -> list[str | list[dict[str, str]]]:
    """Of a plan's record the sum, the cells by comparison, the skipped ones; seconds: what it is thought to take."""
    cells, rounds = record["cells"], record["rounds"]
    many = (f"{formatting.count(len(cells), 'cell')} x {formatting.count(rounds, 'round')} = "
            f"{formatting.count(len(cells) * rounds, 'run')}, about {formatting.seconds(seconds)}; "
            f"baseline {record['baseline']}")
    planned, skipped = ([(item, parse(item["cell"])) for item in items] for items in (cells, record["skipped"]))
    compared = comparisons(cell for _, cell in (*planned, *skipped))
    stacks: dict[tuple[str, str], list[str]] = {}
    for item, cell in planned:
        stacks.setdefault((item["experiment"], compared[cell].label), []).append(cell.stack)
    table = [{"experiment": experiment, "cell": label, "stacks": ", ".join(names)}
             for (experiment, label), names in stacks.items()]
    reasons = formatting.by_reason([(cell.stack, compared[cell].label, item["reason"]) for item, cell in skipped])
    parts: list[str | list[dict[str, str]]] = [many if cells else "Nothing of it can run here."]
    if table:
        parts += ["", table]
    if skipped:
        parts += ["", "Skipped:", *(f"  {line}" for line in reasons)]
    return parts


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row a cell, with why it is skipped where it is."""
    return [{"experiment": item["experiment"], "key": item.get("key", ""), **item["cell"],
             "skipped": item.get("reason", "")} for item in (*record["cells"], *record["skipped"])]
