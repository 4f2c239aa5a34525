"""A plan within a budget of time: the study's sizes with fewer steps or epochs, and then fewer comparisons. Pure."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from runner import formatting
from runner.cells import comparison_key, key
from runner.errors import InputError
from runner.planning.plan import Plan, Planned, Skipped
from runner.study.file import Experiment
from workloads.spec.cell import Cell

# timed steps are as many as a warm-up's, where nobody says it; epochs are the first, which compiles, and a later one
_LEAST = {"steps": 10, "epochs": 2}
_HALVINGS = 30
_WITHIN = "within the budget of "

Guess = Callable[[Cell], float]


def fitted(made: Plan, seconds: float, guess: Guess) -> Plan:
    """The plan that takes about so many seconds at most; guess: those of a cell's run.

    No run takes longer than a common limit, for which it has fewer steps, or epochs where it measures these, but at
    least _LEAST: short cells keep theirs. Where that is still too long, the comparisons that take longest are left out
    whole, so that those that stay have all their stacks. Rounds stay. Raises InputError where no comparison fits.
    """
    of_round = seconds / made.rounds
    if _total(made.cells, guess) <= of_round:
        return made
    kept = _affordable(made.cells, of_round, guess)
    if not kept:
        least = min(_total(block, _of_least(guess)) for block in _comparisons(made.cells))
        raise InputError(f"--budget: found {formatting.seconds(seconds)}, expected at least "
                         f"{formatting.seconds(math.ceil(least * made.rounds))}, which the shortest comparison takes "
                         f"in {formatting.count(made.rounds, 'round')}; --rounds takes fewer")
    limit = _limit(kept, of_round, guess)
    cut = {one.key: _within(one.cell, limit, guess) for one in kept}
    return _with(made, cut, seconds, lambda cell: _within(cell, limit, guess))


def _with(made: Plan, cut: Mapping[str, Cell], seconds: float, cut_too: Callable[[Cell], Cell]) -> Plan:
    """The plan of the cells that are in cut, by their keys until now, as they are there."""
    left = {one.key: one._replace(cell=cut[one.key], key=key(cut[one.key])) for one in made.cells if one.key in cut}
    gone = [Skipped(one.experiment, one.cell, f"{one.cell.task} {one.cell.measure} is left out: the budget of "
                    f"{formatting.seconds(seconds)} has no room for {_least(one.cell)} in each run")
            for one in made.cells if one.key not in cut]
    impossible = [skip._replace(cell=cut_too(skip.cell)) for skip in made.skipped]
    whole = {one.key: one.cell for one in made.cells}
    keys = {name: [own for own in of_name if own in cut] for name, of_name in made.keys.items()}
    experiments = tuple(_told(each, [(whole[own], cut[own]) for own in keys.get(each.id, ())], seconds)
                        for each in made.study.experiments)
    cells = tuple({one.key: one for one in left.values()}.values())
    names = [one.cell.stack for one in cells]
    return made._replace(
        study=made.study._replace(experiments=experiments), cells=cells, skipped=(*impossible, *gone),
        keys={name: tuple(dict.fromkeys(left[own].key for own in owns)) for name, owns in keys.items()},
        baseline=made.baseline if made.baseline in names else names[0])


def _least(cell: Cell) -> str:
    name = _cut_in(cell)
    return f"{min(getattr(cell, name), _LEAST[name])} {name}"


def _cut_in(cell: Cell) -> str:
    """What of a cell can be fewer."""
    return "epochs" if cell.measure == "epochs" else "steps"


def _total(cells: Iterable[Planned], guess: Guess) -> float:
    return math.fsum(guess(one.cell) for one in cells)


def _comparisons(cells: Iterable[Planned]) -> list[list[Planned]]:
    blocks: dict[str, list[Planned]] = {}
    for one in cells:
        blocks.setdefault(comparison_key(one.cell), []).append(one)
    return list(blocks.values())


def _affordable(cells: Sequence[Planned], seconds: float, guess: Guess) -> tuple[Planned, ...]:
    """The cells of the comparisons that fit with the least steps, the shortest first."""
    kept: set[str] = set()
    left = seconds
    for cost, block in sorted(((_total(block, _of_least(guess)), block) for block in _comparisons(cells)),
                              key=lambda each: each[0]):
        left -= cost
        if left < 0:
            break
        kept.update(one.key for one in block)
    return tuple(one for one in cells if one.key in kept)


def _limit(cells: Sequence[Planned], seconds: float, guess: Guess) -> float:
    """The longest that a run may take for the cells to take so many seconds at most."""
    low, high = 0.0, max(guess(one.cell) for one in cells)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        fits = math.fsum(guess(_within(one.cell, middle, guess)) for one in cells) <= seconds
        low, high = (middle, high) if fits else (low, middle)
    return low


def _of_least(guess: Guess) -> Guess:
    return lambda cell: guess(_within(cell, 0.0, guess))


def _within(cell: Cell, limit: float, guess: Guess) -> Cell:
    """The cell with as many steps, or epochs where it measures these, as a run of so many seconds has."""
    name = _cut_in(cell)
    whole = getattr(cell, name)
    least = min(whole, _LEAST[name])
    shortest, longest = guess(cell._replace(**{name: least})), guess(cell)
    if longest <= limit or longest <= shortest:
        return cell
    share = max(0.0, limit - shortest) / (longest - shortest)
    return cell._replace(**{name: least + int(share * (whole - least))})


def _told(experiment: Experiment, cells: Iterable[tuple[Cell, Cell]], seconds: float) -> Experiment:
    """The experiment with what its cells have fewer of."""
    fewer = dict.fromkeys(f"{name} {getattr(now, name)} for {getattr(before, name)}" for before, now in cells
                          for name in _LEAST if getattr(now, name) < getattr(before, name))
    lines = [f"{_WITHIN}{formatting.seconds(seconds)}, {each}" for each in fewer]
    return experiment._replace(scaled=(*experiment.scaled, *lines))


def told(record: Mapping[str, Any]) -> list[str]:
    """What a plan's record says that its budget cut, a line a number of steps or epochs with its experiments."""
    cut: dict[str, list[str]] = {}
    for experiment in record["experiments"]:
        for line in experiment["scaled"]:
            if line.startswith(_WITHIN):
                cut.setdefault(line, []).append(experiment["id"])
    return [f"{line}: {', '.join(ids)}" for line, ids in cut.items()]
