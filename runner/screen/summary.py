"""A report on a terminal: its tables where they are asked for, and at the end the answer."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from runner import formatting
from runner.report.columns import word
from runner.report.document import Answer, Report, Standing
from runner.report.tables import Form, Table
from runner.screen.page import Page, View

_STYLES = {"faster": "green", "slower": "red", "holds": "green", "does not hold": "red"}
_FASTEST = "bold green"
_LEAST_BAR, _LONGEST_BAR = 6, 40
_MOST_NOTES = 3
_NARROW = 60                   # columns, below which lines are dear
_MOST_BLOCKS = 4               # that a terminal of 24 lines shows beside all else


def summary_view(report: Report, is_detailed: bool = False, named: str = "", written: Path | None = None) -> View:
    """The tables, then the answer; a session that compares nothing has tables alone to show.

    is_detailed: with all tables. named: how commands name the result; "" for the newest one. written: its page.
    """
    answer = report.answer

    def parts(page: Page) -> Iterator[RenderableType]:
        if answer is None or is_detailed or not answer.blocks:
            yield from _details(report, page)
            yield ""
        if answer is not None:
            yield page.text("Which is faster here?   " + "   ".join(answer.facts), "bold")
            if " → " in answer.verdict or len(answer.blocks) > _MOST_BLOCKS:
                yield page.text(f"{answer.verdict}.")
            yield from _blocks(answer, page)
            yield from ("" for _ in range(page.width >= _NARROW))
            yield from _trust(report, answer, page)
            command = " ".join(filter(None, ["evenbench report", named]))
            tables = "--details" if written else f"{command} --details"
            hints = [f"Charts: {written or command}", *([] if is_detailed else [f"All tables: {tables}"]),
                     *(f"Next: {hint}" for hint in answer.hints)]
            hints = [each for each in hints if page.width >= _NARROW or len(each) <= page.width]
            yield from (page.whole(line, "dim") for line in _packed(hints, page.width))

    return View(parts)


def so_far_view(answer: Answer, lines: int) -> View:
    """The ratios of a session that goes on, without intervals and words; of so many lines the last."""
    return View(lambda page: list(_blocks(answer, page, is_over=False))[-max(1, lines):])


def _trust(report: Report, answer: Answer, page: Page) -> Iterator[RenderableType]:
    if answer.missing:
        yield page.text(f"NOT COMPLETE: {answer.missing}.", "bold yellow")
    if report.claims:
        yield from map(page.text, report.in_short)
    trusted = [each for each in answer.trust if each.name not in ("Isolation", "Data")]
    more = len(answer.notes) - _MOST_NOTES
    notes = [*answer.notes[:_MOST_NOTES], *([f"{more} more"] if more > 0 else [])]
    said = [*(f"{each.name}: {each.text}." for each in trusted),
            *([f"Failed: {formatting.count(answer.failed, 'run')}."] if answer.failed else []),
            *([f"Left out: {formatting.count(answer.left_out, 'cell')}."] if answer.left_out else []),
            *([f"Notes: {'; '.join(notes)}."] if notes else [])]
    yield from map(page.text, _packed(said, page.width))


def _packed(items: Iterable[str], width: int) -> Iterator[str]:
    """The items on as few lines as hold them whole."""
    line = ""
    for item in items:
        if line and len(line) + 3 + len(item) > width:
            yield line
            line = ""
        line = f"{line}   {item}" if line else item
    yield line


def _layout(columns: Sequence[int], room: int) -> tuple[tuple[int, ...], str]:
    """The widths of name, version, rate, bar, ratio, interval and word, 0 of what has no room, and the gap between."""
    name, version, rate, *rest = columns
    for kept, gap in (((name, version, rate), "  "), ((name, version, rate), " "), ((name, version, 0), " "),
                      ((name, 0, 0), " ")):
        told = [*kept, *rest]
        left = room - sum(told) - len(gap) * sum(map(bool, told))
        if left >= 0:
            break
    bar = min(left - len(gap), _LONGEST_BAR) if gap == "  " else 0
    return (*kept, bar if bar >= _LEAST_BAR else 0, *rest), gap


def _blocks(answer: Answer, page: Page, is_over: bool = True) -> Iterator[RenderableType]:
    """A heading and a line a stack for each comparison, below the title of the ratios."""
    texts = [[_texts(line, page, is_over) for line in lines] for _, lines in answer.blocks]
    if not texts:
        return
    widths, gap = _layout([max(map(len, column)) for column in zip(*chain(*texts), strict=True)], page.width)
    indent = gap if len(gap) > 1 else ""
    title = page.text(f"times {answer.baseline}", "dim")
    before_ratio = len(indent) + sum(width + len(gap) for width in widths[:4] if width)
    yield Text(" " * max(0, min(before_ratio, page.width - len(title.plain)))).append_text(title)
    for (heading, lines), told in zip(answer.blocks, texts, strict=True):
        unit = f": {lines[0].comparison.unit}" if widths[2] else ""
        yield page.text(f"{heading}{unit}", "bold")
        most = lines[0].rate or 1.0
        for line, own in zip(lines, told, strict=True):
            bar = page.text("━" * round((line.rate or 0.0) / most * widths[3])).plain
            fastest = _FASTEST if is_over and line.is_fastest else ""
            yield Text(indent).append_text(_line((*own[:3], bar, *own[3:]), fastest, widths, gap))


def _line(texts: Sequence[str], fastest: str, widths: Sequence[int], gap: str) -> Text:
    """The line of a stack; fastest: how the one that is the fastest looks."""
    styles = (fastest, "dim", "", fastest or "dim", "", "", fastest or _STYLES.get(texts[-1], ""))
    line = Text(gap).join(
        Text(text.rjust(width) if index == 2 else text.ljust(width), style)
        for index, (text, width, style) in enumerate(zip(texts, widths, styles, strict=True)) if width)
    line.rstrip()
    return line


def _texts(line: Standing, page: Page, is_over: bool) -> tuple[str, ...]:
    """Name, version, rate, ratio, interval and word, harmless; the latter two of a session that is over."""
    rate = "" if line.rate is None else formatting.number(line.rate)
    ratio, ends = line.ratio_texts
    texts = [line.stack, line.version, rate, ratio, ends if is_over else "",
             word(line) if is_over or line.rate is None else ""]
    return tuple(page.text(text).plain for text in texts)


def _details(report: Report, page: Page) -> Iterator[RenderableType]:
    """All tables, then the notes and how to read them."""
    yield page.text(f"{report.name}: {report.title}", "bold")
    yield page.text(f"measured on {report.machine}")
    for table in (*report.claims, *report.details, *report.left_out):
        yield from _table(table, page)
    for lines in (report.limits, [*map(" ".join, report.footnotes)], [report.guide] if report.guide else []):
        yield from ("" for _ in lines[:1])
        yield from (page.text(line, "dim") for line in lines)


def _table(table: Table[Any], page: Page) -> Iterator[RenderableType]:
    """The table below its caption, verdicts coloured; nothing where it has no line, or is for the page."""
    titles, groups = table.written(Form.SCREEN)
    if table.is_extra or not any(lines for _, lines in groups):
        return
    yield ""
    if table.caption:
        yield page.text(f"{table.caption}: {table.tally}" if table.tally else f"{table.caption}:", "bold")
    rows = [(label, [[page.text(text, _STYLES.get(text, "")) for text in line] for line in lines])
            for label, lines in groups]
    if table.has_empty or any(label for label, _ in rows):
        yield from page.blocks(["", *titles[1:]], rows)
    else:
        yield from page.blocks(titles, rows, indent=0)
    if table.note:
        yield page.text(table.note, "dim")
