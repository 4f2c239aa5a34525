"""Some of a study's experiments: STUDY/EXPERIMENT, or several with commas. Pure but for reading the study's file."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner import study
from runner.errors import InputError
from runner.published import Subject, is_about, whose
from runner.study import Study
from workloads.spec.cell import Cell


def parted(name: str) -> tuple[str, tuple[str, ...]]:
    """The study's name or path, and the experiments after it; none: all of them."""
    if ".toml" in name:
        file, _, rest = name.partition(".toml")
        return f"{file}.toml", _ids(rest.removeprefix("/"))
    first, _, rest = name.partition("/")
    return first, _ids(rest)


def _ids(words: str) -> tuple[str, ...]:
    return tuple(word for word in words.split(",") if word)


def read(name: str, folder: Path, scale: str | None = None) -> Study:
    """The study of that name with the experiments after it. Raises InputError."""
    of, ids = parted(name)
    found = study.read(of, folder, scale)
    return selected(found, ids) if ids else found


def selected(found: Study, ids: tuple[str, ...]) -> Study:
    """The study with these experiments alone, and the claims and published numbers that they can say something of.

    Raises InputError where it has no such experiment.
    """
    known = [experiment.id for experiment in found.experiments]
    for name in ids:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise InputError(f'study {found.id}: experiment "{name}" is unknown; known: {", ".join(known)}{hint}')
    chosen = tuple(experiment for experiment in found.experiments if experiment.id in ids)
    cells = study.cells_of(chosen)
    return found._replace(
        experiments=chosen,
        published=tuple(number for number in found.published
                        if all(_has(cells, number.quantity, number.where, one)
                               for one in (number.of, number.to) if one)),
        claims=tuple(claim for claim in found.claims
                     if all(_has(cells, claim.quantity, claim.where, one) for one in claim.subjects)))


def _has(cells: list[Cell], quantity: str, where: Mapping[str, Sequence[Any]], subject: Subject) -> bool:
    """Whether a number of the subject could come from one of the cells."""
    return any(whose(cell) == subject and is_about(quantity, where, cell) for cell in cells)
