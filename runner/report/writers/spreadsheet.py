"""Rows, and a Report's results, as CSV: a line a result, its columns documented in docs/report.md. Pure."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from runner.formatting import clean
from runner.report.document import Report
from runner.report.tables import Form, of

_OBEYED = ("=", "+", "-", "@", "\t", "\r", "|", "%")      # what a spreadsheet takes for a formula


def comma_separated(report: Report) -> str:
    """The file; texts that a spreadsheet would compute have an apostrophe in front."""
    columns = of(report.results.columns, Form.CSV)
    return _written([column.name or column.title for column in columns], (
        [column.value(line) for column in columns] for _, lines in report.results.groups for line in lines))


def of_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line a row; what a mapping in it holds has columns of its own, a list is one text."""
    flat = [dict(_flat(row)) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    kept = [name for name in names if any(row.get(name) is not None for row in flat)
            or not any(other.startswith(f"{name}_") for other in names)]
    return _written(kept, ([row.get(name) for name in kept] for row in flat))


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}_")
        else:
            yield before + name, "; ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _written(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(map(harmless, row) for row in rows)
    return file.getvalue()


def harmless(value: object) -> object:
    """Numbers as they are, texts so that nothing in them is obeyed."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.lstrip().startswith(_OBEYED) else text
