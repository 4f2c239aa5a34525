"""Tables of a TOML file, read strictly: every function gives a value of its type or raises InputError in one line."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from runner.errors import InputError
from workloads.spec import cell as cells
from workloads.spec import tasks
from workloads.spec.data import datasets, prepared

_OF_THE_PLAN = ("stack",)        # cell fields that the planner fills in
_TOO_MUCH = 1e30                 # for a number that a study prints
_LONGEST_FILE = 2**18            # bytes: four times our longest; a parser's time may grow by the square
Table = dict[str, Any]


class Place(NamedTuple):
    """Where in a file a mistake lies, for the message."""

    file: str
    part: str = ""

    def wrong(self, text: str) -> InputError:
        """The error to raise: "file: part: text" on one line."""
        return InputError(": ".join(part for part in (self.file, self.part, text) if part))

    def refuse(self, mistake: str | None) -> None:
        """Raise where there is a mistake."""
        if mistake:
            raise self.wrong(mistake)

    def at(self, part: str) -> "Place":
        """A place inside this one."""
        return Place(self.file, f"{self.part}: {part}" if self.part else part)

    def entry(self, found: Any, kind: str) -> "Place":
        """The place of one of a file's [[kind]] tables, by its id where it has one. Raises InputError if no table."""
        if not isinstance(found, dict):
            raise self.wrong(f"[[{kind}]]: expected a table")
        name = found.get("id")
        return Place(self.file, f"{kind} {name}" if isinstance(name, str) else f"[[{kind}]]")


def document(content: bytes, file: str) -> Table:
    """The tables of a TOML file's bytes. Raises InputError, also for numbers beyond TOML's 64 bits."""
    place = Place(file)
    if len(content) > _LONGEST_FILE:
        raise place.wrong(f"found {len(content)} bytes, expected at most {_LONGEST_FILE}")
    try:
        found = tomllib.loads(content.decode())
        is_in_range = all(-(2**63) <= number < 2**63 for number in _numbers(found))
    except (ValueError, RecursionError) as error:       # tomllib lets int()'s own error about long numbers through
        raise place.wrong(f"not TOML: {error}") from error
    if not is_in_range:
        raise place.wrong("not TOML: found a whole number of more than 64 bits")
    return found


def _numbers(found: Any) -> Iterator[int]:
    """Every whole number in tables and lists."""
    if isinstance(found, int):
        yield found
    elif isinstance(found, dict | list):
        for each in found.values() if isinstance(found, dict) else found:
            yield from _numbers(each)


def refuse_unknown(values: Mapping[str, Any], known: tuple[str, ...], place: Place) -> None:
    """Raise for the first key that is not known."""
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(known)}"
            raise place.wrong(f'key "{name}" is unknown{hint}')


def refuse_twice(what: str, names: list[str], place: Place) -> None:
    """Raise for the first name that stands twice."""
    for name in names:
        if names.count(name) > 1:
            raise place.wrong(f'{what} id "{name}" is there twice')


def table(values: Table, name: str, place: Place, default: Table | None = None) -> Table:
    """The table under a key."""
    found = values.get(name, default)
    if not isinstance(found, dict):
        raise place.wrong(f'key "{name}": expected a table')
    return found


def listed(values: Table, name: str, place: Place) -> list[Any]:
    """The list under a key, [] where there is none; what is in it is not looked at."""
    found = values.get(name, [])
    if not isinstance(found, list):
        raise place.wrong(f'key "{name}": expected a list of tables')
    return found


def string(values: Table, name: str, place: Place, default: str | None = None) -> str:
    """The text under a key; empty only where a default makes it optional."""
    found = values.get(name, default)
    if not isinstance(found, str) or (not found and default is None):
        raise place.wrong(f'key "{name}": ' + ("missing" if found is None else f"found {found!r}, expected text"))
    return found


def strings(values: Table, name: str, place: Place, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names under a key, at least one."""
    found = values.get(name, list(default))
    if not isinstance(found, list) or not found or not all(isinstance(item, str) and item for item in found):
        raise place.wrong(f'key "{name}": expected a list of names that is not empty')
    return tuple(found)


def one_of(values: Table, name: str, known: tuple[str, ...], place: Place, default: str | None = None) -> str:
    """The word under a key, one of those known."""
    found = string(values, name, place, default)
    if found not in known and found != default:
        raise place.wrong(f'key "{name}": found "{found}", expected one of {", ".join(known)}')
    return found


def number(values: Table, name: str, place: Place, above: float | None = 0) -> float | None:
    """The number under a key, None where there is none; above: what it must exceed, None for any number."""
    found = values.get(name)
    if found is None:
        return None
    if (isinstance(found, bool) or not isinstance(found, int | float) or not -_TOO_MUCH < found < _TOO_MUCH
            or (above is not None and found <= above)):
        expected = "a number" if above is None else f"a number above {above:g}"
        raise place.wrong(f'key "{name}": found {found!r}, expected {expected}')
    return float(found)


def flag(values: Table, name: str, place: Place) -> bool:
    """Whether a key is true; false where it is absent."""
    found = values.get(name, False)
    if not isinstance(found, bool):
        raise place.wrong(f'key "{name}": found {found!r}, expected true or false')
    return found


# ---- values of cells

def settable() -> tuple[str, ...]:
    """The cell fields that a study may set."""
    return tuple(name for name in cells.FIELDS if name not in _OF_THE_PLAN)


def checked(name: str, value: Any, place: Place) -> Any:
    """The value of a cell's field in its own type."""
    if name not in settable():
        refuse_unknown({name: value}, settable(), place)
    try:
        found = cells.checked(name, value)
    except cells.CellError as error:
        raise place.wrong(str(error)) from error
    if name == "task" and value not in tasks.NAMES:
        raise place.wrong(f'task "{value}" is unknown; known: {", ".join(tasks.NAMES)}')
    if name == "data" and value not in (known := (*datasets.DATA_SETS, *prepared.SEQUENCE_SETS)):
        raise place.wrong(f'data "{value}" is unknown; known: {", ".join(known)}')
    return found


def case(item: Any, place: Place, key: str = "cases") -> Table:
    """A table of cell fields, at least one."""
    if not isinstance(item, dict) or not item:
        raise place.wrong(f'key "{key}": expected a list of tables of cell keys')
    for name, value in item.items():
        checked(name, value, place)
    return item


def options(name: str, found: Any, place: Place) -> tuple[Any, ...]:
    """The values of a cell's field that are listed, at least one."""
    if not isinstance(found, list) or not found:
        raise place.wrong(f'grid key "{name}": expected a list of values that is not empty')
    for option in found:
        checked(name, option, place)
    return tuple(found)
