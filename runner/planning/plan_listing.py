"""A plan as people read it. Pure."""

from typing import Any

from runner import formatting
from runner.cells import comparisons
from runner.grouping import grouped
from runner.planning.plan import Plan


def parts(made: Plan, seconds: float) -> list[str | list[dict[str, str]]]:
    """The sum, the cells by comparison, the skipped ones; seconds: what the plan is thought to take."""
    cells, rounds = len(made.cells), made.rounds
    many = (f"{formatting.count(cells, 'cell')} x {formatting.count(rounds, 'round')} = "
            f"{formatting.count(cells * rounds, 'run')}, about {formatting.seconds(seconds)}; baseline {made.baseline}")
    compared = comparisons([*(each.cell for each in made.cells), *(each.cell for each in made.skipped)])
    table = [{"experiment": experiment, "cell": label, "stacks": ", ".join(each.cell.stack for each in alike)}
             for (experiment, label), alike in grouped(
                 made.cells, lambda each: (each.experiment, compared[each.cell].label)).items()]
    reasons = formatting.by_reason([
        (each.cell.stack, compared[each.cell].label, each.reason) for each in made.skipped])
    parts: list[str | list[dict[str, str]]] = [many if cells else "Nothing of it can run here."]
    if table:
        parts += ["", table]
    if made.skipped:
        parts += ["", "Skipped:", *(f"  {line}" for line in reasons)]
    return parts


def rows(made: Plan) -> list[dict[str, Any]]:
    """A row a cell, with why it is skipped where it is."""
    return [*({"experiment": each.experiment, "key": each.key, **each.cell._asdict(), "skipped": ""}
              for each in made.cells),
            *({"experiment": each.experiment, "key": "", **each.cell._asdict(), "skipped": each.reason}
              for each in made.skipped)]
