"""Experiments written out: what [cells] says of all, "same cells as", and cases by their models' names. Pure."""

from typing import Any

from runner import strict_toml
from runner.strict_toml import Position, Table
from runner.study.names import Names

_MERGED = ("grid", "assumed", "scale")     # tables of which an experiment overrides single keys


def experiments(document: Table, names: Names, position: Position, on_gpu: bool) -> list[Table]:
    """A study's experiments, each with all that it takes over. Raises InputError.

    on_gpu: no scale moves one of a GPU to the CPU.
    """
    by_id: dict[str, Table] = {}
    written = []
    for item in document["experiment"]:
        here = position.entry(item, "experiment")
        if (same := item.get("same")) is not None and same not in by_id:
            raise here.wrong(f'key "same": found "{same}", '
                             f'expected an experiment above it: {", ".join(by_id) or "none"}')
        whole = by_id[item["id"]] = _over(document.get("cells", {}) if same is None else by_id[same], item)
        written.append(_with_scales(whole, names, here, "cpu" if on_gpu and whole.get("device") == "gpu" else ""))
    return written


def _over(parent: Table, own: Table) -> Table:
    """An experiment's own tables over its parent's. A key set in one of grid and settings removes it from the other."""
    taken = _without({name: value for name, value in parent.items() if name not in ("id", "title", "same")}, own)
    if "scale" in taken:
        taken["scale"] = {name: _without(each, own) if isinstance(each, dict) else each
                          for name, each in taken["scale"].items()}
    merged = {name: _merged(taken.get(name, {}), own.get(name, {})) for name in _MERGED if name in taken or name in own}
    return {**taken, **{name: value for name, value in own.items() if name != "same"}, **merged}


def _without(table: Table, own: Table) -> Table:
    """A parent's table without the keys that the experiment's own settings, grid, stacks or task replace."""
    instead, grid = {"stacks": "subjects", "subjects": "stacks"}, own.get("grid", {})
    gone = {*grid, *(instead[name] for name in own if name in instead),
            *(("cases",) if "task" in own or "task" in grid else ())}
    left = {name: value for name, value in table.items() if name not in gone}
    if "grid" in left:
        left["grid"] = {name: value for name, value in left["grid"].items() if name not in own}
    return left


def _merged(taken: Table, own: Table) -> Table:
    """Two tables, key by key; tables in them, too."""
    return {**taken, **{name: {**taken[name], **value} if isinstance(value, dict) and isinstance(taken.get(name), dict)
                        else value for name, value in own.items()}}


def _with_scales(whole: Table, names: Names, position: Position, but_device: str) -> Table:
    """The experiment with its models' cells, and for each scale what differs there, but for a move to that device."""
    expanded = dict(whole)
    if "subjects" in expanded:
        expanded["subjects"] = [names.subject(each, position.at("subjects")) for each in expanded["subjects"]]
    strict_toml.refuse_unknown(whole.get("scale", {}), names.scales, position.at("scale"))
    if "cases" in expanded:
        expanded["cases"] = names.cases(whole["cases"], "", whole.get("grid", {}), position)
    written = {scale: _scale(scale, whole, expanded.get("cases", []), names, position) for scale in names.scales}
    return {**expanded, "scale": {scale: {key: value for key, value in table.items()
                                          if (key, value) != ("device", but_device)}
                                  for scale, table in written.items()}}


def _scale(scale: str, whole: Table, usual: list[Any], names: Names, position: Position) -> Table:
    """What a scale, which may be said to be as another, changes, and its cases where they are not the usual ones."""
    here, scales = position.at(f"scale.{scale}"), whole.get("scale", {})
    name = _like(scale, scales, names.scales, here)
    table = dict(scales.get(name, {}))
    said = {*whole.get("grid", {}), *table.get("grid", {}), *table}
    cases = names.cases({**whole, **table}.get("cases", []), name, said, here)
    if "cases" in table:
        table["cases"] = cases
    elif cases != usual:
        table["cases"] = distinct(cases)
    return table


def _like(scale: str, scales: Table, known: tuple[str, ...], position: Position) -> str:
    """The scale that one is, itself where nothing else is said."""
    name = scale
    for _ in known:
        if not isinstance(scales.get(name), str):
            return name
        if scales[name] not in known:
            raise position.wrong(f'found "{scales[name]}", expected one of {", ".join(known)}')
        name = scales[name]
    raise position.wrong(f'found "{scales[scale]}", which is as "{scale}" itself')


def distinct(cases: list[Any]) -> list[Any]:
    """Each of them once."""
    return [case for index, case in enumerate(cases) if case not in cases[:index]]
