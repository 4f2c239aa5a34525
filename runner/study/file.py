"""Study files: experiments as data, read strictly, whole or some of them. Nothing in them is an expression."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runner import paths, strict_toml
from runner.errors import InputError, unknown
from runner.strict_toml import Position, Table, without
from runner.study import claims_file, document, shorthand, tables
from runner.study.claims import Claim
from runner.study.published import Published
from workloads.spec import cell as cells
from workloads.spec import measures, tasks

EVERY = "every"                 # in place of a list of stacks: all of the cells' device that build models
_MOST_CELLS = 20_000            # ten times our largest study's


class Node(NamedTuple):
    """CPUs and memory that cells ask for; a machine that has less gives what it has."""

    cpus: int
    memory_bytes: int

    @classmethod
    def of(cls, text: str) -> "Node":
        """The node of such a text as "4 CPUs, 16 GB"."""
        cpus, _, memory, _ = text.split()
        return cls(int(cpus), int(memory) * 10**9)


class Experiment(NamedTuple):
    """Cells: settings that all share, cases that change some of them, and lists whose combinations vary."""

    id: str
    title: str
    stacks: tuple[str, ...]
    settings: dict[str, Any]
    cases: tuple[dict[str, Any], ...]        # at least one
    grid: dict[str, tuple[Any, ...]]
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
        """The settings of the stack's own variants; one without any gets every variant of the study."""
        every = [settings for own in self.variants.values() for settings in own]
        return self.variants.get(stack) or tuple(shorthand.distinct(every)) or ({},)


class Study(NamedTuple):
    """A study at one scale."""

    id: str
    title: str
    rounds: int
    baseline: str
    scale: str
    experiments: tuple[Experiment, ...]
    forms: Mapping[str, tuple[str, ...]] = {}    # stacks that stand for one where it cannot run
    published: tuple[Published, ...] = ()
    claims: tuple[Claim, ...] = ()
    told: tuple[claims_file.Told, ...] = ()                  # what the paper states and no cell can test
    places: tuple[claims_file.Place, ...] = ()               # the paper's figures and tables
    setup: str = ""                                          # its machine, versions and sizes


def parted(name: str) -> tuple[str, tuple[str, ...]]:
    """The study's name or path, and the experiments after it, STUDY/ONE,OTHER; none: all of them."""
    file, end, rest = name.partition(".toml")
    if not end:
        file, _, rest = name.partition("/")
    return f"{file}{end}" or name, tuple(filter(None, rest.removeprefix("/").split(","))) if file else ()


def available(folders: paths.Shelf) -> list[str]:
    """The ids of the studies in the folders."""
    return sorted({path.parent.name if path.name == tables.STUDY else path.stem for each in paths.several(folders)
                   for path in (*each.glob("*.toml"), *each.glob(f"*/{tables.STUDY}")) if path.is_file()})


def located(name: str, folders: paths.Shelf) -> Path:
    """The file of the study of that id, or of that path. Raises InputError where there is none, or two."""
    if name.endswith(".toml"):
        if not (path := Path(name)).is_file():
            raise InputError(f"{path}: no such file; `evenbench list studies` shows what there is")
        return path
    files = [path for each in paths.several(folders)
             for path in (each / f"{name}.toml", each / name / tables.STUDY) if path.is_file()]
    if len(files) > 1:
        raise InputError(f"{files[1]}: there is a study {name} already, {files[0]}: give yours another name, or name "
                         "its path")
    if not files:
        raise unknown("study", name, available(folders))
    return files[0]


def read(name: str, folders: paths.Shelf, scale: str | None = None, on_gpu: bool = False) -> Study:
    """The study of that id, or of that path. Raises InputError with file, key, found and expected.

    on_gpu: what a scale moves from the GPU to the CPU stays on the GPU.
    """
    path = located(name, folders)
    return from_document(tables_of(path), str(path), scale, on_gpu)


def selected(name: str, folders: paths.Shelf, scale: str | None = None, on_gpu: bool = False) -> Study:
    """As read, of STUDY/ONE,OTHER those experiments alone, and what claims and numbers can say of their cells.

    Raises InputError, also where it has no such experiment, or its scale no cell of them.
    """
    of, ids = parted(name)
    whole = read(of, folders, scale, on_gpu)
    known = [experiment.id for experiment in whole.experiments]
    for each in ids:
        if each not in known:
            raise unknown(f"study {whole.id}: experiment", each, known)
    if not ids:
        return whole
    chosen = tuple(experiment for experiment in whole.experiments if experiment.id in ids)
    if not any(experiment.cases for experiment in chosen):
        fuller = [f"--scale {other}" for other, at_scale in experiments(of, folders, on_gpu).items()
                  if any(experiment.cases for experiment in at_scale.experiments if experiment.id in ids)]
        raise InputError(f"study {whole.id}: {', '.join(ids)}: found no cells at scale {whole.scale}, "
                         f"expected {' or '.join(fuller) or 'other experiments'}")
    cells_by_id = {experiment.id: [*cells_of(experiment)] for experiment in chosen}
    return whole._replace(experiments=chosen,
                          published=tuple(number for number in whole.published if _can_be_said(number, cells_by_id)),
                          claims=tuple(claim for claim in whole.claims if _can_be_said(claim, cells_by_id)))


def _can_be_said(one: Claim | Published, cells_by_id: Mapping[str, Sequence[cells.Cell]]) -> bool:
    """Whether each subject has a cell that its number could come from."""
    is_about = one.selection()
    of = [cell for name, own in cells_by_id.items() if one.experiment in ("", name) for cell in own if is_about(cell)]
    return all(any(subject.owns(cell) for cell in of) for subject in one.subjects)


def repeats_publication(name: str, folders: paths.Shelf) -> bool:
    """Whether the study of that id has figures or claims of a publication. Raises InputError."""
    return not {"published", "claim"}.isdisjoint(tables_of(located(name, folders)))


def scales(name: str, folders: paths.Shelf) -> tuple[str, ...]:
    """The scales of the study of that id or path, the first one first. Raises InputError."""
    path = located(name, folders)
    return document.head(tables_of(path), str(path)).scales


def experiments(name: str, folders: paths.Shelf, on_gpu: bool = False) -> dict[str, Study]:
    """The study of that id at each of its scales, without claims, whose checks take longest. Raises InputError."""
    path = located(name, folders)
    return _at_scales(tables_of(path), str(path), on_gpu)[0]


def tables_of(path: Path) -> Table:
    """The tables of a study's file, and of the CSV files beside a paper's. Raises InputError."""
    return {**strict_toml.document(path.read_bytes(), str(path)), **tables.beside(path)}


def from_document(whole: Table, file: str, scale: str | None = None, on_gpu: bool = False) -> Study:
    """The study in a file's tables. Raises InputError."""
    at_scales, known = _at_scales(whole, file, on_gpu)
    scale = scale or next(iter(at_scales))
    if scale not in at_scales:
        raise Position(file, "[study]").wrong(f'scale "{scale}" is unknown; known: {", ".join(at_scales)}')
    study = at_scales[scale]
    by_scale = {name: {one.id: [*cells_of(one)] for one in each.experiments} for name, each in at_scales.items()}
    grounds = claims_file.Grounds(scale, by_scale, study.forms, known)
    published, claims, told, index = claims_file.read(whole, file, grounds)
    return study._replace(published=published, claims=claims, told=told, places=index)


def _at_scales(whole: Table, file: str, on_gpu: bool) -> tuple[dict[str, Study], shorthand.Names]:
    """The study at each scale, without claims, with names and "same" replaced by what they stand for; the names."""
    position, head = Position(file), document.head(whole, file)
    known = shorthand.names_of(whole, head.scales, position)
    written = shorthand.experiments(whole, known, position, on_gpu)
    strict_toml.refuse_twice("experiment", [each["id"] for each in written], position)
    at_scales = {name: Study(
        head.id, head.title, head.rounds if isinstance(head.rounds, int) else head.rounds.get(name, 5), head.baseline,
        name, tuple(_experiment(each, position, name) for each in written), head.forms, setup=head.setup)
        for name in head.scales}
    if (count := sum(one.size for each in at_scales.values() for one in each.experiments)) > _MOST_CELLS:
        raise position.wrong(f"found {count} cells over all scales, expected at most {_MOST_CELLS}")
    return at_scales, known


def cells_of(experiment: Experiment) -> Iterator[cells.Cell]:
    """Its cells; what the machine decides is left at its default."""
    for settings in experiment.combinations():
        for stack in experiment.stacks:
            for own in experiment.variants_of(stack):
                yield cells.parse({**tasks.defaults(settings["task"]), **settings, **own, "stack": stack})


def _experiment(table: Table, position: Position, scale: str) -> Experiment:
    """The experiment at one scale: the scale's keys override it, and grid keys merge."""
    position = position.entry(table, "experiment")
    scaled = table["scale"][scale]
    values = {**table, **scaled, "grid": {**table.get("grid", {}), **scaled.get("grid", {})}}
    settings = {name: value for name, value in values.items() if name in document.SETTABLE}
    grid = {name: tuple(options) for name, options in values["grid"].items()}
    if table.get("cases") == []:
        raise position.wrong('key "cases": found none, expected some; only a scale may leave an experiment out')
    cases = tuple(values.get("cases", ({},)))
    for name in grid:
        if name in settings or any(name in case for case in cases):
            raise position.wrong(f'key "{name}" stands both beside and in grid')
    for name, known in (("measure", measures.NAMES), ("task", tasks.NAMES)):
        if name not in settings and name not in grid and not all(name in case for case in cases):
            raise position.wrong(f'key "{name}" is missing; known: {", ".join(known)}')
    if ("stacks" in values) == ("subjects" in values):
        found = "both" if "stacks" in values else "neither"
        raise position.wrong(f'found {found}, expected either "stacks" or "subjects", a list')
    variants = _variants(values.get("subjects", []), grid, position)
    return Experiment(values["id"], values.get("title", ""), tuple(variants or values["stacks"]), settings, cases, grid,
                      values.get("assumed", {}), variants, tuple(_overrides(table, scale)),
                      Node.of(values["node"]) if "node" in values else None)


def _variants(subjects: Sequence[Table], grid: Mapping[str, Any],
              position: Position) -> dict[str, tuple[dict[str, Any], ...]]:
    """The settings of each stack in the list `subjects`, which a study may have instead of `stacks`."""
    variants: dict[str, tuple[dict[str, Any], ...]] = {}
    for subject in subjects:
        own = without(subject, "stack")
        if wrong := [name for name in own if name in (*grid, "task", "measure")]:
            raise position.at("subjects").wrong(f'key "{wrong[0]}" is of the experiment, not of a stack')
        variants[subject["stack"]] = (*variants.get(subject["stack"], ()), own)
    return variants


def _overrides(table: Table, scale: str) -> Iterator[str]:
    """What the experiment's checked tables change for a scale, for people."""
    def listing(options: Sequence[Any]) -> str:
        return "/".join(map(str, options)) or "the default"

    for name, value in table["scale"][scale].items():
        if name == "grid":
            before = table.get("grid", {})
            yield from (f"{key} {listing(options)} for {listing(before.get(key, []))}"
                        for key, options in value.items() if options != before.get(key))
        elif name == "cases" and not value:
            yield "none of its cells run"
        elif name == "cases":
            yield "; ".join(", ".join(f"{key} {option}" for key, option in case.items()) for case in value)
        elif name == "stacks":
            yield f"{name} {listing(value)} for {listing(table.get(name, []))}"
        elif value != table.get(name):
            yield f"{name} {value}" + (f" for {table[name]}" if name in table else "")
