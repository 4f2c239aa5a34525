"""What a terminal would show, and a page's tables."""

import csv
import html
import io
import re
from pathlib import Path
from typing import Any

from rich.console import Console

from runner.report.document import Report
from runner.report.tables import Form, Table, Texts
from runner.report.writers import spreadsheet
from runner.screen.summary import summary_view


def printed(view: Any, width: int = 80, **settings: Any) -> str:
    file = io.StringIO()
    Console(file=file, width=width, markup=False, highlight=False, emoji=False, **settings).print(view, crop=False)
    return file.getvalue()


def on_screen(report: Report, width: int = 80, is_detailed: bool = False, named: str = "", written: Path | None = None,
              **settings: Any) -> str:
    return printed(summary_view(report, is_detailed, named, written), width, **settings)


def lines(table: Table[Any], form: Form = Form.PAGE) -> tuple[Texts, ...]:
    """Of all groups."""
    return tuple(line for _, own in table.written(form)[1] for line in own)


def csv_lines(report: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(spreadsheet.comma_separated(report))))


def page_lines(text: str) -> list[tuple[str, str, list[str]]]:
    """The lines of the page's tables as texts, with their table's caption and the label of their group."""
    found = []
    for caption, table in re.findall(r"<table>\n<caption>(.*?)</caption>(.*?)</table>", text, re.DOTALL):
        label = ""
        for group, line in re.findall(r'<tr( class="group")?>(.*?)</tr>', table):
            cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)
            texts = [html.unescape(re.sub("<.*?>", "", cell)) for cell in cells]
            if group:
                label = texts[0]
            else:
                found.append((html.unescape(caption), label, texts))
    return found
