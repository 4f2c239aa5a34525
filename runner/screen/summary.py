"""A report on a terminal."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import RenderableType

from runner.report.claims.claim_text import WINNER
from runner.report.columns import RATES, Line
from runner.report.document import Report
from runner.report.rates import of_parts
from runner.report.tables import Form, Table, Texts, Written
from runner.screen.page import GAP, Cell, Page, View

_LABEL_WIDTH = 15              # "batch 42, 32 px": a narrower label would break within its parts
_RATE_STYLES = {WINNER: "bold green", "faster": "green", "slower": "red"}
_CLAIM_STYLES = {"holds": "green", "does not hold": "red"}


class ReportView(View):
    """A Report: one table of rates with a column a stack where that fits, else a block a comparison; then the rest."""

    def __init__(self, report: Report, has_commands: bool = False) -> None:
        self._report, self._overall, self._has_commands = report, report.overall, has_commands

    def parts(self, page: Page) -> Iterable[RenderableType]:
        """Head, rates, what else was seen, failures, footnotes, how to read it."""
        overall = self._overall
        yield from self._head(page)
        if overall.results.groups:
            yield ""
            rates = of_parts(overall.results, RATES).written(Form.SCREEN)
            yield from self._columns(rates, page) or self._blocks(rates, page)
        for table in overall.beside:
            yield from _blocks(table, page)
        for line in overall.limits:
            yield page.text(line, "dim")
        for table in overall.breakdown:
            yield from _blocks(table, page)
        for table in (*overall.published, *self._report.claims):
            yield from _list(table, page)
        for line in overall.means:
            yield ""
            yield page.text(line)
        for table in (*overall.far_runs, *self._report.left_out):
            yield ""
            yield page.text(f"{table.caption}:", "bold")
            yield from (page.item(line.sentence) for line in table.lines)
        yield from self._notes(page)
        yield from self._again(page)

    def _head(self, page: Page) -> Iterator[RenderableType]:
        yield page.text(f"{self._report.name}: {self._overall.about}", "bold")
        yield page.text(f"measured on {self._report.machine}")
        if self._overall.own_stacks:
            yield page.text(self._overall.own_stacks)
        if not self._overall.is_complete:
            yield page.text("NOT COMPLETE: the session has not run to its end.", "bold yellow")
            yield page.text("The same command resumes it.")

    def _columns(self, rates: Written, page: Page) -> list[RenderableType]:
        """The rates with a column a stack; empty where that does not fit."""
        names = self._overall.stacks
        widths, rows = list(map(len, names)), []
        for group, of_group in zip(self._overall.results.groups, rates.groups, strict=True):
            of_stack = {line.result.stack: _stacked(line, texts, page)
                        for line, texts in zip(group.lines, of_group.lines, strict=True)}
            cells = [of_stack.get(name) or page.cell("-") for name in names]
            widths = [max(width, *(len(entry.plain) for entry in cell))
                      for width, cell in zip(widths, cells, strict=True)]
            if sum(widths) + GAP * len(names) + _LABEL_WIDTH > page.width:
                return []
            rows += [[page.cell(group.label), *cells], [page.cell("")] * (len(names) + 1)]
        room = page.width - sum(widths) - GAP * len(names)
        longest = max(len(group.label) for group in rates.groups)
        return list(page.ruled(["samples/s", *names], rows[:-1], [min(max(longest, len("samples/s")), room), *widths]))

    def _blocks(self, rates: Written, page: Page) -> Iterator[RenderableType]:
        """For each comparison its label and a line a stack."""
        yield from page.blocks(["", *rates.titles[1:]], [
            (group.label, [_styled(texts, page) for texts in group.lines]) for group in rates.groups])

    def _notes(self, page: Page) -> Iterator[RenderableType]:
        if self._report.footnotes:
            yield ""
        for number, text in self._report.footnotes:
            yield page.text(f"[{number}] {text}")
        if self._overall.guide:
            yield ""
            yield page.text(self._overall.guide, "dim")

    def _again(self, page: Page) -> Iterator[RenderableType]:
        """The commands that measure each result again, or where they are to be found."""
        commands = self._overall.commands
        if not commands:
            return
        yield ""
        if self._has_commands:
            yield page.text("Measured again by:", "bold")
            yield from (page.item(f"{stack}, {label}: {command}") for label, stack, command in commands)
        else:
            rest = f"; of each: `evenbench report {self._report.name} --verbose`" if len(commands) > 1 else ""
            yield page.text(f"To measure the first row again: `{commands[0][-1]}`{rest}", "dim")


def _stacked(line: Line, texts: Texts, page: Page) -> Cell:
    """A stack's texts under each other; of one without a rate only how its runs ended."""
    _, *rest = texts if line.has_rate else texts[:2]
    return tuple(entry for text in rest for part in text.split("\n") if part
                 for entry in page.cell(part, _style(part))) or page.cell("")


def _styled(texts: Texts, page: Page) -> list[Cell]:
    """A line of rates; the winner's name stands out as its word does."""
    styles = [_style(text) for text in texts]
    name = _RATE_STYLES[WINNER] if _RATE_STYLES[WINNER] in styles else ""
    return [page.cell(text, style) for text, style in zip(texts, [name, *styles[1:]], strict=True)]


def _style(text: str) -> str:
    """Of a verdict on a rate, with whatever stands after it; "" of any other text."""
    word = re.match(r"[A-Za-z]+(?=$|\n| \(| of those that ran)", text)
    return _RATE_STYLES.get(word[0], "") if word else ""


def _blocks(table: Table[Any], page: Page) -> Iterator[RenderableType]:
    """The table below its caption, a group below its label; nothing where it has no line."""
    titles, groups = table.written(Form.SCREEN)
    if titles and any(group.lines for group in groups):
        yield ""
        if table.caption:
            yield page.text(f"{table.caption}:", "bold")
        yield from page.blocks(["", *titles[1:]], [
            (group.label, [[page.cell(text) for text in line] for line in group.lines]) for group in groups])
        if table.note:
            yield page.text(table.note, "dim")


def _list(table: Table[Any], page: Page) -> Iterator[RenderableType]:
    """The table below its caption, all lines as one list, verdicts coloured. Extra ones are left to the page."""
    written = table.written(Form.SCREEN)
    if written.lines and not table.is_extra:
        yield ""
        yield page.text(f"{table.caption}: {table.tally}" if table.tally else f"{table.caption}:", "bold")
        yield from page.ruled(written.titles, [[page.cell(text, _CLAIM_STYLES.get(text, "")) for text in line]
                                               for line in written.lines])
        if table.note:
            yield page.text(table.note, "dim")


def summary_view(report: Report, has_commands: bool = False) -> RenderableType:
    """The report, laid out for the console it is printed on; with the commands that measure each result again."""
    return ReportView(report, has_commands)
