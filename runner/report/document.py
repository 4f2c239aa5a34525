"""The parts of a report in every form: plain values that its writers escape. Pure."""

from typing import NamedTuple

Lines = tuple[tuple[str, ...], ...]


class Group(NamedTuple):
    """Lines of a table that belong together."""

    label: str                   # "" for a table that has no groups
    lines: Lines


class Table(NamedTuple):
    """A table; every line has a text for each column."""

    caption: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    note: str = ""
    is_extra: bool = False       # for who wants to know more: folded away where that can be

    @property
    def lines(self) -> Lines:
        """The lines of all groups."""
        return tuple(line for group in self.groups for line in group.lines)


def plain(caption: str, columns: tuple[str, ...], lines: Lines, note: str = "", is_extra: bool = False) -> Table:
    """A table without groups."""
    return Table(caption, columns, (Group("", lines),), note, is_extra)


class Mark(NamedTuple):
    """A value on a line of its own, with an interval where there is one."""

    name: str
    series: int                  # which sign and colour it has
    value: float
    low: float | None
    high: float | None
    text: str                    # the value in words


class Box(NamedTuple):
    """The percentiles of a stack's samples."""

    name: str
    series: int
    ends: tuple[float, float, float, float, float]     # percentiles 5, 25, 50, 75, 95


class Bar(NamedTuple):
    """Parts that add up."""

    name: str
    parts: tuple[tuple[str, float], ...]
    text: str                    # the sum in words


class Curve(NamedTuple):
    """Values over a number, with a band where there are several."""

    name: str
    series: int
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


class Dots(NamedTuple):
    """A chart of marks by group."""

    caption: str
    axis: str
    groups: tuple[tuple[str, tuple[Mark, ...]], ...]
    reference: float | None = None       # a value that all others are read against


class Boxes(NamedTuple):
    """A chart of boxes by group."""

    caption: str
    axis: str
    groups: tuple[tuple[str, tuple[Box, ...]], ...]


class Bars(NamedTuple):
    """A chart of bars by group."""

    caption: str
    axis: str
    groups: tuple[tuple[str, tuple[Bar, ...]], ...]


class Curves(NamedTuple):
    """A chart of curves."""

    caption: str
    x_axis: str
    y_axis: str
    curves: tuple[Curve, ...]
    is_zero_based: bool = True
    is_logarithmic: bool = False         # the values; one that is zero is not drawn


class Line(NamedTuple):
    """Points that are joined."""

    x: tuple[float, ...]
    y: tuple[float, ...]


class Strip(NamedTuple):
    """The steps of one stack over time, on scales of its own; x in seconds, y in milliseconds."""

    name: str
    series: int
    runs: tuple[Line, ...]
    median: Line                 # over the runs
    warmup: float                # seconds at which the timed steps begin
    top: float                   # of the scale; what is higher is cut off there and marked
    first: str                   # the first step in words where it is cut off, else ""
    text: str                    # seconds of a timed step in words, as the tables have them


class Strips(NamedTuple):
    """A chart of steps over time, a strip a stack."""

    caption: str
    x_axis: str
    y_axis: str
    strips: tuple[Strip, ...]


Chart = Dots | Boxes | Bars | Curves | Strips


class Deviation(NamedTuple):
    """What is not as in the study, or what to mistrust."""

    what: str
    text: str


class Section(NamedTuple):
    """An experiment of the study."""

    id: str
    title: str
    notes: tuple[str, ...]
    assumed: tuple[tuple[str, str], ...]
    charts: tuple[Chart, ...]
    tables: tuple[Table, ...]


class Report(NamedTuple):
    """All of it, from top to bottom."""

    name: str                    # of the result
    title: str
    machine: str
    began: str
    command: str
    reading: str                 # what its verdicts mean and what not
    deviations: tuple[Deviation, ...]
    in_short: tuple[str, ...]
    claims: tuple[Table, ...]
    sections: tuple[Section, ...]
    environment: tuple[Table, ...]
    left_out: tuple[Table, ...]  # skipped cells and runs that did not end ok
    footnotes: tuple[tuple[str, str], ...]     # number and text
    methods: tuple[tuple[str, str], ...]
    made_by: str
