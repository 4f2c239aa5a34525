"""Study files: experiments as data, read strictly. Nothing in them is an expression."""

import difflib
import itertools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runner import claims
from runner.claims import Claim
from runner.errors import InputError
from runner.published import QUANTITIES, UNITS, Published, Subject, is_about, measure, whose
from workloads.spec import cell as cells
from workloads.spec.cell import Cell
from workloads.spec.tasks import TASKS

# what an experiment may set besides a cell's own fields
EXPERIMENT_KEYS = ("id", "title", "stacks", "cases", "grid", "except", "assumed", "scale")
SCALED = ("grid", "cases")      # of these, what a scale may override
_STUDY_KEYS = ("id", "title", "rounds", "baseline", "scales", "default_scale")
_OF_THE_PLAN = ("stack",)     # cell fields that the planner fills in


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

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The settings of every cell but for its stack."""
        for case, values in itertools.product(self.cases, itertools.product(*self.grid.values())):
            yield {**self.settings, **case, **dict(zip(self.grid, values, strict=True))}

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


class _Place(NamedTuple):
    """Where in a file a mistake lies, for the message."""

    file: str
    part: str = ""

    def wrong(self, text: str) -> InputError:
        line = ": ".join(part for part in (self.file, self.part, text) if part)
        return InputError(line.replace("\n", "\\n"))


def available(folder: Path) -> list[str]:
    """The ids of the studies in a folder."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def read(name: str, folder: Path, scale: str | None = None) -> Study:
    """The study of that id, or of that path. Raises InputError with file, key, found and expected."""
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not path.is_file():
        known = available(folder)
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise InputError(f'study "{name}" is unknown; known: {", ".join(known)}{hint}')
    return parse(path.read_bytes(), str(path), scale)


def scales(name: str, folder: Path) -> tuple[str, ...]:
    """The scales of the study of that id, the default one first. Raises InputError."""
    path = folder / f"{name}.toml"
    head = _table(_document(path.read_bytes(), str(path)), "study", _Place(str(path)))
    found = _strings(head, "scales", _Place(str(path), "[study]"), ("paper",))
    return tuple(sorted(found, key=lambda scale: scale != head.get("default_scale", found[0])))


def parse(content: bytes, file: str, scale: str | None = None) -> Study:
    """The study in a file's bytes. Raises InputError."""
    return from_document(_document(content, file), file, scale)


def _document(content: bytes, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:       # tomllib lets int()'s own error about long numbers through
        raise _Place(file).wrong(f"not TOML: {error}") from error


def from_document(document: dict[str, Any], file: str, scale: str | None = None) -> Study:
    """The study in a file's tables. Raises InputError."""
    place = _Place(file)
    _refuse_unknown(document, ("study", "experiment", "published", "claim"), place)
    head = _table(document, "study", place)
    _refuse_unknown(head, _STUDY_KEYS, _Place(file, "[study]"))
    text = _Place(file, "[study]")
    scales = _strings(head, "scales", text, ("paper",))
    scale = scale or _string(head, "default_scale", text, scales[0])
    if scale not in scales:
        raise text.wrong(f'scale "{scale}" is unknown; known: {", ".join(scales)}')
    listed = _list(document, "experiment", place)
    experiments = tuple(_experiment(found, _Place(file), scale, scales) for found in listed)
    if not experiments:
        raise place.wrong("found no [[experiment]], expected at least one")
    _refuse_twice("experiment", [experiment.id for experiment in experiments], place)
    published = tuple(_published(found, _Place(file)) for found in _list(document, "published", place))
    _refuse_twice("published", [number.id for number in published], place)
    every_scale = {name: [_experiment(found, place, name, scales) for found in listed] for name in scales}
    grounds = _Grounds(cells_of(experiments), [cell for found in every_scale.values() for cell in cells_of(found)])
    claimed = tuple(_claim(found, place, grounds) for found in _list(document, "claim", place))
    _refuse_twice("claim", [claim.id for claim in claimed], place)
    return Study(_string(head, "id", text), _string(head, "title", text), _rounds(head, text, scale, scales),
                 _string(head, "baseline", text, ""), scale, experiments, published, claimed)


def _experiment(found: Any, place: _Place, scale: str, scales: tuple[str, ...]) -> Experiment:
    if not isinstance(found, dict):
        raise place.wrong("[[experiment]]: expected a table")
    name = found.get("id")
    place = _Place(place.file, f"experiment {name}" if isinstance(name, str) else "[[experiment]]")
    values = _scaled(found, place, scale, scales)
    settings = {name: value for name, value in values.items() if name not in EXPERIMENT_KEYS}
    grid = {name: _options(name, options, place) for name, options in _table(values, "grid", place, {}).items()}
    for name, value in settings.items():
        _checked(name, value, place)
    cases = tuple(_case(item, place) for item in _list(values, "cases", place)) or ({},)
    for name in grid:
        if name in settings or any(name in case for case in cases):
            raise place.wrong(f'key "{name}" stands both beside and in grid')
    for name, known in (("measure", cells.MEASURES), ("task", tuple(TASKS))):
        if name not in settings and name not in grid and not all(name in case for case in cases):
            raise place.wrong(f'key "{name}" is missing; known: {", ".join(known)}')
    return Experiment(_string(values, "id", place), _string(values, "title", place, ""),
                      _strings(values, "stacks", place), settings, cases, grid,
                      tuple(_excepted(item, place) for item in _list(values, "except", place)),
                      _assumed(values, place))


def _scaled(found: dict[str, Any], place: _Place, scale: str, scales: tuple[str, ...]) -> dict[str, Any]:
    """The experiment's values with its overrides for the scale put in; a grid is overridden key by key."""
    _refuse_unknown(found, (*EXPERIMENT_KEYS, *settable()), place)
    overrides = _table(found, "scale", place, {})
    _refuse_unknown(overrides, scales, _Place(place.file, f"{place.part}: scale"))
    values = {name: value for name, value in found.items() if name != "scale"}
    for name, value in _table(overrides, scale, place, {}).items():
        here = _Place(place.file, f"{place.part}: scale.{scale}")
        if name not in (*SCALED, *settable()):
            _refuse_unknown({name: value}, (*SCALED, *settable()), here)
        if name == "grid":
            value = {**_table(values, "grid", place, {}), **_table({name: value}, name, here)}
        values[name] = value
    return values


def settable() -> tuple[str, ...]:
    """The cell fields that a study may set."""
    return tuple(name for name in cells.FIELDS if name not in _OF_THE_PLAN)


def _case(item: Any, place: _Place, key: str = "cases") -> dict[str, Any]:
    if not isinstance(item, dict) or not item:
        raise place.wrong(f'key "{key}": expected a list of tables of cell keys')
    for name, value in item.items():
        _checked(name, value, place)
    return item


def _options(name: str, options: Any, place: _Place) -> tuple[Any, ...]:
    if not isinstance(options, list) or not options:
        raise place.wrong(f'grid key "{name}": expected a list of values that is not empty')
    for option in options:
        _checked(name, option, place)
    return tuple(options)


def _checked(name: str, value: Any, place: _Place) -> None:
    """Raise InputError unless the cell's field may have the value."""
    if name not in settable():
        _refuse_unknown({name: value}, settable(), place)
    try:
        cells.checked(name, value)
    except cells.CellError as error:
        raise place.wrong(str(error)) from error
    except OverflowError as error:
        raise place.wrong(f'key "{name}": {error}') from error
    if name == "task" and value not in TASKS:
        raise place.wrong(f'task "{value}" is unknown; known: {", ".join(TASKS)}')


def _excepted(item: Any, place: _Place) -> dict[str, Any]:
    if not isinstance(item, dict) or not isinstance(item.get("why"), str) or len(item) < 2:
        raise place.wrong('except: expected tables of cell keys and "why"')
    for name, value in item.items():
        if name not in ("why", "stack"):
            _checked(name, value, place)
    return item


def _published(found: Any, place: _Place) -> Published:
    if not isinstance(found, dict):
        raise place.wrong("[[published]]: expected a table")
    name = found.get("id")
    place = _Place(place.file, f"published {name}" if isinstance(name, str) else "[[published]]")
    _refuse_unknown(found, Published._fields, place)
    where = {key: _options(key, options, place) for key, options in _table(found, "where", place, {}).items()}
    to = _subject(found, "to", place) if "to" in found else None
    value = _positive(found, "value", place)
    if value is None:
        raise place.wrong('key "value": missing, expected a number above 0')
    unit = _one_of(found, "unit", UNITS, place)
    if (unit == "x") != (to is not None):
        raise place.wrong('unit "x" is a ratio, which has "of" and "to"; other units have "of" alone')
    return Published(_string(found, "id", place), _string(found, "source", place), _string(found, "text", place, ""),
                     _one_of(found, "quantity", QUANTITIES, place), _subject(found, "of", place), to, where,
                     value, unit)


_TOO_MUCH = 1e30                 # for a number that a study prints


class _Grounds(NamedTuple):
    """The cells that claims can be about."""

    here: list[Cell]             # at the study's scale
    anywhere: list[Cell]         # at any of its scales


def cells_of(experiments: Sequence[Experiment]) -> list[Cell]:
    """Without those that the study excepts; what the machine decides is left at its default."""
    found = []
    for experiment in experiments:
        for settings in experiment.combinations():
            task = TASKS[settings["task"]]
            for stack in experiment.stacks:
                cell = cells.parse({"classes": task.classes, "image": task.image, **settings, "stack": stack})
                if experiment.exception(cell) is None:
                    found.append(cell)
    return found


_CLAIM_KEYS = tuple(name for name in Claim._fields if name != "cases")


def _claim(found: Any, place: _Place, grounds: _Grounds) -> Claim:
    if not isinstance(found, dict):
        raise place.wrong("[[claim]]: expected a table")
    name = found.get("id")
    place = _Place(place.file, f"claim {name}" if isinstance(name, str) else "[[claim]]")
    _refuse_unknown(found, _CLAIM_KEYS, place)
    claim = Claim(
        id=_string(found, "id", place), text=_string(found, "text", place),
        kind=_one_of(found, "kind", claims.KINDS, place), quantity=_one_of(found, "quantity", QUANTITIES, place),
        where={key: _options(key, options, place) for key, options in _table(found, "where", place, {}).items()},
        of=_subject(found, "of", place) if "of" in found else None,
        to=_subject(found, "to", place) if "to" in found else None,
        order=tuple(_subject({"order": item}, "order", place) for item in _list(found, "order", place)),
        over=_strings(found, "over", place) if "over" in found else (),
        holds_for=_one_of(found, "holds_for", claims.HOLDS_FOR, place, "each"),
        along=_string(found, "along", place, ""), direction=_one_of(found, "direction", claims.DIRECTIONS, place, ""),
        at_least=_positive(found, "at_least", place), at_most=_positive(found, "at_most", place),
        about=_positive(found, "about", place), within=_positive(found, "within", place),
        turned_for=tuple(_case(item, place, "turned_for") for item in _list(found, "turned_for", place)),
        assumed=_string(found, "assumed", place, ""),
    )
    _refuse(claims.mistake(claim), place)
    claim = claim._replace(cases=_cases(claim, grounds, place))
    _refuse(claims.mistake(claim), place)
    return claim


def _cases(claim: Claim, grounds: _Grounds, place: _Place) -> tuple[claims.Case, ...]:
    """The claim's cases at the study's scale. Raises InputError where the study has no such cells, or several alike."""
    for subject in claim.subjects:
        _refuse(_absent(claim, subject, grounds.anywhere), place)
    found: dict[claims.Case, dict[Subject, Cell]] = {}
    for cell in grounds.here:
        if whose(cell) in claim.subjects and is_about(claim.quantity, claim.where, cell):
            alike = found.setdefault(claim.case(cell), {})
            for other in (alike.setdefault(whose(cell), cell), *alike.values()):
                _refuse(_different(claim, cell, other), place)
    for case, alike in found.items():
        for subject in claim.subjects:
            if subject not in alike:
                raise place.wrong("no experiment has " + ", ".join([str(subject), *claims.shown(claim.named(case))]))
    return tuple(found)


def _absent(claim: Claim, subject: Subject, anywhere: Sequence[Cell]) -> str | None:
    """What of a subject's cells is in no experiment, or None."""
    stacks = sorted({cell.stack for cell in anywhere})
    if subject.stack not in stacks:
        return f'stack "{subject.stack}" is of no experiment; known: {", ".join(stacks)}'
    found = [cell for cell in anywhere if whose(cell) == subject]
    needed, measures = measure(claim.quantity), sorted({cell.measure for cell in found})
    if needed not in measures:
        return (f'quantity "{claim.quantity}" needs an experiment of measure "{needed}" with {subject}; '
                f'found {", ".join(measures) or "no experiment with it"}')
    for name, values in claim.where.items():
        for value in values:
            if not any(getattr(cell, name) == value for cell in found if cell.measure == needed):
                return f"where: no experiment of measure {needed} with {subject} has {name} {value}"
    if not any(is_about(claim.quantity, claim.where, cell) for cell in found):
        return f"where: no experiment has a cell of {subject} with all of it"
    return None


def _different(claim: Claim, one: Cell, other: Cell) -> str | None:
    """The field by which two cells of one case differ, but for what subjects are; or None."""
    for name in one._fields:
        if name not in claims.OF_THE_SUBJECTS and getattr(one, name) != getattr(other, name):
            return (f'cells of one case differ in "{name}": {getattr(other, name)} of {whose(other)} and '
                    f'{getattr(one, name)} of {whose(one)}; name it in over, or choose in where')
    return None


def _refuse(wrong: str | None, place: _Place) -> None:
    if wrong:
        raise place.wrong(wrong)


def _positive(values: dict[str, Any], name: str, place: _Place) -> float | None:
    found = values.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < _TOO_MUCH:
        raise place.wrong(f'key "{name}": found {found!r}, expected a number above 0')
    return float(found)


def _subject(found: dict[str, Any], key: str, place: _Place) -> Subject:
    values = _table(found, key, place)
    place = _Place(place.file, f"{place.part}: {key}")
    _refuse_unknown(values, Subject._fields, place)
    return Subject(_string(values, "stack", place), _one_of(values, "parallel", ("sync", "async"), place, ""))


def _one_of(values: dict[str, Any], name: str, known: tuple[str, ...], place: _Place,
            default: str | None = None) -> str:
    found = _string(values, name, place, default)
    if found not in known and found != default:
        raise place.wrong(f'key "{name}": found "{found}", expected one of {", ".join(known)}')
    return found


def _assumed(values: dict[str, Any], place: _Place) -> dict[str, str]:
    assumed = _table(values, "assumed", place, {})
    return {name: _string(assumed, name, place) for name in assumed}


def _rounds(head: dict[str, Any], place: _Place, scale: str, scales: tuple[str, ...]) -> int:
    """One number, or one for each scale."""
    rounds = head.get("rounds", 5)
    if isinstance(rounds, dict):
        _refuse_unknown(rounds, scales, _Place(place.file, f"{place.part} rounds"))
        rounds = rounds.get(scale, 5)
    if not isinstance(rounds, int) or isinstance(rounds, bool) or not 1 <= rounds <= 1000:
        raise place.wrong(f'key "rounds": found {rounds!r}, expected a number from 1 to 1000')
    return rounds


def _refuse_unknown(values: dict[str, Any], known: tuple[str, ...], place: _Place) -> None:
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(known)}"
            raise place.wrong(f'key "{name}" is unknown{hint}')


def _refuse_twice(what: str, names: list[str], place: _Place) -> None:
    for name in names:
        if names.count(name) > 1:
            raise place.wrong(f'{what} id "{name}" is there twice')


def _table(values: dict[str, Any], name: str, place: _Place, default: dict[str, Any] | None = None) -> dict[str, Any]:
    found = values.get(name, default)
    if not isinstance(found, dict):
        raise place.wrong(f'key "{name}": expected a table')
    return found


def _list(values: dict[str, Any], name: str, place: _Place) -> list[Any]:
    found = values.get(name, [])
    if not isinstance(found, list):
        raise place.wrong(f'key "{name}": expected a list of tables')
    return found


def _string(values: dict[str, Any], name: str, place: _Place, default: str | None = None) -> str:
    found = values.get(name, default)
    if not isinstance(found, str) or (not found and default is None):
        raise place.wrong(f'key "{name}": ' + ("missing" if found is None else f"found {found!r}, expected text"))
    return found


def _strings(values: dict[str, Any], name: str, place: _Place, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    found = values.get(name, list(default))
    if not isinstance(found, list) or not found or not all(isinstance(item, str) and item for item in found):
        raise place.wrong(f'key "{name}": expected a list of names that is not empty')
    return tuple(found)
