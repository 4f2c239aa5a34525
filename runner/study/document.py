"""A study file's tables as models: which keys there are and what they hold, before any name is looked up. Pure.

Editors have the same models (study.schema). What several keys say together, those refuse that use them.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    Tag,
    WithJsonSchema,
)

from runner import strict_toml
from runner.strict_toml import Keys, Table, Text
from workloads.spec import cell as cells
from workloads.spec.data import datasets, prepared
from workloads.spec.tasks import NAMES

IDENTIFIER = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$"
NODE = r"^[1-9]\d{0,3} CPUs?, [1-9]\d{0,4} GB$"
SETTABLE = tuple(name for name in cells.FIELDS if name not in ("stack", "source"))     # the planner's


# ---- cell fields

_CHOICES = {**cells.CHOICES, "task": NAMES, "data": (*datasets.DATA_SETS, *prepared.SEQUENCE_SETS)}


def _value(name: str) -> Any:
    """The type of a cell's field."""
    if name in _CHOICES:
        return Literal.__getitem__(_CHOICES[name])
    if cells.FIELDS[name] is str:
        return Text
    return Annotated[cells.FIELDS[name], Field(ge=cells.LEAST[name], le=cells.MOST.get(name, 2**62 - 1))]


_VALUES = {name: _value(name) for name in SETTABLE}
_LISTS = {name: Annotated[list.__class_getitem__(kind), Field(min_length=1)] for name, kind in _VALUES.items()}


def _optional(kinds: dict[str, Any]) -> dict[str, Any]:
    return {name: Annotated[kind, Field(default=None)] for name, kind in kinds.items()}


class Cell(Keys):
    """Cell fields."""

    __annotations__ = _optional(_VALUES)


class Grid(Keys):
    """Lists of values, whose combinations are run."""

    __annotations__ = _optional(_LISTS)


class Where(Keys):
    """One value or several of each field."""

    __annotations__ = _optional({name: kind | _LISTS[name] for name, kind in _VALUES.items()})


class Subject(Keys):
    """Whose number it is."""

    __annotations__ = {"stack": Text, **Cell.__annotations__}


# ---- tables

def _or(table: Any, of: type = dict, words: str = "a table", name: Any = Text, of_name: type = str,
        name_words: str = "a name") -> Any:
    """A name in place of a table, or another pair of kinds: each a model, its type in TOML, and that in words."""
    def tag(value: Any) -> str | None:
        return name_words if isinstance(value, of_name) else words if isinstance(value, of) else None

    union = Annotated[name, Tag(name_words)] | Annotated[table, Tag(words)]
    return Annotated[union, Discriminator(tag, "of_kind", f"{name_words} or {words}")]


def _of_form(pattern: str, what: str) -> Any:
    def read(text: str) -> str:
        if not re.fullmatch(pattern.strip("^$"), text):
            raise ValueError(what)
        return text

    return Annotated[str, AfterValidator(read), WithJsonSchema({"type": "string", "pattern": pattern})]


Names = Annotated[tuple[Text, ...], Strict(False), Field(min_length=1)]
_Rounds = Annotated[int, Field(ge=1, le=1000)]
_ABSENT: Any = None             # what may be absent may not be null, which TOML does not have
_Subject: Any = _or(Subject)
_Models: Any = _or(Names, list, "a list of names")       # one or several, by name


class Head(Keys):
    """A file's table [study]."""

    # it becomes a part of folders' names
    id: _of_form(IDENTIFIER, 'at most 64 letters, digits, dots, dashes or "_"')    # type: ignore[valid-type]
    title: Text
    rounds: _Rounds | dict[str, _Rounds] = 5
    baseline: str = ""
    scales: Names = ("paper",)           # the paper's own first
    forms: Mapping[str, Names] = {}
    setup: str = ""                      # a paper's machine, versions and sizes


class Case(Where):
    """A model's cells, or an experiment's: cell fields, and in tables named after scales what differs there."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Where] = Field(init=False)
    model: _Models = _ABSENT


_Case: Any = _or(Case)
_Group: Any = _or(Case, name=Names, of_name=list, name_words="a list of names")


class Scaled(Cell):
    """What an experiment has at a scale."""

    stacks: Names = _ABSENT
    cases: list[_Case] = _ABSENT
    grid: Grid = _ABSENT


_Scaled: Any = _or(Scaled)


class Shared(Scaled):
    """The table [cells]: what experiments take over."""

    subjects: list[_Subject] = _ABSENT
    node: _of_form(NODE, 'CPUs and memory such as "4 CPUs, 16 GB"') = _ABSENT    # type: ignore[valid-type]
    assumed: dict[str, Text] = _ABSENT
    scale: dict[str, _Scaled] = _ABSENT


class Experiment(Shared):
    """An [[experiment]]."""

    id: Text
    title: str = ""
    same: Text = _ABSENT


class Entry(BaseModel):
    """Where names may stand in a [[published]], [[claim]] or [[told]]; their other keys claims_file reads."""

    model_config = ConfigDict(extra="allow", strict=True)

    where: Where = _ABSENT
    of: _Subject = _ABSENT
    to: _Subject = _ABSENT
    order: list[_Subject] = _ABSENT
    than: list[_Subject] = _ABSENT
    at: Cell = _ABSENT
    turned_for: list[Cell] = _ABSENT


class Document(Keys):
    """A whole file."""

    study: Head
    subjects: dict[str, Subject] = _ABSENT
    models: dict[str, _Group] = _ABSENT
    cells: Shared = _ABSENT
    experiment: Annotated[list[Experiment], Field(min_length=1)]
    published: list[Entry] = _ABSENT
    claim: list[Entry] = _ABSENT
    told: list[Entry] = _ABSENT
    index: list[Entry] = _ABSENT


def head(document: Table, file: str) -> Head:
    """The table [study]. Raises InputError for the first table that has a key, or a value, that it may not have."""
    position = strict_toml.Position(file, "[study]")
    read = strict_toml.validated(Head, document.get("study"), position, is_strict=None)
    if isinstance(read.rounds, dict):
        strict_toml.refuse_unknown(read.rounds, read.scales, position.at("rounds"))
    strict_toml.validated(Document, document, strict_toml.Position(file), {"scales": read.scales}, is_strict=None)
    return read
