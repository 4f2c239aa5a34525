"""The console: lines and tables that know how wide it is and which letters it has."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from threading import Event

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from runner import formatting
from runner.report.tables import Part

GAP = 2                        # between columns
_WHOLE_WIDTH = 8               # up to which several words stand together, as "8.21 ms" does
_INDENT = 2
_MOST_ROWS = 200               # of a table; more scroll away what stands above them
_GRADES = {"good": "green", "note": "yellow", "fails": "bold red"}
Row = Sequence[Text]
_hushed = Event()              # -q, which every part of a command heeds
_detailed = Event()            # -v


def show(renderable: RenderableType) -> None:
    """Print a result on standard output."""
    _console().print(renderable, crop=False)


def say(text: str) -> None:
    """Tell people something, on standard error, in a line of its own however long."""
    people().print(formatting.clean(text), soft_wrap=True)


def confirmed(question: str) -> bool:
    """Ask on standard error; whether the answer is yes."""
    people().print(f"{formatting.clean(question)} [y/N]: ", end="", soft_wrap=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def people() -> Console:
    """The console that messages go to."""
    return _console(stderr=True, quiet=_hushed.is_set())


def _console(stderr: bool = False, quiet: bool = False) -> Console:
    """A console whose width is never the 0 that some terminals claim, of which nothing would be printed."""
    environment = {name: value for name, value in os.environ.items() if (name, value) != ("COLUMNS", "0")}
    return Console(stderr=stderr, quiet=quiet, markup=False, highlight=False, emoji=False, _environ=environment)


def hush(is_hushed: bool) -> None:
    """Whether people are told nothing from here on."""
    (_hushed.set if is_hushed else _hushed.clear)()


def detail(is_detailed: bool) -> None:
    """Whether people are told of each run from here on."""
    (_detailed.set if is_detailed else _detailed.clear)()


def is_detailed() -> bool:
    """As `detail` was told."""
    return _detailed.is_set()


def harmless(content: object, is_ascii: bool) -> str:
    """The content in one line that does nothing to a terminal, in letters that it has."""
    line = formatting.clean(content)
    return formatting.in_ascii(line) if is_ascii else line


class View:
    """What is to print from top to bottom, made for the console that it is printed on."""

    def __init__(self, parts: Callable[["Page"], Iterable[RenderableType]]) -> None:
        self._parts = parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._parts(Page(console, options.max_width, options.ascii_only))


class Page:
    """The width and the letters of a console, and texts and tables made for it."""

    def __init__(self, console: Console, width: int, is_ascii: bool) -> None:
        self.width = width
        self._console, self._is_ascii = console, is_ascii

    def text(self, content: object, style: str = "") -> Text:
        """A Text of one line, harmless."""
        return Text(harmless(content, self._is_ascii), style)

    def whole(self, content: object, style: str = "") -> Text:
        """The same, never broken: what people copy, which the terminal itself goes on below."""
        return Text(harmless(content, self._is_ascii), style, no_wrap=True, overflow="ignore")

    def item(self, content: str) -> RenderableType:
        """A line of a list, its continuation indented as it is."""
        indent = len(content) - len(content.lstrip(" "))
        return self._grid([[self.text(content[indent:])]], [self.width - indent], indent)

    def blocks(self, titles: Sequence[str], blocks: Sequence[tuple[str, Sequence[Row]]], indent: int = _INDENT
               ) -> Iterator[RenderableType]:
        """The titles, over a line without indent, then each block's label and its first rows; equally wide columns."""
        heads, count = [self.text(title, "bold") for title in titles], sum(len(rows) for _, rows in blocks)
        before = accumulate((len(rows) for _, rows in blocks), initial=0)
        blocks = [(label, rows[:_MOST_ROWS - above]) for (label, rows), above in zip(blocks, before, strict=False)
                  if above < _MOST_ROWS]
        every = [heads, *(row for _, rows in blocks for row in rows)]
        for place, (titled, *lines) in enumerate(_beside(every, self.width - indent)):
            widths, left = _fitted([titled, *lines], self.width - indent), iter(lines)
            yield from ("" for _ in range(place > 0))
            yield self._grid([titled], widths, indent)
            if not indent:
                yield Text(("-" if self._is_ascii else "─") * (sum(widths) + GAP * (len(widths) - 1)))
            for label, rows in blocks:
                if label:
                    yield self._grid([[self.text(label, "bold")]], [self.width], 0)
                yield self._grid(list(islice(left, len(rows))), widths, indent)
        if count > _MOST_ROWS:
            yield self.text(f"and {count - _MOST_ROWS:,} more rows: --csv FILE writes all of them")

    def _grid(self, rows: Iterable[Row], widths: Sequence[int], indent: int) -> Segments:
        """The rows in columns of these widths, without spaces at the end of a line."""
        grid = Table.grid(padding=(0, GAP, 0, 0))
        for width in widths:
            grid.add_column(width=width, overflow="fold")
        for row in rows:
            grid.add_row(*row)
        room = self._console.options.update(width=sum(widths) + GAP * len(widths))
        return Segments([segment for line in self._console.render_lines(grid, room, pad=False)
                         for segment in (*_stripped([Segment(" " * indent), *line]), Segment.line())])


def _stripped(line: list[Segment]) -> list[Segment]:
    while line and not line[-1].text.strip():
        line.pop()
    return [*line[:-1], *(last._replace(text=last.text.rstrip()) for last in line[-1:])]


def parts_view(parts: Sequence[Part]) -> View:
    """Lines, those of a list indented, and tables under each other, as wide as the console that they are printed on."""
    return View(lambda page: (shown for part in parts for shown in _shown(part, page)))


def _shown(part: Part, page: Page) -> Iterator[RenderableType]:
    """A part; in place of a table without lines a word."""
    if isinstance(part, str):
        yield page.item(part) if part.startswith("  ") else page.text(part)
    elif not part:
        yield page.text("nothing yet")
    elif isinstance(part, Mapping):
        yield from page.blocks(list(next(iter(part.values()))[0]), [
            (label, [[page.text(fact) for fact in row.values()] for row in rows]) for label, rows in part.items()])
    else:
        yield from page.blocks([title.replace("_", " ") for title in part[0]], [("", [
            [page.text("-" if value is None else value, _GRADES.get(value, "") if name == "grade" else "")
             for name, value in row.items()] for row in part])], indent=0)


def _words(rows: Sequence[Row]) -> list[int]:
    """The width of each column in which no word of it is broken."""
    return [max(cell.cell_len if cell.cell_len <= _WHOLE_WIDTH else max(map(cell_len, cell.plain.split()), default=0)
                for cell in column) for column in zip(*rows, strict=True)]


def _beside(rows: Sequence[Row], room: int) -> Iterator[Sequence[Row]]:
    """The rows in parts of as many columns as fit with whole words, the first column in each."""
    first, *words = (min(word, room // 2) for word in _words(rows))
    parts, used = [[0]], first
    for index, word in enumerate(words, 1):
        if used + GAP + word > room and len(parts[-1]) > 1:
            parts.append([0])
            used = first
        parts[-1].append(index)
        used += GAP + word
    return ([[row[index] for index in part] for row in rows] for part in parts)


def _fitted(rows: Sequence[Row], room: int) -> list[int]:
    """The widths with which all columns fit, gaps included. Words of the first column are broken last."""
    widths, words = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)], _words(rows)
    named = [min(words[0], room // 2), *(min(word, _WHOLE_WIDTH) for word in words[1:])]
    return _narrowed(widths, (words, named, [1] * len(widths)), room - GAP * (len(widths) - 1))


def _narrowed(widths: Sequence[int], floors: Iterable[Sequence[int]], room: int) -> list[int]:
    """The widths, reduced at the widest column until all fit: down to the first floors, then to the next ones."""
    narrowed = list(widths)
    for least in floors:
        while sum(narrowed) > room:
            able = [index for index, width in enumerate(narrowed) if width > least[index]]
            if not able:
                break
            narrowed[max(able, key=narrowed.__getitem__)] -= 1
    return narrowed
