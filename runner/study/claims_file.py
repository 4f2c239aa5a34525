"""What a study printed and what it claims, read from its file: checked against the cells that its experiments have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

from runner import strict_toml
from runner.strict_toml import Position, Table, Text, without
from runner.study import claims, document, quantities
from runner.study.claims import Claim
from runner.study.published import Published, amount, wrong_number
from runner.study.shorthand import Names
from runner.study.subjects import Stated, Subject, named, sizes
from runner.study.tables import source
from workloads.spec.cell import Cell


class Told(Stated):
    """A statement of a paper that no claim of ours tests."""

    id: Text
    source: Text                 # its place in the paper
    text: Text                   # in our words
    why: Text                    # it is not tested


class Place(Stated):
    """A figure or table of a paper."""

    number: Text                 # as the paper has it: "Table V"
    title: Text
    experiment: str = ""         # that has it here; "" for none
    why: str = ""                # no experiment has it, or what of it is missing


Entry = TypeVar("Entry", Published, Claim, Told)


@dataclass(frozen=True, eq=False)
class Grounds:
    """The cells that numbers and claims can be about, and the stacks that stand for others."""

    scale: str                   # the study's
    by_scale: Mapping[str, Mapping[str, Sequence[Cell]]]     # by experiment; the paper's own scale first
    forms: Mapping[str, tuple[str, ...]]
    names: Names
    _listed: dict[tuple[str, ...], list[Cell]] = field(default_factory=dict)

    @cached_property
    def experiments(self) -> tuple[str, ...]:
        """Those that have cells at any scale."""
        return tuple(dict.fromkeys(name for of in self.by_scale.values() for name, cells in of.items() if cells))

    def cells(self, experiment: str, *scales: str) -> list[Cell]:
        """The cells of an experiment, of all where it is "", at these scales; at any without one."""
        if (asked := (experiment, *scales)) not in self._listed:
            self._listed[asked] = list(dict.fromkeys(
                cell for scale in scales or self.by_scale for name, cells in self.by_scale[scale].items()
                if experiment in ("", name) for cell in cells))
        return self._listed[asked]

    def about(self, stated: Claim | Published, scale: str) -> list[Cell]:
        """The cells of its subjects that something stated looks at."""
        is_about, subjects = stated.selection(), stated.subjects
        return [cell for cell in self.cells(stated.experiment, scale)
                if is_about(cell) and any(one.owns(cell) for one in subjects)]


MADE = ("value", "paper", "paper_cells", "cases", "fuller")       # of the study's cells: no key of its file


def read(tables: Table, file: str, grounds: Grounds
         ) -> tuple[tuple[Published, ...], tuple[Claim, ...], tuple[Told, ...], tuple[Place, ...]]:
    """What a study prints, claims in the cells of its scale, and only tells, and its index. Raises InputError."""
    numbers = tuple(_published(*each, grounds) for each in _entries(Published, "published", tables, file, grounds))
    claimed = tuple(_claim(*each, grounds) for each in _entries(Claim, "claim", tables, file, grounds))
    told = tuple(entry for entry, _ in _entries(Told, "told", tables, file, grounds))
    of_index = Position(source(file, "index"))
    return numbers, claimed, told, tuple(_place(table, of_index, grounds) for table in tables.get("index", []))


def _place(table: Table, position: Position, grounds: Grounds) -> Place:
    here = position.at(f"index {table.get('number', '')}".strip())
    place = strict_toml.validated(Place, table, here)
    if place.experiment:
        here.refuse(_unknown_experiment(place.experiment, grounds))
    elif not place.why:
        raise here.wrong('expected an "experiment", or "why" there is none')
    return place


def _entries(model: type[Entry], kind: str, tables: Table, file: str, grounds: Grounds
             ) -> Iterator[tuple[Entry, Position]]:
    """The file's [[kind]] tables, each with its position."""
    entries, position = tables.get(kind, []), Position(source(file, kind))
    for table in entries:
        here = position.entry(table, kind)
        strict_toml.refuse_unknown(table, [name for name in model.model_fields if name not in MADE], here)
        read = {**table, "value": amount(table.get("printed"), here)} if model is Published else table
        yield strict_toml.validated(model, _found(read, here, grounds), here), here
    strict_toml.refuse_twice(kind, [table["id"] for table in entries], position)


def _published(number: Published, position: Position, grounds: Grounds) -> Published:
    position.refuse(wrong_number(number))
    if "steps" in number.model_fields_set and (number.unit != "s" or number.to):
        raise position.wrong('key "steps": only of a number of one subject in unit "s"')
    cells = grounds.about(number, next(iter(grounds.by_scale)))
    return number.model_copy(update={"paper": sizes(cells),
                                     "paper_cells": sum(number.of.owns(cell) for cell in cells)})


def _claim(claim: Claim, position: Position, grounds: Grounds) -> Claim:
    position.refuse(claims.mistake(claim))
    anywhere = grounds.cells(claim.experiment)
    for subject in claim.subjects:
        position.refuse(_absent(claim, subject, anywhere))
    of_scales = {scale: grounds.about(claim, scale) for scale in grounds.by_scale}
    fullest = max(of_scales, key=lambda scale: len(of_scales[scale]))
    is_fuller = len(of_scales[fullest]) > len(of_scales[grounds.scale])
    claim = claim.model_copy(update={
        "cases": _cases(claim, of_scales[grounds.scale], [*chain.from_iterable(of_scales.values())], position),
        "fuller": fullest if is_fuller else "", "paper": sizes(next(iter(of_scales.values())))})
    position.refuse(claims.mistake(claim))
    return claim


def _found(entry: Table, position: Position, grounds: Grounds) -> Table:
    """The entry with its subjects, cell fields and experiment as they are in the study."""
    if "contradiction" in entry and not str(entry["contradiction"]).strip():
        raise position.wrong('key "contradiction": found no text, expected the arithmetic; leave the key out where '
                             "nothing contradicts")
    if "experiment" in entry:
        position.refuse(_unknown_experiment(entry["experiment"], grounds))
    if "where" in entry:
        entry = {**entry, "where": {name: value if isinstance(value, list) else [value]
                                    for name, value in entry["where"].items()}}
    found: Table = strict_toml.frozen(entry)
    found |= {key: _subject(entry[key], key, position, grounds) for key in ("of", "to") if key in entry}
    return found | {key: tuple(_subject(each, key, position, grounds) for each in entry[key])
                    for key in ("order", "than") if key in entry}


def _unknown_experiment(name: Any, grounds: Grounds) -> str | None:
    return None if name in grounds.experiments else (
        f'key "experiment": found "{name}", expected one of {", ".join(grounds.experiments)}')


def _subject(named_so: Table | str, key: str, position: Position, grounds: Grounds) -> Subject:
    values = grounds.names.subject(named_so, position.at(key))
    settings = without(values, "stack", "parallel")
    strict_toml.refuse_unknown(settings, [name for name in document.SETTABLE if name != "measure"], position.at(key))
    if (parallel := values.get("parallel", "")) not in ("", *_MODES):
        raise position.at(key).wrong(f'key "parallel": found "{parallel}", expected one of {", ".join(_MODES)}')
    return Subject(values["stack"], parallel, tuple(sorted(settings.items())), grounds.forms.get(values["stack"], ()))


_MODES = ("sync", "async", "central")     # by which subjects' cells are compared: cluster.kind


def _cases(claim: Claim, here: Sequence[Cell], anywhere: Sequence[Cell], position: Position
           ) -> tuple[claims.Case, ...]:
    """The claim's cases among its cells at the study's scale. Raises InputError where several of a case are alike."""
    subjects, fields = claim.subjects, named(claim.subjects)
    subjects_cells: dict[claims.Case, dict[Subject, Cell]] = {}
    for cell in here:
        for subject in (subject for subject in subjects if subject.owns(cell)):
            alike = subjects_cells.setdefault(claim.case(cell), {})
            first = alike.setdefault(subject, cell)
            position.refuse(_different(subject, cell, subject, first, ("measure", "parallel", "stack")))
            for other, theirs in alike.items():
                position.refuse(_different(subject, cell, other, theirs, fields))
    found = {subject for alike in subjects_cells.values() for subject in alike}
    for case, alike in subjects_cells.items():
        for subject in subjects:
            if subject in found - alike.keys() and not any(                 # a scale may leave it out: judging says it
                    subject.owns(cell) and claim.case(cell) == case for cell in anywhere):
                raise position.wrong("no experiment has "
                                  + ", ".join([str(subject), *claims.shown(claim.named(case))]))
    # of a case that this scale leaves out there are no data then: fewer models are not the paper's
    left_out = map(claim.case, anywhere) if _LASTING.issuperset(claim.fields) else ()
    return tuple(dict.fromkeys((*subjects_cells, *left_out)))


# by these a case is the same one at every scale; others, such as the batch, a scale changes
_LASTING = frozenset({"task", "classes"})


def _absent(claim: Claim, subject: Subject, anywhere: Sequence[Cell]) -> str | None:
    """What of a subject's cells is in no experiment, or None."""
    what = f"experiment {claim.experiment}" if claim.experiment else "experiment"
    stacks = sorted({cell.stack for cell in anywhere})
    if subject.stack not in stacks:
        return f'stack "{subject.stack}" is in no {what}; known: {", ".join(stacks)}'
    cells = [cell for cell in anywhere if subject.owns(cell)]
    needed, measures = quantities.QUANTITIES[claim.quantity].measure, sorted({cell.measure for cell in cells})
    if needed not in measures:
        return (f'quantity "{claim.quantity}" needs an experiment of measure "{needed}" with {subject}; '
                f'found {", ".join(measures) or "no experiment with it"}')
    for name, values in claim.where.items():
        for value in values:
            if not any(getattr(cell, name) == value for cell in cells if cell.measure == needed):
                return f"where: no {what} of measure {needed} with {subject} has {name} {value}"
    return None if any(map(claim.selection(), cells)) else f"where: no {what} has a cell of {subject} with all of it"


def _different(one: Subject, cell: Cell, other: Subject, theirs: Cell, free: Sequence[str]) -> str | None:
    """The field by which two cells of one case differ, but for those that are free; or None."""
    for name, own, others in zip(cell._fields, cell, theirs, strict=True):
        if own != others and name not in free:
            return (f'cells of one case differ in "{name}": {others} of {other} and {own} of {one}; name it in over, '
                    "or choose in where")
    return None
