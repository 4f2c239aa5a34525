"""Experiments written out: what [cells] says of all, "same cells as", and cases by their models' names. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from runner import strict_toml
from runner.strict_toml import Place, Table
from runner.study.names import Names

SHARED = ("stacks", "subjects", "cases", "grid", "except", "assumed", "scale")      # of [cells], beside cell fields
_MERGED = ("grid", "assumed", "scale")     # tables of which an experiment overrides single keys


def experiments(document: Table, names: Names, place: Place) -> list[Table]:
    """A study's experiments, each with all that it takes over. Raises InputError."""
    shared = strict_toml.table(document, "cells", place, {})
    strict_toml.refuse_unknown(shared, (*SHARED, *strict_toml.settable()), Place(place.file, "[cells]"))
    found: dict[str, Table] = {}
    written = []
    for item in strict_toml.listed(document, "experiment", place):
        here = place.entry(item, "experiment")
        whole = _over(_parent(item, found, shared, here), item, here)
        found[str(item.get("id"))] = whole
        written.append(_with_scales(whole, names, here))
    return written


def _parent(item: Table, above: Mapping[str, Table], shared: Table, place: Place) -> Table:
    if "same" not in item:
        return shared
    name = strict_toml.string(item, "same", place)
    if name not in above:
        raise place.wrong(f'key "same": found "{name}", expected an experiment above it: {", ".join(above) or "none"}')
    return above[name]


def _over(parent: Table, own: Table, place: Place) -> Table:
    """What an experiment says over what it takes over; a key of the grid and a setting take each other's place."""
    grid = strict_toml.table(own, "grid", place, {})
    taken = {name: value for name, value in parent.items() if name not in ("id", "title", "same")}
    taken = _without(taken, own, grid, place)
    scales = {name: _without(each, own, grid, place) if isinstance(each, dict) else each
              for name, each in strict_toml.table(taken, "scale", place, {}).items()}
    if scales:
        taken["scale"] = scales
    merged = {name: _merged(strict_toml.table(taken, name, place, {}), strict_toml.table(own, name, place, {}))
              for name in _MERGED if name in taken or name in own}
    return {**taken, **{name: value for name, value in own.items() if name != "same"}, **merged}


def _without(table: Table, own: Table, grid: Table, place: Place) -> Table:
    """A table without what the experiment's own settings, grid, stacks or task take the place of."""
    instead = {"stacks": "subjects", "subjects": "stacks"}
    gone = {*grid, *(instead[name] for name in own if name in instead),
            *(("cases",) if "task" in own or "task" in grid else ())}
    left = {name: value for name, value in table.items() if name not in gone}
    if "grid" in left:
        inherited = strict_toml.table(left, "grid", place)
        left["grid"] = {name: value for name, value in inherited.items() if name not in own}
    return left


def _merged(taken: Table, own: Table) -> Table:
    """Two tables, key by key; tables in them, too."""
    return {**taken, **{name: {**taken[name], **value} if isinstance(value, dict) and isinstance(taken.get(name), dict)
                        else value for name, value in own.items()}}


def _with_scales(whole: Table, names: Names, place: Place) -> Table:
    """The experiment with its models' cells, and for each scale what differs there."""
    found = dict(whole)
    if "subjects" in found:
        subjects = strict_toml.listed(found, "subjects", place)
        found["subjects"] = [names.subject(each, place.at("subjects")) for each in subjects]
    cases = strict_toml.listed(found, "cases", place)
    scales = strict_toml.table(found, "scale", place, {})
    strict_toml.refuse_unknown(scales, names.scales, place.at("scale"))
    grid = strict_toml.table(found, "grid", place, {})
    if "cases" in found:
        found["cases"] = names.cases(cases, "", grid, place)
    written = {scale: _scale(scale, scales, _Cases(cases, grid), names, place) for scale in names.scales}
    if any(written.values()):
        found["scale"] = {scale: table for scale, table in written.items() if table}
    else:
        found.pop("scale", None)
    return found


class _Cases(NamedTuple):
    """The cases of an experiment as its file lists them, and its grid."""

    listed: list[Any]
    grid: Table


def _scale(scale: str, scales: Table, cases: _Cases, names: Names, place: Place) -> Table:
    """What differs at a scale, with the cases that it has there; a scale may be said to be as another."""
    here = place.at(f"scale.{scale}")
    name = _like(scale, scales, names.scales, here)
    table = dict(strict_toml.table(scales, name, here, {}))
    said = {*cases.grid, *strict_toml.table(table, "grid", here, {}), *table}
    if "cases" in table:
        table["cases"] = names.cases(strict_toml.listed(table, "cases", here), name, said, here)
    elif names.differ(cases.listed, name, table, here):
        table["cases"] = _distinct(names.cases(cases.listed, name, said, here))
    return table


def _like(scale: str, scales: Table, known: tuple[str, ...], place: Place) -> str:
    """The scale that one is, itself where nothing else is said."""
    name = scale
    for _ in known:
        if not isinstance(scales.get(name), str):
            return name
        name = strict_toml.one_of(scales, name, known, place)
    raise place.wrong(f'found "{scales[scale]}", which is as "{scale}" itself')


def _distinct(cases: list[Any]) -> list[Any]:
    return [case for place, case in enumerate(cases) if case not in cases[:place]]
