"""What a study's file calls things: subjects and models, which its experiments, numbers and claims name. Pure."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from runner import strict_toml
from runner.strict_toml import Position, Table
from workloads.spec import tasks

_MOST_CASES = 20_000           # of one line; as many cells a study may have


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
                both = {name: value for name, value in model.items() if name not in (*self.scales, *said)}
                both |= {name: value for name, value in own.items() if name not in ("model", *self.scales)}
                both |= {**model.get(scale, {}), **own.get(scale, {})}
                choices = [value if isinstance(value, list) else [value] for value in both.values()]
                if (count := math.prod(map(len, choices))) > _MOST_CASES:
                    raise position.wrong(f"found {count} cases in one, expected at most {_MOST_CASES}")
                written += (dict(zip(both, values, strict=True)) for values in itertools.product(*choices))
        return written


def read(document: Table, scales: tuple[str, ...], position: Position) -> Names:
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
    own = {field: options for field, options in value.items() if field != "model"}
    bases = names.model(value["model"], position) if "model" in value else ({"task": name},)
    task = own.get("task", name)
    if "model" not in value and task not in (known := tasks.NAMES):
        raise position.wrong(f"task {task!r} is unknown; known: {', '.join(known)}")
    return tuple({**base, **own} for base in bases)


def _refuse_unnamed(kind: str, name: str, known: Mapping[str, Any], position: Position) -> None:
    if name not in known:
        raise position.wrong(f'{kind} "{name}" is not in [{kind}s]{strict_toml.hint(name, known)}')
