"""Lines and tables under each other."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType

from runner.report.tables import Part
from runner.screen.page import Page, View

_GRADES = {"good": "green", "note": "yellow", "fails": "bold red"}


def parts_view(parts: Sequence[Part]) -> View:
    """Lines, those of a list indented, and tables under each other, as wide as the console that they are printed on."""
    return View(lambda page: (shown for part in parts for shown in _shown(part, page)))


def _shown(part: Part, page: Page) -> Iterator[RenderableType]:
    """A part; in place of a table without lines a word."""
    if isinstance(part, str):
        yield page.item(part[2:]) if part.startswith("  ") else page.text(part)
    elif not part:
        yield page.text("nothing yet")
    elif isinstance(part, Mapping):
        yield from page.blocks(list(next(iter(part.values()))[0]), [
            (label, [[page.cell(fact) for fact in row.values()] for row in rows]) for label, rows in part.items()])
    else:
        yield from page.ruled([title.replace("_", " ") for title in part[0]], [
            [page.cell("-" if value is None else value, _GRADES.get(value, "") if name == "grade" else "")
             for name, value in row.items()] for row in part])
