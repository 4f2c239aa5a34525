"""What was observed beside the rates, as the report has it: its tables on a terminal."""

from collections.abc import Iterator

from rich.console import RenderableType

from runner.analysis.summary_format import Summary
from runner.report import breakdown, lanes, rates
from runner.report.columns import Form
from runner.report.comparisons import Shown
from runner.report.document import Table
from runner.screen.page import Page


def beside(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """The measurements beside the rates: one table of all stacks, then the tables that few sessions have."""
    for table in (*rates.tables(summary, _compared(summary), Form.SCREEN), *lanes.tables(summary.lanes, Form.SCREEN)):
        yield from drawn(table, page)


def breakdowns(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """The tables of phases, operators, kernels, graphs, largest batches and memory, where those were measured."""
    compared = _compared(summary)
    for table in (*breakdown.phases(compared, Form.SCREEN), *breakdown.operators(summary.operators, Form.SCREEN),
                  *breakdown.kernels(summary.kernels, Form.SCREEN), *breakdown.graphs(summary.graphs, Form.SCREEN),
                  *breakdown.largest_batches(summary.largest_batches, Form.SCREEN),
                  *breakdown.memory(compared, Form.SCREEN)):
        yield from drawn(table, page)


def drawn(table: Table, page: Page) -> Iterator[RenderableType]:
    """The table below its caption, a group below its label; nothing where it has no line."""
    groups = [(group.label, [[page.entry(text) for text in line] for line in group.lines])
              for group in table.groups if group.lines]
    if groups:
        yield ""
        if table.caption:
            yield page.text(f"{table.caption}:", "bold")
        yield from page.sections(["", *table.columns[1:]], groups)
        if table.note:
            yield page.text(table.note, "dim")


def _compared(summary: Summary) -> list[Shown]:
    return [Shown(comparison, comparison.results) for comparison in summary.comparisons]
