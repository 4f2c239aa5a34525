"""A paper's numbers, statements and index as tables in CSV files beside its study.toml, a line an entry.

A cell is text as it stands, but in columns of names ("tf mxnet"), of fields ("task=lenet5/alexnet batch=8", several
such with "; " between) and of numbers. An empty cell says nothing. Entries are what [[published]], [[claim]],
[[told]] and [[index]] in the TOML would be. A line of claims.csv whose kind is "told" is not tested.
"""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner import paths
from runner.strict_toml import Position, Table, without

STUDY = "study.toml"
FILES = {"published": "published.csv", "claim": "claims.csv", "index": "index.csv"}
_TOLD = "told"
_NAMES = ("order", "than", "over", "averaged")
_NUMBERS = {"at_least": float, "at_most": float, "about": float, "within": float, "steps": int}


def beside(path: Path) -> Table:
    """The tables in the CSV files beside a study.toml, by kind; none beside another file. Raises InputError."""
    if path.name != STUDY:
        return {}
    tables: dict[str, list[Table]] = {}
    for kind, name in FILES.items():
        file = path.parent / name
        for entry in _entries(paths.text_of(file.read_bytes(), str(file)), str(file)) if file.is_file() else ():
            is_told = entry.get("kind") == _TOLD
            tables.setdefault(_TOLD if is_told else kind, []).append(without(entry, "kind") if is_told else entry)
    return tables


def source(file: str, kind: str) -> str:
    """The file that an entry of that kind stands in, where a study's file is that one."""
    return str(Path(file).with_name(FILES.get(kind, FILES["claim"]))) if Path(file).name == STUDY else file


def _entries(text: str, file: str) -> Iterator[Table]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(lines, [])
        for cells in lines:
            position = Position(file, f"line {lines.line_num}")
            if len(cells) != len(head) or len(set(head)) < len(head):
                raise position.wrong(f"found {len(cells)} cells, expected {len(head)}, of different columns")
            yield {name: _value(name, cell, position.at(name)) for name, cell in zip(head, cells, strict=True) if cell}
    except csv.Error as error:
        raise Position(file, f"line {lines.line_num}").wrong(f"not CSV: {error}") from error


def _value(name: str, cell: str, position: Position) -> Any:
    if name in _NAMES:
        return cell.split()
    if name in _NUMBERS:
        try:
            return _NUMBERS[name](cell)
        except ValueError:
            raise position.wrong(f'found "{cell}", expected a number') from None
    if name == "where":
        return {field: [*map(scalar, values.split("/"))] for field, values in _fields(cell, position)}
    if name == "at":
        return {field: scalar(value) for field, value in _fields(cell, position)}
    if name == "turned_for":
        return [{field: scalar(value) for field, value in _fields(case, position)} for case in cell.split(";")]
    return cell == "yes" if name == "skips_oom" else cell


def _fields(cell: str, position: Position) -> Iterator[tuple[str, str]]:
    for pair in cell.split():
        field, is_said, value = pair.partition("=")
        if not (field and is_said and value):
            raise position.wrong(f'found "{pair}", expected FIELD=VALUE')
        yield field, value


def scalar(text: str) -> int | float | str:
    """A number where the text is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
