"""Tables of a report: columns, and the things that the lines are about. Pure.

A column is declared once, with its title, where its value is from, how people read it, and the forms that have it. A
form writes its columns of a table, so no two forms can show different numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Flag, auto
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")
# what a command says: a line, a table of mappings with equal keys, or such tables by label
Part = str | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]]


class Shown(NamedTuple):
    """What a command found, for each of its forms."""

    rows: Sequence[Mapping[str, Any]]        # of values, for CSV
    parts: Sequence[Part] = ()               # as people read it; (): the rows
    record: Any = None                       # for programs; None: the rows
    documented: Sequence[Part] = ()          # in Markdown; (): the parts


class Form(Flag):
    """What a report is written as."""

    SCREEN = auto()
    PAGE = auto()              # and Markdown
    CSV = auto()
    LATEX = auto()


READ = Form.SCREEN | Form.PAGE
EVERY = "*"                    # the part of columns that stand in every part


class Word(str):
    """A verdict as people read it, perhaps with details; mood: its colour on a page, good, bad, open or none."""

    mood: str

    def __new__(cls, text: str, mood: str) -> "Word":
        """The text in that mood."""
        word = super().__new__(cls, text)
        word.mood = mood
        return word


class Column(NamedTuple, Generic[T]):
    """A column of a table whose lines are about a T each."""

    title: str
    value: Callable[[T], Any]                    # None: not measured; "": nothing to say
    text: Callable[[Any], str] = str             # how people read what is no text yet
    forms: Form = READ
    name: str = ""                               # in the CSV, where it is not the title
    part: str = ""                               # which table of its kind has it; EVERY: all of them
    is_number: bool = False                      # stands at the right of its column in LaTeX

    def shown(self, value: Any, form: Form) -> str:
        """A value as text, in a form that people read."""
        if value is None:
            return "-" if form is Form.SCREEN else ""
        return value if isinstance(value, str) else self.text(value)


def of(columns: Sequence[Column[T]], form: Form) -> list[Column[T]]:
    """The columns that a form has."""
    return [column for column in columns if form in column.forms]


Texts = tuple[str, ...]
Groups = tuple[tuple[str, tuple[T, ...]], ...]     # lines by what they have in common, "" where that is nothing


class Table(NamedTuple, Generic[T]):
    """A table of a report, for all of its forms."""

    caption: str
    columns: tuple[Column[T], ...]
    groups: Groups[T]
    note: str = ""
    is_extra: bool = False       # for who wants to know more: folded away where that can be
    tally: str = ""              # what its lines come to, where the terminal says that beside the caption
    has_empty: bool = False      # whether columns stay that no line has anything for

    def written(self, form: Form) -> tuple[Texts, Groups[Texts]]:
        """Titles, and lines with a text for each, as a form has them that people read; without empty columns."""
        columns = of(self.columns, form)
        values = [(label, [[column.value(line) for column in columns] for line in lines])
                  for label, lines in self.groups]
        kept = [(index, column) for index, column in enumerate(columns) if self.has_empty or any(
            line[index] not in (None, "") for _, lines in values for line in lines)]
        return tuple(column.title for _, column in kept), tuple(
            (label, tuple(tuple(column.shown(line[index], form) for index, column in kept) for line in lines))
            for label, lines in values)


def table(caption: str, columns: Sequence[Column[T]], groups: Mapping[str, Sequence[T]], note: str = "",
          is_extra: bool = False, tally: str = "") -> list[Table[T]]:
    """A table with a group a label; none without lines."""
    filled = tuple((label, tuple(lines)) for label, lines in groups.items() if lines)
    return [Table(caption, tuple(columns), filled, note, is_extra, tally)] if filled else []


def plain(caption: str, titles: Sequence[str], lines: Sequence[Texts], note: str = "", is_extra: bool = False,
          ) -> list[Table[Texts]]:
    """A table of texts without groups, with all of its columns; none without lines."""
    return [each._replace(has_empty=True) for each in table(caption, texts(*titles), {"": lines}, note, is_extra)]


def texts(*titles: str, on_page_alone: str = "") -> tuple[Column[Any], ...]:
    """Columns of lines that are texts."""
    return tuple(Column(title, itemgetter(index), forms=Form.PAGE if title == on_page_alone else READ)
                 for index, title in enumerate(titles))
