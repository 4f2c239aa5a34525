"""The shorthand of study files, written out: names of subjects and models, [cells], "same cells as". Pure."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from runner import strict_toml
from runner.strict_toml import Position, Table, without
from workloads.spec import tasks

_MOST_CASES = 20_000           # of one line; as many cells a study may have
_MERGED = ("grid", "assumed", "scale")     # tables of which an experiment overrides single keys


class Names(NamedTuple):
    """Subjects and models by name; a group of models has the tables of all its members."""

    subjects: Mapping[str, Table]
    models: Mapping[str, tuple[Table, ...]]     # cell fields, and by scale what differs there
    scales: tuple[str, ...]

    def subject(self, subject: str | Table, position: Position) -> Table:
        """The table of a subject's name; a table as it is. Raises InputError."""
        if not isinstance(subject, str):
            return subject
        _refuse_unnamed("subject", subject, self.subjects, position)
        return self.subjects[subject]

    def model(self, model: str | Sequence[str], position: Position) -> tuple[Table, ...]:
        """The tables of a model's or group's name, or of several names. Raises InputError."""
        several = [model] if isinstance(model, str) else model
        for name in several:
            _refuse_unnamed("model", name, self.models, position)
        return tuple(table for name in several for table in self.models[name])

    def cases(self, cases: Sequence[Any], scale: str, said: Collection[str], position: Position) -> list[Any]:
        """The cases of a list of names and tables at a scale; a list in one is a case for each value.

        What the grid or the scale has `said` for all of them, a model's own table does not say.
        """
        written: list[Any] = []
        tables: list[Table] = [{"model": item} if isinstance(item, str) else item for item in cases]
        for own in tables:
            for model in self.model(own["model"], position) if "model" in own else ({},):
                both = without(model, *self.scales, *said)
                both |= without(own, "model", *self.scales)
                both |= {**model.get(scale, {}), **own.get(scale, {})}
                choices = [value if isinstance(value, list) else [value] for value in both.values()]
                if (count := math.prod(map(len, choices))) > _MOST_CASES:
                    raise position.wrong(f"found {count} cases in one, expected at most {_MOST_CASES}")
                written += (dict(zip(both, values, strict=True)) for values in itertools.product(*choices))
        return written


def names_of(document: Table, scales: tuple[str, ...], position: Position) -> Names:
    """The names of a study's tables [subjects] and [models]. Raises InputError."""
    models: dict[str, tuple[Table, ...]] = {}
    names = Names(document.get("subjects", {}), models, scales)
    for name, value in document.get("models", {}).items():
        models[name] = _model(name, value, names, position.at(f"[models]: {name}"))
    return names


def _model(name: str, value: Any, names: Names, position: Position) -> tuple[Table, ...]:
    """A model's table, of the task of its name where it says no other, or those of models above it.

    These as a list, or with what differs as a table of `model` and cell fields.
    """
    if isinstance(value, list):
        return names.model(value, position)
    own = without(value, "model")
    bases = names.model(value["model"], position) if "model" in value else ({"task": name},)
    task = own.get("task", name)
    if "model" not in value and task not in (known := tasks.NAMES):
        raise position.wrong(f"task {task!r} is unknown; known: {', '.join(known)}")
    return tuple({**base, **own} for base in bases)


def _refuse_unnamed(kind: str, name: str, known: Mapping[str, Any], position: Position) -> None:
    if name not in known:
        raise position.wrong(f'{kind} "{name}" is not in [{kind}s]{strict_toml.hint(name, known)}')


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
    taken = _kept(without(parent, "id", "title", "same"), own)
    if "scale" in taken:
        taken["scale"] = {name: _kept(each, own) if isinstance(each, dict) else each
                          for name, each in taken["scale"].items()}
    merged = {name: _merged(taken.get(name, {}), own.get(name, {})) for name in _MERGED if name in taken or name in own}
    return {**taken, **without(own, "same"), **merged}


def _kept(table: Table, own: Table) -> Table:
    """A parent's table without the keys that the experiment's own settings, grid, stacks or task replace."""
    instead, grid = {"stacks": "subjects", "subjects": "stacks"}, own.get("grid", {})
    left = without(table, *grid, *(instead[name] for name in own if name in instead),
                   *(("cases",) if "task" in own or "task" in grid else ()))
    if "grid" in left:
        left["grid"] = without(left["grid"], *own)
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
    for table in written.values():
        if table.get("device") == but_device:
            del table["device"]
    return {**expanded, "scale": written}


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
