"""The parts of a report in every form: plain values that its writers escape. Pure."""

from typing import Any, NamedTuple

from runner.report.tables import Table


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
    tables: tuple[Table[Any], ...]


class Overall(NamedTuple):
    """All experiments as one: for the terminal, the CSV and LaTeX, which have no sections."""

    about: str = ""              # study, rounds, launcher and data
    own_stacks: str = ""         # what the user's own stacks hold, which their names do not say
    is_complete: bool = True
    stacks: tuple[str, ...] = ()                       # that were planned, the baseline first
    results: Table[Any] = Table("", (), ())            # of columns.Line: a line a stack and comparison
    beside: tuple[Table[Any], ...] = ()                # what was measured beside the rates
    limits: tuple[str, ...] = ()                       # what shares of the machine are shares of
    breakdown: tuple[Table[Any], ...] = ()             # where time and memory go
    published: tuple[Table[Any], ...] = ()             # the study's numbers beside ours
    means: tuple[str, ...] = ()
    far_runs: tuple[Table[Any], ...] = ()              # of left_out.FarRuns
    commands: tuple[tuple[str, str, str], ...] = ()    # label, stack, what measures it again
    guide: str = ""              # how rates, ratios and verdicts are read


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
    claims: tuple[Table[Any], ...]
    sections: tuple[Section, ...]
    environment: tuple[Table[Any], ...]
    failed: tuple[Table[Any], ...]             # of left_out.FailedRuns
    skipped: tuple[Table[Any], ...]            # of left_out.SkippedCells
    footnotes: tuple[tuple[str, str], ...]     # number and text
    methods: tuple[tuple[str, str], ...]
    made_by: str
    overall: Overall = Overall()

    @property
    def left_out(self) -> tuple[Table[Any], ...]:
        """What has no result."""
        return (*self.failed, *self.skipped)
