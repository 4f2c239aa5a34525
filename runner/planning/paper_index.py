"""A paper's figures and tables by its own numbers, and what of each runs here: rows for people and programs. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from runner import formatting
from runner.planning.plan import Plan, Planned


def rows(made: Plan, seconds: Callable[[Planned], float]) -> list[dict[str, Any]]:
    """A row a figure or table of the plan's study; seconds: of one run of a cell."""
    cells = {each.key: each for each in made.cells}
    return [{"figure": place.number, "title": place.title, "experiment": place.experiment,
             "here": "; ".join(filter(None, [_here(made, place.experiment), place.why])),
             "minutes": formatting.seconds(made.rounds * sum(seconds(cells[key]) for key in keys)) if keys else "",
             "command": f"evenbench run {made.study.id}/{place.experiment} --scale {made.study.scale}" if keys else ""}
            for place in made.study.places for keys in [made.keys.get(place.experiment, ())]]


def lines(index: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """The index for a terminal, a figure or table in a few lines."""
    for row in index:
        yield f"{row['figure']}: {row['title']}"
        about = row["minutes"] and f"about {row['minutes']}"
        yield "    " + ", ".join(filter(None, [row["experiment"], row["here"], about]))
        yield from [f"    {row['command']}"][:bool(row["command"])]


def pointer(made: Plan) -> list[str]:
    """The command that shows a paper's set-up, data and assumptions; none of a study of no paper."""
    return [f"`evenbench paper {made.study.id}` has its set-up, data, stand-ins, assumptions, numbers and claims.",
            ""][:2 * bool(made.study.places)]


def _here(made: Plan, experiment: str) -> str:
    """Whether an experiment's cells run, or why not."""
    if not experiment:
        return ""
    planned, skipped = len(made.keys.get(experiment, ())), [
        each for each in made.skipped if each.experiment == experiment]
    reasons = formatting.reasons(skipped)
    if not planned and not skipped:
        return f"not at scale {made.study.scale}: --scale paper has it"
    if not planned:
        return reasons
    return f"{planned} of {planned + len(skipped)} cells: {reasons}" if skipped else "runs here"


def facts(made: Plan, data_sets: Callable[[str], str]) -> Iterator[Sequence[str]]:
    """Below the index: set-up, data sets or what stands in for them, assumptions; data_sets: of a set's name."""
    study = made.study
    if study.setup:
        yield "Set-up of the paper", study.setup
    cells = [*(each.cell for each in made.cells), *(each.cell for each in made.skipped)]
    for name in dict.fromkeys(cell.data for cell in cells if cell.input != "synthetic"):
        yield "Data", data_sets(name)
    if any(cell.input == "synthetic" for cell in cells):
        yield "Data", "made, where a cell's input is synthetic"
    assumed: dict[str, dict[str, None]] = {}
    for experiment in study.experiments:
        for key, text in experiment.assumed.items():
            assumed.setdefault(f"Assumed ({key.replace('_', ' ')}): {text}", {})[experiment.id] = None
        if experiment.scaled:
            assumed.setdefault(f'Scale "{study.scale}": {"; ".join(experiment.scaled)}', {})[experiment.id] = None
    for text, names in assumed.items():
        yield ("all" if len(names) == len(study.experiments) else ", ".join(names)), text
