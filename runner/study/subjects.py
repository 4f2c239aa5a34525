"""Subjects: whose number it is. A stack, its parallel mode, and settings of its cells where a study compares those."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from runner.results.lines import says
from runner.strict_toml import Text
from runner.study.quantities import QUANTITIES
from workloads.spec import cluster, tasks
from workloads.spec.cell import FIELDS, Cell

Value = str | int | float
# a number of cells that differ in these is another number; other fields change how well it is known, not what it is of
_SIZES = ("device", "nodes", "gpus", "batch", "images", "input", "epochs", "length", "hidden")


_Settings = Annotated[tuple[tuple[str, Value], ...],
                      BeforeValidator(lambda said: tuple(said.items()) if isinstance(said, Mapping) else said),
                      PlainSerializer(dict, return_type=dict[str, Value])]


@dataclass(frozen=True)
class Subject:
    """Whose number it is."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", allow_inf_nan=False,
                                               json_schema_serialization_defaults_required=True)

    stack: str
    parallel: str = ""               # sync or async; "" where no nodes or GPUs train together
    settings: _Settings = ()         # fields of its cells, where a study compares those
    also: tuple[str, ...] = ()       # stacks that stand for it where it cannot run

    def __str__(self) -> str:
        return " ".join([self.stack, *filter(None, [self.parallel]),
                         *(f"{name} {value}" for name, value in self.settings)])

    def owns(self, cell: Cell) -> bool:
        """Whether a cell is one of its."""
        if cell.stack != self.stack and cell.stack not in self.also:
            return False
        kind: str = cluster.kind(cell.parallel)
        return self.parallel == ("" if kind == "none" else kind) and all(
            getattr(cell, name) == value for name, value in self.settings)

    def called(self, name: str) -> "Subject":
        """The same subject, its stack under another name."""
        return replace(self, stack=name, also=(self.stack, *self.also))


class Stated(BaseModel):
    """What a study's file states, with these keys and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False,
                              json_schema_serialization_defaults_required=True)

    def record(self) -> dict[str, Any]:
        """As the store keeps it."""
        return self.model_dump(mode="json")


def sizes(cells: Iterable[Cell]) -> dict[str, tuple[Value, ...]]:
    """The devices and sizes of cells, by field, each value once."""
    values: dict[str, dict[Value, None]] = {}
    for cell in cells:
        for name in (*_SIZES, *(("preset",) if tasks.is_sequence(cell.task) else ("image", "classes"))):
            values.setdefault(name, {})[getattr(cell, name)] = None
    return {name: tuple(each) for name, each in values.items()}


def stand_ins(subjects: Iterable[Subject], cells: Iterable[Cell]) -> dict[str, str]:
    """What ran in place of the subjects' stacks, by these: several as "a/b"."""
    ran = [(one.stack, cell.stack) for cell in cells for one in subjects if one.owns(cell)]
    return {stack: "/".join(names) for stack in dict.fromkeys(stack for stack, _ in ran)
            if (names := sorted({name for own, name in ran if own == stack})) != [stack]}


def of_several_forms(stand_ins: Mapping[str, str]) -> str:
    """Why nothing is a number of what ran: a subject's stack ran in several forms; "" where none did."""
    return "; ".join(f"{stack} ran as {names.replace('/', ' and ')}: no number is of several forms"
                     for stack, names in stand_ins.items() if "/" in names)


def unknown_fields(subjects: Iterable[Subject], where: Iterable[str] = ()) -> str | None:
    """What is wrong with subjects or with fields that pick cells, where one is not a cell's; else None."""
    names = (*where, *(name for each in subjects for name, _ in each.settings))
    return next((f'field "{name}": expected one of a cell' for name in names if name not in FIELDS), None)


def named(subjects: Iterable[Subject]) -> tuple[str, ...]:
    """The cell fields in which cells of different subjects may differ."""
    return ("stack", "parallel", "measure", *dict.fromkeys(name for each in subjects for name, _ in each.settings))


class OfCells(Stated):
    """What a study states of the cells that subjects and fields pick."""

    id: Text
    quantity: str
    to: Subject | None = None
    where: Annotated[Mapping[str, tuple[Value, ...]], says("Cell fields and the values that it is about.")] = {}
    experiment: Annotated[str, says('The one that it is about; "" where all are.')] = ""
    contradiction: Annotated[str, says("Why the paper's own numbers contradict it; \"\" where nothing does.")] = ""
    paper: Annotated[Mapping[str, tuple[Value, ...]], says(
        "Devices and sizes of its cells at the paper's scale, by field.")] = {}

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Whose numbers it needs."""
        raise NotImplementedError

    def selection(self) -> Callable[[Cell], bool]:
        """Whether it looks at a cell, if that is of one of its subjects.

        At cells without overlap, or of the framework's own loader, only where it names that field.
        """
        usual = {"overlap": ("default",), "input": ("pipeline", "synthetic")}
        allowed = {"measure": (QUANTITIES[self.quantity].measure,),
                   **{name: usual[name] for name in usual if name not in named(self.subjects)}, **self.where}
        return lambda cell: all(getattr(cell, name) in values for name, values in allowed.items())
