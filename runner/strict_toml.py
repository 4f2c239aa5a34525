"""TOML files read strictly: their tables as pydantic models say, and mistakes in one line of file, key and values."""

import difflib
import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from runner import paths
from runner.errors import InputError

_LONGEST_FILE = 2**18            # bytes: four times our longest; a parser's time may grow by the square
_DEEPEST_KEY = 64        # parts, with dots between: tomllib takes the square of them in memory
_BETWEEN_KEYS = re.compile(rb"[\n=,{}]")
Table = dict[str, Any]
Text = Annotated[str, Field(min_length=1)]
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

    def entry(self, table: Table, kind: str) -> "Position":
        """The position of one of a file's [[kind]] tables, named by its id."""
        return Position(self.file, _named(kind, table))


def _named(kind: str, table: Any) -> str:
    name = table.get("id") if isinstance(table, Mapping) else None
    return f"{kind} {name}" if isinstance(name, str) else f"[[{kind}]]"


def document(content: bytes, file: str) -> Table:
    """The tables of a TOML file's bytes. Raises InputError, also for numbers beyond TOML's 64 bits."""
    position = Position(file)
    if len(content) > _LONGEST_FILE:
        raise position.wrong(f"found {len(content)} bytes, expected at most {_LONGEST_FILE}")
    if any(part.count(b".") > _DEEPEST_KEY for part in _BETWEEN_KEYS.split(content)):
        raise position.wrong(f"found a key of more than {_DEEPEST_KEY} parts")
    text = paths.text_of(content, file)
    try:
        tables = tomllib.loads(text)
        is_in_range = _is_in_range(tables)
    except (ValueError, RecursionError) as error:       # tomllib lets int()'s own error about long numbers through
        raise position.wrong(f"not TOML: {error}") from error
    if not is_in_range:
        raise position.wrong("not TOML: found a whole number of more than 64 bits")
    return tables


def _is_in_range(value: Any) -> bool:
    """Whether every whole number in tables and lists has at most 64 bits."""
    if isinstance(value, dict | list):
        return all(map(_is_in_range, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


# ---- mistakes

class Keys(BaseModel):
    """A table with these keys and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, values: Any, info: ValidationInfo) -> Any:
        """Refuse an unknown key with a hint; where there may be more, they are tables named after scales."""
        scales = info.context["scales"] if info.context and cls.model_config.get("extra") == "allow" else ()
        if isinstance(values, dict) and (text := _unknown(values, (*cls.model_fields, *scales))):
            raise mistake(text)
        return values


def mistake(text: str) -> PydanticCustomError:
    """What a validator of a table raises: the text has the key, found and expected."""
    utf_8 = text.encode(errors="backslashreplace").decode()         # pydantic takes no half surrogates
    return PydanticCustomError("of_table", "{text}", {"text": utf_8})


def refuse_unknown(values: Mapping[str, Any], known: Sequence[str], position: Position) -> None:
    """Raise for the first key that is not known."""
    position.refuse(_unknown(values, known))


def _unknown(values: Mapping[str, Any], known: Sequence[str]) -> str | None:
    return next((f'key "{name}" is unknown{hint(name, known)}' for name in values if name not in known), None)


def hint(name: str, known: Collection[str]) -> str:
    """The known name that is like a name, or all of them."""
    near = difflib.get_close_matches(name, known, 1)
    return f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(known) or 'none'}"


def refuse_twice(what: str, names: list[str], position: Position) -> None:
    """Raise for the first name that stands twice."""
    position.refuse(next((f'{what} id "{name}" is there twice' for name in names if names.count(name) > 1), None))


def validated(kind: type[_Kind], values: Any, position: Position, context: Table | None = None,
              is_strict: bool | None = True) -> _Kind:
    """A model or NamedTuple of values. is_strict: no other types, None: as the model says; context: for validators."""
    try:
        made: _Kind = TypeAdapter(kind).validate_python(values, strict=is_strict, context=context)
    except ValidationError as error:
        raise _mistake(error.errors()[0], values, position) from error
    return made


def without(table: Table, *keys: str) -> Table:
    """The table but for these keys."""
    return {key: value for key, value in table.items() if key not in keys}


def frozen(value: Any) -> Any:
    """Lists as tuples, also within tables."""
    if isinstance(value, dict):
        return {name: frozen(each) for name, each in value.items()}
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def _mistake(told: ErrorDetails, values: Any, position: Position) -> InputError:
    """What pydantic found, as key, found and expected; of its places those that are keys of the file."""
    path: list[str] = []
    *_, last = told["loc"] or [None]
    for place in told["loc"]:
        if isinstance(place, int) and isinstance(values, list | tuple):
            values = values[place]
            if len(path) == 1 and not position.part:
                path = [_named(path[0], values)]
        elif isinstance(values, Mapping) and (
                place in values or (told["type"], place) == ("missing", last)):
            path.append(str(place))
            values = values.get(place)
            if len(path) == 1 and not position.part and isinstance(values, Mapping):
                path = [f"[{place}]"]
    *outer, key = path or [""]
    if told["type"] == "of_table":
        return (position.at(": ".join(path)) if path else position).wrong(told["msg"])
    here = position.at(": ".join(outer)) if outer else position
    if told["type"] == "missing":
        return here.wrong(f'key "{key}": missing')
    expected = (_EXPECTED.get(told["type"], "").format(**told.get("ctx", {}))
                or told["msg"].removeprefix("Input should be ").removeprefix("Value error, "))
    found = json.dumps(values) if isinstance(values, bool) else repr(values)
    return here.wrong(f'key "{key}": found {found}, expected {expected}' if key else
                      f"found {found}, expected {expected}")


_EXPECTED = {"string_type": "text", "string_too_short": "text", "string_pattern_mismatch": "text of the form {pattern}",
             "bool_type": "true or false", "float_type": "a number", "finite_number": "a number",
             "greater_than": "a number above {gt}", "greater_than_equal": "a number of at least {ge}",
             "less_than_equal": "a number of at most {le}", "literal_error": "one of {expected}",
             "int_type": "a whole number", "tuple_type": "a list of names", "list_type": "a list",
             "dict_type": "a table", "model_type": "a table", "too_short": "a list that is not empty"}
