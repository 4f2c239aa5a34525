"""A report on a terminal: its tables where they are asked for, and at the end the answer."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from runner import formatting
from runner.report.document import Answer, Report, Standing
from runner.report.tables import Form, Table
from runner.screen.page import Page, View

_STYLES = {"faster": "green", "slower": "red", "holds": "green", "does not hold": "red"}
_FASTEST = "bold green"
_LEAST_BAR, _LONGEST_BAR = 6, 40
_MOST_NOTES = 3
_NARROW = 60                   # columns, below which lines are dear
_MOST_BLOCKS = 4               # that a terminal of 24 lines shows beside all else


class ReportView(View):
    """A Report for the console that it is printed on."""

    def __init__(self, report: Report, is_detailed: bool, named: str, written: Path | None) -> None:
        self._report, self._is_detailed, self._named, self._written = report, is_detailed, named, written

    def parts(self, page: Page) -> Iterable[RenderableType]:
        """The tables, then the answer; a session that compares nothing has tables alone to show."""
        answer = self._report.answer
        if answer is None or self._is_detailed or not answer.blocks:
            yield from self._details(page)
            yield ""
        if answer is not None:
            yield from self._head(answer, page)
            yield from _blocks(answer, page)
            yield from self._trust(answer, page)
            yield from self._next(answer, page)

    # ---- the answer

    def _head(self, answer: Answer, page: Page) -> Iterator[RenderableType]:
        yield page.text("Which is faster here?   " + "   ".join(answer.facts), "bold")
        if self._report.overall.own_stacks:
            yield page.text(self._report.overall.own_stacks)

    def _trust(self, answer: Answer, page: Page) -> Iterator[RenderableType]:
        if page.width >= _NARROW:
            yield ""
        if not answer.is_complete:
            yield page.text("NOT COMPLETE: the session has not run to its end. The same command resumes it.",
                            "bold yellow")
        if self._report.claims or len(answer.blocks) > _MOST_BLOCKS:
            yield from map(page.text, self._report.in_short)
        models, turns, _, _, *files = answer.trust
        more = len(answer.notes) - _MOST_NOTES
        notes = [*answer.notes[:_MOST_NOTES], *([f"{more} more"] if more > 0 else [])]
        said = [f"{models.name}: {models.text}.", f"{turns.name}: {turns.text}.",
                *(f"{each.name}: {each.text}." for each in files),
                *([f"Failed: {formatting.count(answer.failed, 'run')}."] if answer.failed else []),
                *([f"Left out: {formatting.count(answer.left_out, 'cell')}."] if answer.left_out else []),
                *([f"Notes: {'; '.join(notes)}."] if notes else [])]
        yield from map(page.text, _packed(said, page.width))

    def _next(self, answer: Answer, page: Page) -> Iterator[RenderableType]:
        command = " ".join(filter(None, ["evenbench report", self._named]))
        items = [f"Charts: {self._written or command}",
                 *([] if self._is_detailed else [f"All tables: {command} --details"]),
                 *(f"Next: {hint}" for hint in answer.hints)]
        yield from (page.text(line, "dim") for line in _packed(items, page.width))

    # ---- the tables

    def _details(self, page: Page) -> Iterator[RenderableType]:
        overall = self._report.overall
        yield page.text(f"{self._report.name}: {self._report.title}", "bold")
        yield page.text(f"measured on {self._report.machine}")
        for table in (*self._report.claims, *overall.details, *self._report.left_out):
            yield from _table(table, page)
        for lines in (overall.limits, [f"[{number}] {text}" for number, text in self._report.footnotes],
                      [overall.guide] if overall.guide else []):
            yield from ("" for _ in lines[:1])
            yield from (page.text(line, "dim") for line in lines)


def _blocks(answer: Answer, page: Page) -> Iterator[RenderableType]:
    """A heading and a line a stack for each comparison, below the titles of the columns."""
    rows = [_texts(standing, page) for block in answer.blocks for standing in block.standings]
    if not rows:
        return
    layout = _Layout(rows, page.width)
    yield layout.titles(answer.baseline, page)
    for block in answer.blocks:
        yield page.text(f"{block.heading}: {block.unit}" if layout.has_rates else block.heading, "bold")
        most = max((standing.rate or 0.0 for standing in block.standings), default=0.0)
        for standing in block.standings:
            share = (standing.rate or 0.0) / most if most else 0.0
            yield layout.row(_texts(standing, page), share, _style(standing), page)


def _packed(items: Iterable[str], width: int) -> Iterator[str]:
    """The items on as few lines as hold them whole."""
    line = ""
    for item in items:
        together = f"{line}   {item}" if line else item
        if line and len(together) > width:
            yield line
            together = item
        line = together
    yield line


def _texts(standing: Standing, page: Page) -> tuple[str, ...]:
    """Name, rate, ratio, interval and word, harmless."""
    rate = "" if standing.rate is None else formatting.number(standing.rate)
    texts = (standing.stack, rate, standing.ratio_text, standing.ends_text, standing.word)
    return tuple(page.text(text).plain for text in texts)


def _style(standing: Standing) -> str:
    return _FASTEST if standing.is_fastest else _STYLES.get(standing.word, "")


class _Layout:
    """How wide the columns of the answer are: bars take what is left, and where there is no room rates go, too."""

    def __init__(self, rows: Sequence[tuple[str, ...]], width: int) -> None:
        self._widths = [max(map(len, texts)) for texts in zip(*rows, strict=True)]
        self._indent, self._gap = "  ", "  "
        room = width - len(self._indent) - sum(self._widths) - len(self._gap) * (len(self._widths) - 1)
        self._bar = min(room - len(self._gap), _LONGEST_BAR)
        self.has_rates = room >= 0
        if self._bar < _LEAST_BAR:
            self._bar = 0
        if not self.has_rates:
            self._indent, self._gap = "", " "

    def titles(self, baseline: str, page: Page) -> Text:
        """Over the ratios what they are to."""
        name, rate, *_ = self._widths
        before = len(self._indent) + name + (len(self._gap) + rate if self.has_rates else 0) + len(self._gap)
        before += self._bar + len(self._gap) if self._bar else 0
        title = page.text(f"times {baseline}", "dim")
        return Text(" " * max(0, min(before, page.width - len(title.plain)))).append_text(title)

    def row(self, texts: Sequence[str], share: float, style: str, page: Page) -> Text:
        """A stack's line; its bar is as long as its share of the fastest one's rate."""
        name, rate, ratio, ends, word = texts
        name_width, rate_width, ratio_width, ends_width, _ = self._widths
        cells = [(name.ljust(name_width), style if style == _FASTEST else "")]
        if self.has_rates:
            cells.append((rate.rjust(rate_width), ""))
        if self._bar:
            bar = page.text("━" * round(share * self._bar)).plain
            cells.append((bar.ljust(self._bar), "dim" if style != _FASTEST else style))
        cells += [(ratio.ljust(ratio_width), ""), (ends.ljust(ends_width), ""), (word, style)]
        line = Text(self._indent)
        for index, (text, of_text) in enumerate(cells):
            line.append(self._gap if index else "").append(text, of_text or None)
        line.rstrip()
        return line


def _table(table: Table[Any], page: Page) -> Iterator[RenderableType]:
    """The table below its caption, verdicts coloured; nothing where it has no line, or is for the page."""
    titles, groups = table.written(Form.SCREEN)
    if table.is_extra or not any(group.lines for group in groups):
        return
    yield ""
    if table.caption:
        yield page.text(f"{table.caption}: {table.tally}" if table.tally else f"{table.caption}:", "bold")
    rows = [(group.label, [[page.cell(text, _STYLES.get(text, "")) for text in line] for line in group.lines])
            for group in groups]
    if table.has_empty or any(label for label, _ in rows):
        yield from page.blocks(["", *titles[1:]], rows)
    else:
        yield from page.ruled(titles, [line for _, lines in rows for line in lines])
    if table.note:
        yield page.text(table.note, "dim")


def summary_view(report: Report, is_detailed: bool = False, named: str = "", written: Path | None = None
                 ) -> RenderableType:
    """The report, laid out for the console it is printed on.

    is_detailed: with all tables. named: how commands name the result; "" for the newest one. written: its page.
    """
    return ReportView(report, is_detailed, named, written)
