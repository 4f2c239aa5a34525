"""Study files: experiments as data, read strictly. Nothing in them is an expression."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from runner import own_tasks, paths, strict_toml
from runner.errors import InputError, unknown
from runner.strict_toml import Position
from runner.study import claims_file, inheritance, names, rows
from runner.study.claims import Claim
from runner.study.node import Node, node
from runner.study.published import Published
from runner.study.subjects import Text
from runner.study.told import Told, told
from workloads.spec import cell as cells
from workloads.spec import measures
from workloads.spec.cell import Cell

# what an experiment may set besides a cell's own fields
EXPERIMENT_KEYS = ("id", "title", "stacks", "subjects", "node", "cases", "grid", "except", "assumed", "scale")
SCALED = ("stacks", "grid", "cases")      # of these, what a scale may override
EVERY = "every"                 # in place of a list of stacks: all of the cells' device that build models
_MOST_CELLS = 20_000            # ten times our largest study's
IDENTIFIER = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$"
_TABLES = ("study", "subjects", "models", "cells", "experiment", "published", "claim", "told")


class Experiment(NamedTuple):
    """Cells: settings that all share, cases that change some of them, and lists whose combinations vary."""

    id: str
    title: str
    stacks: tuple[str, ...]
    settings: dict[str, Any]
    cases: tuple[dict[str, Any], ...]        # at least one
    grid: dict[str, tuple[Any, ...]]
    excepted: tuple[dict[str, Any], ...]     # each some cell fields, and "why"
    assumed: dict[str, str]
    variants: Mapping[str, tuple[dict[str, Any], ...]] = {}     # by stack, where only some settings are a stack's
    scaled: tuple[str, ...] = ()             # what its scale changes: "steps 6 for 3960"
    node: Node | None = None                 # what each of its nodes had; None: all that there is

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The settings of every cell but for its stack."""
        for case, values in itertools.product(self.cases, itertools.product(*self.grid.values())):
            yield {**self.settings, **case, **dict(zip(self.grid, values, strict=True))}

    @property
    def size(self) -> int:
        """How many cells it has at most."""
        each = len(self.cases) * math.prod(map(len, self.grid.values()))
        return each * sum(len(self.variants_of(stack)) for stack in self.stacks)

    def variants_of(self, stack: str) -> tuple[dict[str, Any], ...]:
        """The settings of the stack's own variants.

        A stack without variants of its own gets every variant of the study.
        """
        every = [settings for own in self.variants.values() for settings in own]
        different = [settings for index, settings in enumerate(every) if settings not in every[:index]]
        return self.variants.get(stack) or tuple(different) or ({},)

    def exception(self, cell: Cell) -> str | None:
        """The study's own reason to leave a cell out, or None."""
        for item in self.excepted:
            if all(getattr(cell, name) == value for name, value in item.items() if name != "why"):
                return str(item["why"])
        return None


class Study(NamedTuple):
    """A study at one scale."""

    id: str
    title: str
    rounds: int
    baseline: str
    scale: str
    experiments: tuple[Experiment, ...]
    published: tuple[Published, ...] = ()
    claims: tuple[Claim, ...] = ()
    forms: Mapping[str, tuple[str, ...]] = {}    # stacks that stand for one where it cannot run
    told: tuple[Told, ...] = ()                  # what the paper states and no cell can test


def _is_identifier(text: str) -> str:
    if not re.fullmatch(IDENTIFIER.strip("^$"), text):
        raise ValueError('at most 64 letters, digits, dots, dashes or "_"')
    return text


_Rounds = Annotated[int, Field(ge=1, le=1000)]
_Names = Annotated[tuple[Text, ...], Field(min_length=1)]


class Head(BaseModel):
    """A file's table [study]."""

    id: Annotated[str, AfterValidator(_is_identifier), WithJsonSchema({"type": "string", "pattern": IDENTIFIER})]
    """It becomes a part of folders' names."""
    title: Text
    rounds: _Rounds | dict[str, _Rounds] = 5
    baseline: str = ""
    scales: _Names = ("paper",)
    default_scale: Text | None = None
    forms: dict[str, _Names] = {}

    @property
    def first_scale(self) -> str:
        """The one that is taken where nobody asks for another."""
        return self.default_scale or self.scales[0]

    def rounds_at(self, scale: str) -> int:
        """One number, or one for each scale."""
        return self.rounds if isinstance(self.rounds, int) else self.rounds.get(scale, 5)


def _head(document: strict_toml.Table, position: Position) -> Head:
    table = strict_toml.table(document, "study", position)
    here = Position(position.file, "[study]")
    strict_toml.refuse_unknown(table, tuple(Head.model_fields), here)
    head = strict_toml.validated(Head, table, here)
    if isinstance(head.rounds, dict):
        strict_toml.refuse_unknown(head.rounds, head.scales, here.at("rounds"))
    return head


def available(folder: Path) -> list[str]:
    """The ids of the studies in a folder, and of those that the user keeps elsewhere."""
    folders = (folder, *paths.own_folders(paths.OWN_STUDIES))
    return sorted({path.stem for each in folders for path in each.glob("*.toml")})


def located(name: str, folder: Path) -> Path:
    """The file of the study of that id: in the folder, or where the user keeps some. Raises InputError for two."""
    files = [path for each in (folder, *paths.own_folders(paths.OWN_STUDIES))
             if (path := each / f"{name}.toml").is_file()]
    if len(files) > 1:
        raise InputError(f"{files[1]}: there is a study {name} already, {files[0]}: give yours another name, or name "
                         "its path")
    return files[0] if files else folder / f"{name}.toml"


def read(name: str, folder: Path, scale: str | None = None, on_gpu: bool = False) -> Study:
    """The study of that id, or of that path. Raises InputError with file, key, found and expected.

    on_gpu: what a scale moves from the GPU to the CPU stays on the GPU.
    """
    path = Path(name) if name.endswith(".toml") else located(name, folder)
    if not path.is_file():
        if name.endswith(".toml"):
            raise InputError(f"{path}: no such file; `evenbench list studies` shows what there is")
        raise unknown("study", name, available(folder))
    return parse(path.read_bytes(), str(path), scale, on_gpu)


def repeats_publication(name: str, folder: Path) -> bool:
    """Whether the study of that id has figures or claims of a publication. Raises InputError."""
    return not {"published", "claim"}.isdisjoint(_document(located(name, folder)))


def scales(name: str, folder: Path) -> tuple[str, ...]:
    """The scales of the study of that id, the default one first. Raises InputError."""
    path = located(name, folder)
    head = _head(_document(path), Position(str(path)))
    return tuple(sorted(head.scales, key=lambda scale: scale != head.first_scale))


def _document(path: Path) -> dict[str, Any]:
    return strict_toml.document(path.read_bytes(), str(path))


def parse(content: bytes, file: str, scale: str | None = None, on_gpu: bool = False) -> Study:
    """The study in a file's bytes. Raises InputError."""
    return from_document(strict_toml.document(content, file), file, scale, on_gpu)


def from_document(document: dict[str, Any], file: str, scale: str | None = None, on_gpu: bool = False) -> Study:
    """The study in a file's tables. Raises InputError."""
    position = Position(file)
    strict_toml.refuse_unknown(document, _TABLES, position)
    head = _head(document, position)
    here = Position(file, "[study]")
    scales = head.scales
    scale = scale or head.first_scale
    if scale not in scales:
        raise here.wrong(f'scale "{scale}" is unknown; known: {", ".join(scales)}')
    document = written_out(document, scales, position)
    tables = strict_toml.listed(document, "experiment", position)
    if on_gpu:
        tables = [inheritance.on_gpu(each) for each in tables]
    experiments = tuple(_experiment(each, position, scale, scales) for each in tables)
    if not experiments:
        raise position.wrong("found no [[experiment]], expected at least one")
    strict_toml.refuse_twice("experiment", [experiment.id for experiment in experiments], position)
    everywhere = {name: [_experiment(each, position, name, scales) for each in tables] for name in scales}
    if (count := sum(each.size for those in everywhere.values() for each in those)) > _MOST_CELLS:
        raise position.wrong(f"found {count} cells over all scales, expected at most {_MOST_CELLS}")
    by_scale = {name: [cell for each in those for cell in cells_of(each)] for name, those in everywhere.items()}
    grounds = claims_file.Grounds([cell for each in experiments for cell in cells_of(each)], by_scale, head.forms)
    return Study(head.id, head.title, head.rounds_at(scale), head.baseline, scale, experiments,
                 claims_file.published(document, position, grounds), claims_file.claimed(document, position, grounds),
                 head.forms, told(document["told"], position))


def written_out(document: strict_toml.Table, scales: tuple[str, ...], position: Position) -> strict_toml.Table:
    """The file's tables with names, rows and "same as" replaced by what they stand for."""
    known = names.read(document, scales, position)
    claims, stated = rows.printed(rows.written(document, "claim", known, position))
    return {**document, "experiment": inheritance.experiments(document, known, position),
            "published": rows.written(document, "published", known, position) + stated, "claim": claims,
            "told": rows.written(document, "told", known, position)}


def cells_of(experiment: Experiment) -> Iterator[claims_file.OfStudy]:
    """Without those that the study excepts; what the machine decides is left at its default."""
    for settings in experiment.combinations():
        for stack in experiment.stacks:
            for own in experiment.variants_of(stack):
                cell = cells.parse({**own_tasks.defaults(settings["task"]), **settings, **own, "stack": stack})
                if experiment.exception(cell) is None:
                    yield claims_file.OfStudy(experiment.id, cell)


def _experiment(table: Any, position: Position, scale: str, scales: tuple[str, ...]) -> Experiment:
    position = position.entry(table, "experiment")
    values = _scaled(table, position, scale, scales)
    settings = {name: value for name, value in values.items() if name not in EXPERIMENT_KEYS}
    grid = {name: strict_toml.options(name, options, position)
            for name, options in strict_toml.table(values, "grid", position, {}).items()}
    for name, value in settings.items():
        strict_toml.checked(name, value, position)
    if table.get("cases") == []:
        raise position.wrong('key "cases": found none, expected some; only a scale may leave an experiment out')
    cases = (tuple(strict_toml.case(item, position) for item in strict_toml.listed(values, "cases", position))
             if "cases" in values else ({},))
    for name in grid:
        if name in settings or any(name in case for case in cases):
            raise position.wrong(f'key "{name}" stands both beside and in grid')
    for name, known in (("measure", measures.NAMES), ("task", own_tasks.names())):
        if name not in settings and name not in grid and not all(name in case for case in cases):
            raise position.wrong(f'key "{name}" is missing; known: {", ".join(known)}')
    variants = _variants(values, grid, position)
    return Experiment(strict_toml.string(values, "id", position), strict_toml.string(values, "title", position, ""),
                      tuple(variants) or strict_toml.strings(values, "stacks", position), settings, cases, grid,
                      tuple(_excepted(item, position) for item in strict_toml.listed(values, "except", position)),
                      _assumed(values, position), variants, tuple(_overrides(table, scale)), node(values, position))


def _variants(values: strict_toml.Table, grid: Mapping[str, Any],
              position: Position) -> dict[str, tuple[dict[str, Any], ...]]:
    """The settings of each stack in the list `subjects`, which a study may have instead of `stacks`."""
    if "subjects" in values and "stacks" in values:
        raise position.wrong('expected either "stacks" or "subjects"')
    variants: dict[str, tuple[dict[str, Any], ...]] = {}
    for item in strict_toml.listed(values, "subjects", position):
        here = position.at("subjects")
        if not isinstance(item, dict):
            raise here.wrong('expected a list of tables of "stack" and cell keys')
        own = {name: value for name, value in item.items() if name != "stack"}
        for name, value in own.items():
            strict_toml.checked(name, value, here)
            if name in grid or name in ("task", "measure"):
                raise here.wrong(f'key "{name}" is of the experiment, not of a stack')
        stack = strict_toml.string(item, "stack", here)
        variants[stack] = (*variants.get(stack, ()), own)
    return variants


def _overrides(table: dict[str, Any], scale: str) -> Iterator[str]:
    """What the experiment's checked tables change for a scale, for people."""
    for name, value in table.get("scale", {}).get(scale, {}).items():
        if name == "grid":
            before = table.get("grid", {})
            yield from (f"{key} {_listing(options)} for {_listing(before.get(key, []))}"
                        for key, options in value.items() if options != before.get(key))
        elif name == "cases" and not value:
            yield "none of its cells run"
        elif name == "cases":
            yield "; ".join(", ".join(f"{key} {option}" for key, option in case.items()) for case in value)
        elif name == "stacks":
            yield f"{name} {_listing(value)} for {_listing(table.get(name, []))}"
        elif value != table.get(name):
            yield f"{name} {value}" + (f" for {table[name]}" if name in table else "")


def _listing(options: Sequence[Any]) -> str:
    return "/".join(map(str, options)) or "the default"


def _scaled(table: dict[str, Any], position: Position, scale: str, scales: tuple[str, ...]) -> dict[str, Any]:
    """The experiment's values with its overrides for the scale put in; a grid is overridden key by key."""
    strict_toml.refuse_unknown(table, (*EXPERIMENT_KEYS, *strict_toml.settable()), position)
    overrides = strict_toml.table(table, "scale", position, {})
    strict_toml.refuse_unknown(overrides, scales, Position(position.file, f"{position.part}: scale"))
    values = {name: value for name, value in table.items() if name != "scale"}
    for name, value in strict_toml.table(overrides, scale, position, {}).items():
        here = Position(position.file, f"{position.part}: scale.{scale}")
        if name not in (*SCALED, *strict_toml.settable()):
            strict_toml.refuse_unknown({name: value}, (*SCALED, *strict_toml.settable()), here)
        if name == "grid":
            value = {**strict_toml.table(values, "grid", position, {}), **strict_toml.table({name: value}, name, here)}
        values[name] = value
    return values


def _excepted(item: Any, position: Position) -> dict[str, Any]:
    if not isinstance(item, dict) or not isinstance(item.get("why"), str) or len(item) < 2:
        raise position.wrong('except: expected tables of cell keys and "why"')
    for name, value in item.items():
        if name not in ("why", "stack"):
            strict_toml.checked(name, value, position)
    return item


def _assumed(values: dict[str, Any], position: Position) -> dict[str, str]:
    assumed = strict_toml.table(values, "assumed", position, {})
    return {name: strict_toml.string(assumed, name, position) for name in assumed}
