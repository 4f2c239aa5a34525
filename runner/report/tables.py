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

    __slots__ = ("mood",)
    mood: str

    def __new__(cls, text: str, mood: str) -> "Word":
        """The text in that mood."""
        word = super().__new__(cls, text)
        word.mood = mood
        return word

    def __str__(self) -> "Word":
        """Itself, so that a column that writes its values by str keeps the mood."""
        return self


class Column(NamedTuple, Generic[T]):
    """A column of a table whose lines are about a T each."""

    title: str
    value: Callable[[T], Any]                    # None: not measured; "": nothing to say
    text: Callable[[Any], str] = str             # how people read it
    forms: Form = READ
    name: str = ""                               # in the CSV, where it is not the title
    part: str = ""                               # which table of its kind has it; EVERY: all of them
    is_number: bool = False                      # stands at the right of its column in LaTeX

    def shown(self, line: T, form: Form) -> str:
        """The text of a line in a form that people read."""
        return self.written(self.value(line), form)

    def written(self, value: Any, form: Form) -> str:
        """The value as text."""
        if value is None:
            return "-" if form is Form.SCREEN else ""
        return self.text(value) if value != "" else ""


def of(columns: Sequence[Column[T]], form: Form) -> list[Column[T]]:
    """The columns that a form has."""
    return [column for column in columns if form in column.forms]


class Group(NamedTuple, Generic[T]):
    """Lines of a table that belong together."""

    label: str                   # "" for a table that has no groups
    lines: tuple[T, ...]


Texts = tuple[str, ...]


class Written(NamedTuple):
    """A table as a form has it: titles, and lines with a text for each of them."""

    titles: Texts
    groups: tuple[Group[Texts], ...]

    @property
    def lines(self) -> tuple[Texts, ...]:
        """The lines of all groups."""
        return tuple(line for group in self.groups for line in group.lines)


class Table(NamedTuple, Generic[T]):
    """A table of a report, for all of its forms."""

    caption: str
    columns: tuple[Column[T], ...]
    groups: tuple[Group[T], ...]
    note: str = ""
    is_extra: bool = False       # for who wants to know more: folded away where that can be
    tally: str = ""              # what its lines come to, where the terminal says that beside the caption
    has_empty: bool = False      # whether columns stay that no line has anything for

    @property
    def lines(self) -> tuple[T, ...]:
        """The lines of all groups."""
        return tuple(line for group in self.groups for line in group.lines)

    def written(self, form: Form) -> Written:
        """The table in a form that people read, without empty columns."""
        columns = of(self.columns, form)
        values = [[[column.value(line) for column in columns] for line in group.lines] for group in self.groups]
        kept = [(index, column) for index, column in enumerate(columns) if self.has_empty or any(
            line[index] not in (None, "") for lines in values for line in lines)]
        return Written(tuple(column.title for _, column in kept), tuple(
            Group(group.label, tuple(tuple(column.written(line[index], form) for index, column in kept)
                                     for line in lines))
            for group, lines in zip(self.groups, values, strict=True)))


def table(caption: str, columns: Sequence[Column[T]], groups: Mapping[str, Sequence[T]], note: str = "",
          is_extra: bool = False, tally: str = "") -> list[Table[T]]:
    """A table with a group a label; none without lines."""
    filled = tuple(Group(label, tuple(lines)) for label, lines in groups.items() if lines)
    return [Table(caption, tuple(columns), filled, note, is_extra, tally)] if filled else []


def plain(caption: str, titles: Sequence[str], lines: Sequence[Texts], note: str = "", is_extra: bool = False,
          ) -> list[Table[Texts]]:
    """A table of texts without groups, with all of its columns; none without lines."""
    return [each._replace(has_empty=True) for each in table(caption, texts(*titles), {"": lines}, note, is_extra)]


def texts(*titles: str, on_page_alone: str = "") -> tuple[Column[Any], ...]:
    """Columns of lines that are texts."""
    return tuple(Column(title, itemgetter(index), forms=Form.PAGE if title == on_page_alone else READ)
                 for index, title in enumerate(titles))
