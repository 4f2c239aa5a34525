"""A Report as Markdown: GitHub's tables, which most readers of Markdown know. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from runner.formatting import clean
from runner.report.document import Report, Section
from runner.report.tables import Form, Part, Table


def markdown(report: Report) -> str:
    """The file."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """The text as Markdown shows it and does not obey it, in one line."""
    plain = re.sub(r"([\\`*_{}\[\]()#+!|~$])", r"\\\1", clean(text))
    plain = re.sub(r"^(\s*\d+)\.", r"\1\\.", re.sub(r"^(\s*)([-=])", r"\1\\\2", plain))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;").replace(
        "://", "&#58;//")


def of_parts(parts: Iterable[Part]) -> str:
    """Lines as paragraphs, and tables below each other."""
    return "\n".join(line for part in parts for line in _part(part))


def _part(part: Part) -> Iterator[str]:
    if isinstance(part, str):
        yield from ((f"- {escaped(part.strip())}",) if part.startswith("  ") else (escaped(part), "") if part else ())
    elif isinstance(part, Mapping):
        rows = [(label, *row.values()) for label, rows in part.items() for row in rows]
        yield from _table(["", *next(iter(part.values()))[0]] if part else [], rows)
    else:
        yield from _table(list(part[0]) if part else [], [tuple(row.values()) for row in part])


def _table(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A table and an empty line; without titles nothing."""
    if titles:
        yield _row(escaped(title.replace("_", " ")) for title in titles)
        yield _row("---" for _ in titles)
        yield from (_row(escaped("" if value is None else str(value)) for value in row) for row in rows)
        yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _lines(report: Report) -> Iterator[str]:
    yield from (f"# {escaped(report.title)}", "")
    yield from _items([("measured on", report.machine), ("began", report.began), ("command", report.command),
                       ("result", report.name)])
    yield from (f"**{escaped(report.reading)}**", "")
    if report.in_short:
        yield from ("## In short", "", *(f"- {escaped(text)}" for text in report.in_short), "")
    yield from _tables(report.matrix)
    if report.deviations:
        yield from ("## What is not as in the study, or not ideal", "")
        yield from _items(report.deviations)
    if report.claims:
        yield from ("## Claims", "", *_tables(report.claims))
    for section in report.sections:
        yield from _section(section)
    if report.footnotes:
        yield from ("## Notes", "")
        yield from _items(report.footnotes)
    yield from ("## Environment", "", *_tables([table for table in report.environment if not table.is_extra]))
    if report.left_out:
        yield from ("## Left out and failed", "", *_tables(report.left_out))
    yield from ("## How each number was made", "")
    yield from _items(report.methods)
    yield f"Made by {escaped(report.made_by)}."


def _section(section: Section) -> Iterator[str]:
    yield from ("## " + escaped(f"{section.id}: {section.title}" if section.title else section.id), "")
    for text in section.notes:
        yield from (escaped(text), "")
    if section.assumed:
        yield from ("Assumed where the study is silent:", "")
        yield from _items(section.assumed)
    yield from _tables(section.tables)


def _items(pairs: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from (f"- **{escaped(name)}**: {escaped(text)}" for name, text in pairs)
    yield ""


def _tables(tables: Iterable[Table[Any]]) -> Iterator[str]:
    for table in tables:
        titles, groups = table.written(Form.PAGE)
        yield from (f"**{escaped(table.caption)}**", "")
        has_labels = any(label for label, _ in groups)
        yield from _table(("", *titles) if has_labels else titles, [
            (label, *line) if has_labels else line for label, lines in groups for line in lines])
        if table.note:
            yield from (escaped(table.note), "")
