"""Numbers and claims written out: a line a row, with what all of them share; subjects and models by name. Pure.

A block [[published]] or [[claim]] with `columns` and `rows` is a table as a paper has it. A column that is a word fills
that key of its row ("where.batch": that key of where). A column that is a table is a column of numbers, with keys of
its own; such a number's id is that of the block, of the column's model, of the row, and of the column. A row with a
list of ids is as many claims, each with its own of the lists `of`, `to` and `number`; {} in a text is the framework
of `of`.
"""
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from runner import strict_toml
from runner.strict_toml import Position, Table
from runner.study.document import Block, Entry
from runner.study.names import Names
from workloads.spec import frameworks

BLANK = "-"                       # what a paper leaves blank
MORE = "% more"                   # how much more the one is than the other, which is the faster: a ratio of 1 + that
WHOSE = "{}"                      # in a text: the framework of the subject
_TOO_MUCH = 1e30                  # no percentage; refused where numbers are read
_OF_NUMBER = ("number", "printed")     # of a claim that states a printed number: the number's id, and its text


class _Column(NamedTuple):
    """A column: the key that it fills, or keys of the numbers in it."""

    key: str
    keys: Table
    source: int                   # the index in a row of its value


def written(document: Table, kind: str, names: Names, position: Position) -> list[Table]:
    """All entries of one kind, those of rows one by one. Raises InputError."""
    return [named(entry, kind, names, position.entry(entry, kind))
            for block in document.get(kind, []) for entry in _spread(block, kind, position)]


def printed(claims: Sequence[Table]) -> tuple[list[Table], list[Table]]:
    """The claims, and the published numbers that some of them state."""
    numbers = [_stated(claim) for claim in claims if "number" in claim]
    return [{name: value for name, value in claim.items() if name not in _OF_NUMBER} for claim in claims], numbers


def _stated(claim: Table) -> Table:
    """The published number that a claim of a ratio states; of several cases it is their mean, total or greatest."""
    names = {"number": "id", "printed": "text", "holds_for": "statistic"}
    stated = {names.get(name, name): claim[name] for name in (
        *names, "source", "quantity", "of", "to", "where", "experiment") if claim.get(name, "each") != "each"}
    value = next((claim[name] for name in ("about", "at_least", "at_most") if name in claim), None)
    return {**stated, "value": value, "unit": "x"}


def named(entry: Table, kind: str, names: Names, position: Position) -> Table:
    """An entry with tables for the names in it, and its printed percentage as the ratio that it is."""
    strict_toml.validated(Entry, entry, position, is_strict=None)
    written = {name: value for name, value in entry.items() if name != "model"}
    for key in written.keys() & {"of", "to"}:
        written[key] = names.subject(written[key], position.at(key))
    for key in written.keys() & {"order", "than"}:
        written[key] = [names.subject(each, position.at(key)) for each in written[key]]
    where = {"task": names.tasks(entry["model"], position)} if "model" in entry else {}
    where |= written.get("where", {})
    if where or "where" in written:
        written["where"] = {name: value if isinstance(value, list) else [value] for name, value in where.items()}
    if kind == "claim" and "over" not in written and (over := _over(written)):
        written["over"] = over
    if written.get("over") == []:                # a row says so, whose block is over something
        del written["over"]
    if isinstance(written.get("text"), str) and "of" in written:
        written["text"] = written["text"].replace(WHOSE, frameworks.title_of_stack(written["of"]["stack"]))
    return {**written, **(_ratio(written) if written.get("unit") == MORE else {})}


def _over(claim: Table) -> list[str]:
    """The fields of which a claim picks several values: they tell its cases apart."""
    subjects = [*(claim[key] for key in ("of", "to") if key in claim), *claim.get("order", []), *claim.get("than", [])]
    apart = [claim.get("along"), *(name for each in subjects for name in each)]
    return [name for name, values in claim.get("where", {}).items() if len(values) > 1 and name not in apart]


def _ratio(number: Table) -> Table:
    """A number printed as a percentage more, as the ratio that it is; anything else is left to be refused."""
    value = number.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _TOO_MUCH:
        return {}
    return {"value": round(1 + value / 100, 10), "unit": "x", "text": number.get("text") or f"printed as {value:g} %"}


def _spread(block: Table, kind: str, position: Position) -> Iterator[Table]:
    if not {"columns", "rows"} & set(block):
        yield block
        return
    whole = _joined(block.get("all", {}), block)
    here = position.entry(whole, kind)
    shared = {name: value for name, value in whole.items() if name not in Block.model_fields}
    columns, notes = _columns(block.get("columns", []), here), dict(block.get("notes", {}))
    for index, row in enumerate(block.get("rows", []), 1):
        for entry in _entries(row, columns, shared, here.at(f"row {index}")):
            yield _joined(entry, notes.pop(str(entry.get("id")), {}))
    if notes:
        raise here.wrong(f'notes: no row has the id "{min(notes)}"')


def _columns(listed: list[Any], position: Position) -> list[_Column]:
    """The columns; one that is the "same" as another holds what that holds, and rows have nothing for it."""
    here = position.at("columns")
    columns: list[_Column] = []
    names: list[str] = []
    for column in listed:
        key, keys = (column, {}) if isinstance(column, str) else ("", dict(column))
        source = len(names)
        if "same" not in keys:
            names.append(f"key {key}" if key else str(keys.get("id", keys.get("model"))))
        elif (same := keys.pop("same")) in names:
            source = names.index(same)
        else:
            raise here.wrong(f'key "same": found {same!r}, expected one of {", ".join(names)}')
        columns.append(_Column(key, keys, source))
    if not columns or len(set(names)) < len(names):
        raise here.wrong("expected a list of different columns, at least one")
    return columns


def _entries(row: list[Any], columns: list[_Column], shared: Table, position: Position) -> Iterator[Table]:
    """The numbers or claims of a row."""
    expected = 1 + max(column.source for column in columns)
    last = row[expected:]
    if len(row) < expected or len(last) > 1 or not all(isinstance(each, dict) for each in last):
        raise position.wrong(f"found {len(row)} values, expected {expected}, and a table of more keys where there are "
                             "any")
    own: Table = last[0] if last else {}
    filled = [(column, row[column.source]) for column in columns if row[column.source] != BLANK]
    for key, value in ((column.key, value) for column, value in filled if column.key):
        of_where = key.removeprefix("where.")
        own = _joined(own, {key: value} if of_where == key else {"where": {of_where: value}})
    whole = _joined(shared, own)
    if not all(column.key for column in columns):
        yield from ({**_joined(whole, column.keys), "value": value, "id": _id(shared, own, column.keys)}
                    for column, value in filled if not column.key)
        return
    ids = own["id"] if isinstance(own.get("id"), list) else [_id(shared, own, {})]
    several = {key: value for key in ("of", "to", "number")
               if isinstance(value := whole.get(key), list) and len(value) == len(ids)}
    for index, name in enumerate(ids):
        yield {**whole, "id": name, **{key: value[index] for key, value in several.items()}}


def _joined(one: Table, other: Mapping[str, Any]) -> Table:
    """Two tables of keys; both their `where` counts, and a row's `assumed` stands before its block's."""
    joined = {**one, **other}
    if isinstance(one.get("where"), dict) and isinstance(other.get("where"), dict):
        joined["where"] = {**one["where"], **other["where"]}
    if isinstance(one.get("assumed"), str) and isinstance(other.get("assumed"), str):
        joined["assumed"] = f"{other['assumed']}; {one['assumed']}"
    return joined


def _id(block: Table, row: Table, column: Mapping[str, Any]) -> Any:
    """Of the block, the column's model, the row's own part or model, and the column's own part."""
    own = row.get("id", row.get("model"))
    parts = [part for part in (block.get("id"), column.get("model"), own, column.get("id")) if part is not None]
    return "-".join(parts) if all(isinstance(part, str) for part in parts) else own
