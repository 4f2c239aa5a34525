"""The console: lines and tables that know how wide it is and which letters it has."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from runner import formatting

GAP = 2                        # between columns
_LEAST_WIDTH = 8               # of a column that must give way
_NAME_WIDTH = 20               # of columns whose words are broken last
_INDENT = 2


class Entry(NamedTuple):
    """A harmless text of a section's row: rich's Text takes six times as long to make."""

    plain: str
    style: str = ""


_NOTHING = Entry("")


def show(renderable: RenderableType) -> None:
    """Print a result on standard output."""
    Console(markup=False, highlight=False, emoji=False).print(renderable, crop=False)


def say(text: str) -> None:
    """Tell people something, on standard error, in a line of its own however long."""
    people().print(formatting.clean(text), soft_wrap=True)


def people() -> Console:
    """The console that messages go to."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


class View:
    """Lines and tables that know how wide the console is and which letters it has."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.parts(Page(console, options.max_width, options.ascii_only))

    def parts(self, page: "Page") -> Iterable[RenderableType]:
        """What to print, from top to bottom."""
        raise NotImplementedError


class Page:
    """The width and the letters of a console, and texts made for it."""

    def __init__(self, console: Console, width: int, is_ascii: bool) -> None:
        self.width = width
        self._console, self._is_ascii = console, is_ascii

    def text(self, words_: object, style: str = "") -> Text:
        """A Text of one line, harmless."""
        return Text(self._shown(words_), style)

    def entry(self, words_: object, style: str = "") -> Entry:
        """The same for a row of a section."""
        return Entry(self._shown(words_), style)

    def _shown(self, words_: object) -> str:
        cleaned = formatting.clean(words_)
        return formatting.in_ascii(cleaned) if self._is_ascii else cleaned

    def lines(self, texts: Iterable[Text]) -> Text:
        """Texts under each other."""
        return Text("\n").join(list(texts))

    def item(self, words_: object) -> RenderableType:
        """A line of a list, its continuation indented."""
        return Padding(self.text(words_), (0, 0, 0, 2))

    def table(self, titles: Sequence[str], gap: int = GAP + 1) -> Table:
        """An empty table; gap: letters between columns, one of them the box's own."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap - 1, 0, 0), show_edge=False,
                      header_style="bold")
        for title in titles:
            table.add_column(self.text(title), overflow="fold")
        return table

    def sections(self, titles: Sequence[str], blocks: Sequence[tuple[str, Sequence[Sequence[Entry]]]],
                 ) -> Iterator[RenderableType]:
        """The titles, then each block's label and rows. Columns are equally wide in all blocks."""
        rows = [row for _, block in blocks for row in block]
        widths = fitted(titles, rows, self.width - _INDENT)
        yield self._grid([[self.entry(title, "bold") for title in titles]], widths)
        for label, block in blocks:
            if label:
                yield self._grid([[self.entry(label, "bold")]], [self.width], indent=0)
            yield self._grid(block, widths)

    def _grid(self, rows: Iterable[Sequence[Entry]], widths: Sequence[int], indent: int = _INDENT) -> Segments:
        """The rows under each other, finished: rich's own grid takes twenty times as long."""
        return Segments([segment for row in rows
                         for entries in zip_longest(*map(self._folded, row, widths), fillvalue=_NOTHING)
                         for segment in self._line(entries, widths, indent)])

    def _folded(self, entry: Entry, width: int) -> Sequence[Entry]:
        if _width(entry.plain) <= width:
            return (entry,)
        lines = Text(entry.plain).wrap(self._console, width, overflow="fold")
        return [entry._replace(plain=line.plain.rstrip()) for line in lines]

    def _line(self, entries: Sequence[Entry], widths: Sequence[int], indent: int) -> Iterator[Segment]:
        """The entries beside each other, plain ones in one piece."""
        plain = " " * indent
        last = max((index for index, entry in enumerate(entries) if entry.plain), default=-1)
        for entry, width in zip(entries[:last + 1], widths, strict=False):
            if entry.style:
                yield Segment(plain)
                yield Segment(entry.plain, self._console.get_style(entry.style))
                plain = ""
            else:
                plain += entry.plain
            plain += " " * (width - _width(entry.plain) + GAP)
        yield Segment(plain.rstrip() + "\n")


def _width(text: str) -> int:
    """The width of a text in a terminal's columns. For ASCII, rich's function takes ten times as long."""
    return len(text) if text.isascii() else cell_len(text)


def fitted(titles: Sequence[str], rows: Sequence[Sequence[Entry | Text]], room: int) -> list[int]:
    """The widths with which all columns fit, gaps included. The words of narrow columns are broken last."""
    columns = [[title, *(row[index].plain for row in rows)] for index, title in enumerate(titles)]
    widths = [max(map(_width, texts)) for texts in columns]
    room -= GAP * (len(widths) - 1)
    if sum(widths) <= room:
        return widths
    longest = [max((_width(word) for text in texts for word in text.split()), default=0) for texts in columns]
    of_names = [word if width <= _NAME_WIDTH else 0 for width, word in zip(widths, longest, strict=True)]
    return _narrowed(widths, (longest, of_names, [0] * len(widths)), room)


def _narrowed(widths: Sequence[int], floors: Iterable[Sequence[int]], room: int) -> list[int]:
    """The widths, reduced at the widest column until all fit: down to the first floors, then to the next ones."""
    narrowed = list(widths)
    for least in floors:
        while sum(narrowed) > room:
            able = [index for index, width in enumerate(narrowed) if width > max(least[index], _LEAST_WIDTH)]
            if not able:
                break
            narrowed[max(able, key=narrowed.__getitem__)] -= 1
    return narrowed


def skips(page: Page, skips: Sequence[tuple[str, str, str]]) -> Iterator[RenderableType]:
    """Skipped cells, those of one stack and reason together."""
    if skips:
        yield ""
        yield page.text("Skipped:", "bold")
    yield from map(page.item, formatting.by_reason(skips))
