"""What a study printed and what it claims, read from its file: checked against the cells that its experiments have."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from runner import strict_toml
from runner.strict_toml import Place, Table
from runner.study import claims, quantities
from runner.study.claims import Claim
from runner.study.published import STATISTICS, Published
from runner.study.quantities import QUANTITIES
from runner.study.subjects import Subject, named, selection
from workloads.spec.cell import Cell


class OfStudy(NamedTuple):
    """A cell that a study has."""

    experiment: str
    cell: Cell


class Grounds(NamedTuple):
    """The cells that numbers and claims can be about, and the stacks that stand for others."""

    here: Sequence[OfStudy]      # at the study's scale
    anywhere: Sequence[OfStudy]  # at any of its scales
    forms: Mapping[str, tuple[str, ...]]


def published(document: Table, place: Place, grounds: Grounds) -> tuple[Published, ...]:
    """The published numbers of a study's file. Raises InputError."""
    found = tuple(_published(each, place, grounds) for each in strict_toml.listed(document, "published", place))
    strict_toml.refuse_twice("published", [number.id for number in found], place)
    return found


def claimed(document: Table, place: Place, grounds: Grounds) -> tuple[Claim, ...]:
    """The claims of a study's file, with their cases at its scale. Raises InputError."""
    found = tuple(_claim(each, place, grounds) for each in strict_toml.listed(document, "claim", place))
    strict_toml.refuse_twice("claim", [claim.id for claim in found], place)
    return found


def _published(found: Any, place: Place, grounds: Grounds) -> Published:
    place = place.entry(found, "published")
    strict_toml.refuse_unknown(found, Published._fields, place)
    quantity = strict_toml.one_of(found, "quantity", tuple(QUANTITIES), place)
    to = _subject(found, "to", place, grounds) if "to" in found else None
    unit = strict_toml.one_of(found, "unit", quantities.UNITS, place)
    known = quantities.RATIO_UNITS if to else quantities.units(quantity)
    if unit not in known:
        raise place.wrong(f'key "unit": found "{unit}", expected one of {", ".join(known)} for {quantity} of '
                          + ("two subjects, a ratio" if to else "one subject; a ratio has \"of\" and \"to\""))
    value = strict_toml.number(found, "value", place, above=None if unit in ("mpe", "%", "share") else 0)
    if value is None:
        raise place.wrong('key "value": missing, expected a number')
    number = Published(strict_toml.string(found, "id", place), strict_toml.string(found, "source", place),
                       strict_toml.string(found, "text", place, ""), quantity,
                       _subject(found, "of", place, grounds), to,
                       _where(found, place), value, unit, _experiment(found, place, grounds),
                       _contradiction(found, place), _steps(found, unit, to, place),
                       strict_toml.one_of(found, "statistic", STATISTICS, place, STATISTICS[0]))
    if number.statistic != "mean" and unit != "x":
        raise place.wrong(f'key "statistic": found unit "{unit}", expected "x"; other numbers are means')
    return number._replace(where=_narrowed(number.where, number.experiment, number.subjects, quantity, (), grounds))


_CLAIM_KEYS = tuple(name for name in Claim._fields if name != "cases")


def _claim(found: Any, place: Place, grounds: Grounds) -> Claim:
    place = place.entry(found, "claim")
    strict_toml.refuse_unknown(found, _CLAIM_KEYS, place)
    claim = Claim(
        id=strict_toml.string(found, "id", place), text=strict_toml.string(found, "text", place),
        kind=strict_toml.one_of(found, "kind", claims.KINDS, place),
        quantity=strict_toml.one_of(found, "quantity", tuple(QUANTITIES), place), where=_where(found, place),
        of=_subject(found, "of", place, grounds) if "of" in found else None,
        to=_subject(found, "to", place, grounds) if "to" in found else None,
        order=tuple(_subject({"order": item}, "order", place, grounds)
                    for item in strict_toml.listed(found, "order", place)),
        over=strict_toml.strings(found, "over", place) if "over" in found else (),
        holds_for=strict_toml.one_of(found, "holds_for", claims.HOLDS_FOR, place, "each"),
        along=strict_toml.string(found, "along", place, ""),
        direction=strict_toml.one_of(found, "direction", claims.DIRECTIONS, place, ""),
        at_least=strict_toml.number(found, "at_least", place, above=None),
        at_most=strict_toml.number(found, "at_most", place, above=None),
        about=strict_toml.number(found, "about", place, above=None), within=strict_toml.number(found, "within", place),
        turned_for=tuple(strict_toml.case(item, place, "turned_for")
                         for item in strict_toml.listed(found, "turned_for", place)),
        assumed=strict_toml.string(found, "assumed", place, ""), experiment=_experiment(found, place, grounds),
        skips_oom=strict_toml.flag(found, "skips_oom", place), contradiction=_contradiction(found, place),
        source=strict_toml.string(found, "source", place, ""),
    )
    place.refuse(claims.mistake(claim))
    claim = claim._replace(where=_narrowed(claim.where, claim.experiment, claim.subjects, claim.quantity,
                                           claim.fields, grounds))
    claim = claim._replace(cases=_cases(claim, grounds, place))
    place.refuse(claims.mistake(claim))
    return claim


def _contradiction(found: Table, place: Place) -> str:
    """Why a number or claim does not follow from what else the paper prints; "" where it does."""
    text = strict_toml.string(found, "contradiction", place, "").strip()
    if "contradiction" in found and not text:
        raise place.wrong('key "contradiction": found no text, expected the arithmetic; leave the key out where '
                          "nothing contradicts")
    return text


def _steps(found: Table, unit: str, to: Subject | None, place: Place) -> int:
    """Of how many steps a number of seconds is; one where it does not say."""
    steps = found.get("steps", 1)
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise place.wrong(f'key "steps": found {steps!r}, expected a whole number from 1')
    if "steps" in found and (unit != "s" or to):
        raise place.wrong('key "steps": only of a number of one subject in unit "s"')
    return steps


def _where(found: Table, place: Place) -> dict[str, tuple[Any, ...]]:
    return {name: strict_toml.options(name, values, place)
            for name, values in strict_toml.table(found, "where", place, {}).items()}


def _experiment(found: Table, place: Place, grounds: Grounds) -> str:
    if "experiment" not in found:
        return ""
    known = tuple(dict.fromkeys(each.experiment for each in grounds.anywhere))
    return strict_toml.one_of(found, "experiment", known, place)


def _subject(found: Table, key: str, place: Place, grounds: Grounds) -> Subject:
    values = strict_toml.table(found, key, place)
    place = place.at(key)
    settings = []
    for name, value in values.items():
        if name not in ("stack", "parallel"):
            known = ("stack", *(field for field in strict_toml.settable() if field != "measure"))
            strict_toml.refuse_unknown({name: value}, known, place)
            settings.append((name, strict_toml.checked(name, value, place)))
    stack = strict_toml.string(values, "stack", place)
    return Subject(stack, strict_toml.one_of(values, "parallel", ("sync", "async"), place, ""), tuple(sorted(settings)),
                   grounds.forms.get(stack, ()))


# where two experiments differ in several fields, those that say most come first; what the user may change, last
_LAST = ("steps", "warmup", "epochs", "learning_rate", "seed", "data", "device")


def _narrowed(where: Mapping[str, tuple[Any, ...]], experiment: str, subjects: Sequence[Subject], quantity: str,
              fields: Sequence[str], grounds: Grounds) -> dict[str, tuple[Any, ...]]:
    """Extends `where` until it selects only this experiment's cells.

    A store knows a cell that two experiments share by the first of them alone, so claims look at fields.
    """
    found = dict(where)
    if not experiment:
        return found
    is_about = selection(subjects, quantities.measure(quantity), where)
    cells = [each for each in grounds.here if is_about(each.cell) and any(one.owns(each.cell) for one in subjects)]
    own = dict.fromkeys(each.cell for each in cells if each.experiment == experiment)     # in their order
    others = {each.cell for each in cells} - own.keys()
    free = [name for name in Cell._fields if name not in (*fields, *named(subjects))]
    for name in sorted(free, key=lambda name: name in _LAST):
        values = tuple(dict.fromkeys(getattr(cell, name) for cell in own))
        left = {cell for cell in others if getattr(cell, name) in values}
        if values and left < others:
            found[name], others = values, left
    return found


def _cases(claim: Claim, grounds: Grounds, place: Place) -> tuple[claims.Case, ...]:
    """The claim's cases at the study's scale. Raises InputError where the study has no such cells, or several alike."""
    anywhere = _of(claim.experiment, grounds.anywhere)
    for subject in claim.subjects:
        place.refuse(_absent(claim, subject, anywhere))
    is_about = claim.selection()
    found: dict[claims.Case, dict[Subject, Cell]] = {}
    for cell in filter(is_about, _of(claim.experiment, grounds.here)):
        for subject in claim.subjects:
            if subject.owns(cell):
                alike = found.setdefault(claim.case(cell), {})
                first = alike.setdefault(subject, cell)
                place.refuse(_different(subject, cell, subject, first, ("measure", "parallel", "stack")))
                for other, theirs in alike.items():
                    place.refuse(_different(subject, cell, other, theirs, named(claim.subjects)))
    for case, alike in found.items():
        for subject in claim.subjects:
            if subject not in alike:
                raise place.wrong("no experiment has "
                                  + ", ".join([str(subject), *claims.shown(claim.named(case))]))
    return tuple(found)


def _of(experiment: str, cells: Iterable[OfStudy]) -> list[Cell]:
    """The cells of an experiment, of all where it is ""."""
    return list(dict.fromkeys(each.cell for each in cells if experiment in ("", each.experiment)))


def _absent(claim: Claim, subject: Subject, anywhere: Sequence[Cell]) -> str | None:
    """What of a subject's cells is in no experiment, or None."""
    what = f"experiment {claim.experiment}" if claim.experiment else "experiment"
    stacks = sorted({cell.stack for cell in anywhere})
    if subject.stack not in stacks:
        return f'stack "{subject.stack}" is of no {what}; known: {", ".join(stacks)}'
    found = [cell for cell in anywhere if subject.owns(cell)]
    needed, measures = quantities.measure(claim.quantity), sorted({cell.measure for cell in found})
    if needed not in measures:
        return (f'quantity "{claim.quantity}" needs an experiment of measure "{needed}" with {subject}; '
                f'found {", ".join(measures) or "no experiment with it"}')
    for name, values in claim.where.items():
        for value in values:
            if not any(getattr(cell, name) == value for cell in found if cell.measure == needed):
                return f"where: no {what} of measure {needed} with {subject} has {name} {value}"
    return None if any(map(claim.selection(), found)) else f"where: no {what} has a cell of {subject} with all of it"


def _different(one: Subject, cell: Cell, other: Subject, theirs: Cell, free: Sequence[str]) -> str | None:
    """The field by which two cells of one case differ, but for those that are free; or None."""
    for name in cell._fields:
        if name not in free and getattr(cell, name) != getattr(theirs, name):
            return (f'cells of one case differ in "{name}": {getattr(theirs, name)} of {other} and '
                    f'{getattr(cell, name)} of {one}; name it in over, or choose in where')
    return None
