"""Tables of a TOML file, read strictly: every function gives a value of its type or raises InputError in one line."""

import codecs
import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from runner import own_tasks
from runner.errors import InputError
from workloads.spec import cell as cells
from workloads.spec.data import datasets, prepared

_OF_THE_PLAN = ("stack", "table", "source")        # cell fields that the planner fills in
_LONGEST_FILE = 2**18            # bytes: four times our longest; a parser's time may grow by the square
_DEEPEST_KEY = 64        # parts, with dots between: tomllib takes the square of them in memory
_BETWEEN_KEYS = re.compile(rb"[\n=,{}]")
Table = dict[str, Any]
_Kind = TypeVar("_Kind")


class Position(NamedTuple):
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

    def at(self, part: str) -> "Position":
        """A position inside this one."""
        return Position(self.file, f"{self.part}: {part}" if self.part else part)

    def entry(self, item: Any, kind: str) -> "Position":
        """The position of one of a file's [[kind]] tables, named by its id. Raises InputError if it is no table."""
        if not isinstance(item, dict):
            raise self.wrong(f"[[{kind}]]: expected a table")
        name = item.get("id")
        return Position(self.file, f"{kind} {name}" if isinstance(name, str) else f"[[{kind}]]")


def document(content: bytes, file: str) -> Table:
    """The tables of a TOML file's bytes. Raises InputError, also for numbers beyond TOML's 64 bits."""
    position = Position(file)
    if len(content) > _LONGEST_FILE:
        raise position.wrong(f"found {len(content)} bytes, expected at most {_LONGEST_FILE}")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise position.wrong("found UTF-16, expected UTF-8: save it as UTF-8")
    if any(part.count(b".") > _DEEPEST_KEY for part in _BETWEEN_KEYS.split(content)):
        raise position.wrong(f"found a key of more than {_DEEPEST_KEY} parts")
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))
        is_in_range = all(-(2**63) <= number < 2**63 for number in _numbers(tables))
    except (ValueError, RecursionError) as error:       # tomllib lets int()'s own error about long numbers through
        raise position.wrong(f"not TOML: {error}") from error
    if not is_in_range:
        raise position.wrong("not TOML: found a whole number of more than 64 bits")
    return tables


def _numbers(value: Any) -> Iterator[int]:
    """Every whole number in tables and lists."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)


def refuse_unknown(values: Mapping[str, Any], known: tuple[str, ...], position: Position) -> None:
    """Raise for the first key that is not known."""
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(known)}"
            raise position.wrong(f'key "{name}" is unknown{hint}')


def validated(kind: type[_Kind], values: Mapping[str, Any], position: Position) -> _Kind:
    """A pydantic model, or a NamedTuple of its types, of values; a list is a tuple, and nothing else another type."""
    try:
        made: _Kind = TypeAdapter(kind).validate_python(_frozen(values), strict=True)
    except ValidationError as error:
        raise _mistake(error.errors()[0], values, position) from error
    return made


def _mistake(told: ErrorDetails, values: Any, position: Position) -> InputError:
    """What pydantic found, as key, found and expected; of its places those that are keys of the file."""
    path = []
    for place in told["loc"]:
        if isinstance(values, Mapping) and (place in values or told["type"] == "missing"):
            path.append(str(place))
            values = values.get(place)
    *outer, key = path
    position = position.at(": ".join(outer)) if outer else position
    if told["type"] == "missing":
        return position.wrong(f'key "{key}": missing')
    expected = _EXPECTED.get(told["type"]) or told["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    found = json.dumps(values) if isinstance(values, bool) else repr(values)
    return position.wrong(f'key "{key}": found {found}, expected {expected}')


_EXPECTED = {"string_type": "text", "string_too_short": "text", "bool_type": "true or false", "float_type": "a number",
             "finite_number": "a number", "greater_than": "a number above 0", "int_type": "a whole number",
             "tuple_type": "a list of names", "too_short": "a list that is not empty"}


def _frozen(value: Any) -> Any:
    """Lists as tuples, also within tables."""
    if isinstance(value, dict):
        return {name: _frozen(each) for name, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def refuse_twice(what: str, names: list[str], position: Position) -> None:
    """Raise for the first name that stands twice."""
    for name in names:
        if names.count(name) > 1:
            raise position.wrong(f'{what} id "{name}" is there twice')


def table(values: Table, name: str, position: Position, default: Table | None = None) -> Table:
    """The table under a key."""
    value = values.get(name, default)
    if not isinstance(value, dict):
        raise position.wrong(f'key "{name}": expected a table')
    return value


def listed(values: Table, name: str, position: Position) -> list[Any]:
    """The list under a key, [] where there is none; what is in it is not looked at."""
    value = values.get(name, [])
    if not isinstance(value, list):
        raise position.wrong(f'key "{name}": expected a list of tables')
    return value


def string(values: Table, name: str, position: Position, default: str | None = None) -> str:
    """The text under a key; empty only where a default makes it optional."""
    value = values.get(name, default)
    if not isinstance(value, str) or (not value and default is None):
        raise position.wrong(f'key "{name}": ' + ("missing" if value is None else f"found {value!r}, expected text"))
    return value


def strings(values: Table, name: str, position: Position, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names under a key, at least one."""
    value = values.get(name, list(default))
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
        raise position.wrong(f'key "{name}": expected a list of names that is not empty')
    return tuple(value)


def one_of(values: Table, name: str, known: tuple[str, ...], position: Position, default: str | None = None) -> str:
    """The word under a key, one of those known."""
    value = string(values, name, position, default)
    if value not in known and value != default:
        raise position.wrong(f'key "{name}": found "{value}", expected one of {", ".join(known)}')
    return value


# ---- values of cells

def settable() -> tuple[str, ...]:
    """The cell fields that a study may set."""
    return tuple(name for name in cells.FIELDS if name not in _OF_THE_PLAN)


def checked(name: str, value: Any, position: Position) -> Any:
    """The value of a cell's field in its own type."""
    if name not in settable():
        refuse_unknown({name: value}, settable(), position)
    try:
        parsed = cells.checked(name, value)
    except cells.CellError as error:
        raise position.wrong(str(error)) from error
    if name == "task" and value not in (names := own_tasks.names()):
        raise position.wrong(f'task "{value}" is unknown; known: {", ".join(names)}')
    if name == "data" and value not in (known := (*datasets.DATA_SETS, *prepared.SEQUENCE_SETS)):
        raise position.wrong(f'data "{value}" is unknown; known: {", ".join(known)}')
    return parsed


def case(item: Any, position: Position, key: str = "cases") -> Table:
    """A table of cell fields, at least one."""
    if not isinstance(item, dict) or not item:
        raise position.wrong(f'key "{key}": expected a list of tables of cell keys')
    for name, value in item.items():
        checked(name, value, position)
    return item


def options(name: str, values: Any, position: Position) -> tuple[Any, ...]:
    """The values of a cell's field that are listed, at least one."""
    if not isinstance(values, list) or not values:
        raise position.wrong(f'grid key "{name}": expected a list of values that is not empty')
    for option in values:
        checked(name, option, position)
    return tuple(values)
