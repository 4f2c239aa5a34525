"""A Report as Markdown: GitHub's tables, which most readers of Markdown know. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from runner.formatting import clean
from runner.report.document import Report, Section
from runner.report.tables import Form, Table


def markdown(report: Report) -> str:
    """The file."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """The text as Markdown shows it and does not obey it, in one line."""
    plain = re.sub(r"([\\`*_{}\[\]()#+!|~$])", r"\\\1", clean(text))
    plain = re.sub(r"^(\s*\d+)\.", r"\1\\.", re.sub(r"^(\s*)([-=])", r"\1\\\2", plain))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;").replace(
        "://", "&#58;//")


def _lines(report: Report) -> Iterator[str]:
    yield from (f"# {escaped(report.title)}", "")
    yield from _items([("measured on", report.machine), ("began", report.began), ("command", report.command),
                       ("result", report.name)])
    yield from (f"**{escaped(report.reading)}**", "")
    if report.in_short:
        yield from ("## In short", "", *(f"- {escaped(text)}" for text in report.in_short), "")
    if report.deviations:
        yield from ("## What is not as in the study, or not ideal", "")
        yield from _items(report.deviations)
    if report.claims:
        yield from ("## Claims", "", *_tables(report.claims))
    for section in report.sections:
        yield from _section(section)
    if report.footnotes:
        yield from ("## Notes", "")
        yield from _items([(f"[{number}]", text) for number, text in report.footnotes])
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
        has_labels = any(group.label for group in groups)
        titles = ("", *titles) if has_labels else titles
        yield table_row(titles)
        yield table_row(["---"] * len(titles), is_rule=True)
        for group in groups:
            yield from (table_row((group.label, *line) if has_labels else line) for line in group.lines)
        yield ""
        if table.note:
            yield from (escaped(table.note), "")


def table_row(texts: Sequence[str], is_rule: bool = False) -> str:
    """A row of a table; is_rule: the one below the heads."""
    return f"| {' | '.join(texts if is_rule else map(escaped, texts))} |"
