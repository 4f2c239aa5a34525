"""The parts of a report in every form: values, which its writers escape, charts, and stacks' standings. Pure."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis.stats import Interval, Verdict
from runner.analysis.summary_format import Comparison, Result, Summary
from runner.report.tables import Groups, Table

MOST_GROUPS, _MOST_MARKS = 16, 60      # in a chart; its table has all


class Mark(NamedTuple):
    """A value on a line of its own, drawn as a sign or a bar, with an interval where there is one."""

    name: str
    series: int                  # which sign and colour it has
    value: float
    text: str                    # the value in words
    ends: Interval | None = None
    is_hollow: bool = False      # its bar is a frame alone: a paper's, beside ours
    dots: tuple[float, ...] = () # values that it is the mean of
    parts: tuple[tuple[str, float], ...] = ()       # that add up to it, and make up its bar


class Curve(NamedTuple):
    """Values over a number, with a band where there are several."""

    name: str
    series: int
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    @classmethod
    def of(cls, name: str, series: int, points: Sequence[tuple[float, float, Interval | None]], scale: float = 1.0
           ) -> "Curve":
        """The curve of points (x, y, interval), y times the scale, with a band where all have an interval."""
        ends = [end for *_, end in points if end]
        band = [(end.low * scale, end.high * scale) for end in ends] if len(ends) == len(points) else []
        return cls(name, series, tuple(x for x, *_ in points), tuple(y * scale for _, y, _ in points),
                   tuple(low for low, _ in band), tuple(high for _, high in band))


class Dots(NamedTuple):
    """A chart of marks by group."""

    caption: str
    axis: str
    groups: tuple[tuple[str, tuple[Mark, ...]], ...]
    reference: float | None = None       # a value that all others are read against
    is_bars: bool = False                # from zero to each value, in place of signs


class Curves(NamedTuple):
    """A chart of curves."""

    caption: str
    x_axis: str
    y_axis: str
    curves: tuple[Curve, ...]
    is_zero_based: bool = True
    is_logarithmic: bool = False         # the values; one that is zero is not drawn


class Polyline(NamedTuple):
    """Points that are joined."""

    x: tuple[float, ...]
    y: tuple[float, ...]


class Strip(NamedTuple):
    """The steps of one stack over time, on scales of its own; x in seconds, y in milliseconds."""

    name: str
    series: int
    runs: tuple[Polyline, ...]
    median: Polyline               # over the runs
    warmup: float                # seconds at which the timed steps begin
    top: float                   # of the scale; what is higher is cut off there and marked
    first: str                   # the first step in words where it is cut off, else ""
    text: str                    # seconds of a timed step in words, as the tables have them
    disturbed: tuple[tuple[float, float], ...] = ()    # from when to when turns of the runs were


class Strips(NamedTuple):
    """A chart of steps over time, a strip a stack."""

    caption: str
    strips: tuple[Strip, ...]


Chart = Dots | Curves | Strips


def fitted(caption: str, axis: str, groups: Iterable[tuple[str, tuple[Mark, ...]]], **more: Any) -> list[Dots]:
    """A chart of the first groups that have marks, as many as it holds; none of none."""
    marked = [group for group in groups if group[1]]
    counts = accumulate(len(marks) for _, marks in marked)
    kept = [group for index, (group, count) in enumerate(zip(marked, counts, strict=True))
            if not index or (index < MOST_GROUPS and count <= _MOST_MARKS)]
    cut = f" (the first {len(kept)} of {len(marked):,}; the table has all)" if len(kept) < len(marked) else ""
    return [Dots(caption + cut, axis, tuple(kept), **more)] if kept else []


Named = tuple[str, str]          # what a text is about, and the text


class Section(NamedTuple):
    """An experiment of the study."""

    id: str
    title: str
    notes: tuple[str, ...] = ()
    assumed: tuple[Named, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table[Any], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show of it."""
        return not self.charts and not self.tables


class Standing(NamedTuple):
    """A stack in a comparison, and the summary that they are in."""

    summary: Summary
    comparison: Comparison
    result: Result

    @property
    def stack(self) -> str:
        """Its name."""
        return self.result.stack

    @property
    def rate(self) -> float | None:
        """In the unit of its comparison; None without a run that ended ok."""
        return self.result.rate_per_worker

    @property
    def ratio(self) -> float | None:
        """To the baseline, whose own is 1; None without a common round."""
        return 1.0 if self._is_baseline() else self.result.ratio

    @property
    def ratio_texts(self) -> tuple[str, str]:
        """The ratio and its interval as people read them; "" for what there is not."""
        if self.result.ratio is None or self._is_baseline():
            return "1" if self._is_baseline() else "", ""
        return formatting.ratio_and_ends(self.result.ratio, self.result.ratio_interval)

    @property
    def is_fastest(self) -> bool:
        """Whether it is faster than every other stack that ran."""
        return self.stack == self.comparison.winner

    @property
    def version(self) -> str:
        """Of its framework, and how its steps ran, as its users say: "2.13.0 eager"; "" without a rate."""
        column = next((each for each in self.summary.columns if each.stack == self.stack), None)
        if column is None or self.rate is None:
            return ""
        way = "jit" if (column.framework, self.result.ran_as) == ("jax", "xla") else self.result.ran_as
        return " ".join(filter(None, [(column.version or "").partition("+")[0], way]))

    def _is_baseline(self) -> bool:
        return self.result.verdict is Verdict.BASELINE and self.rate is not None


class Trust(NamedTuple):
    """A reason to trust the answer, or not to."""

    name: str
    text: str
    is_good: bool


class Answer(NamedTuple):
    """Which stack is the fastest, by how much, and why to trust it."""

    verdict: str                 # in a sentence
    facts: tuple[str, ...]       # machine, day, study and rounds
    baseline: str
    blocks: Groups[Standing]         # a comparison each, its stacks by speed
    trust: tuple[Trust, ...]     # models, turns, isolation, data, and files where some changed
    notes: tuple[str, ...]       # what else to know, the most important first, in a few words each
    missing: str                 # what an incomplete session still has to measure; ""
    failed: int                  # runs that did not end ok
    left_out: int                # cells that were not to run
    hints: tuple[str, ...]       # commands for more

    @property
    def stacks(self) -> tuple[str, ...]:
        """Each stack with its version and its ways of running: "tf-2.21 2.21.0 tf.function"."""
        ways: dict[str, dict[str, None]] = {}
        for standing in (each for _, standings in self.blocks for each in standings if each.version):
            ways.setdefault(standing.stack, {})[standing.version] = None
        return tuple(f"{stack} {' / '.join(versions)}" for stack, versions in ways.items())


class Report(NamedTuple):
    """All of it, from top to bottom."""

    name: str                    # of the result
    title: str
    machine: str
    began: str
    command: str
    reading: str                 # what its verdicts mean and what not
    made_by: str
    in_short: tuple[str, ...]
    sections: tuple[Section, ...]
    deviations: tuple[Named, ...] = ()         # what is not as in the study, or what to mistrust
    claims: tuple[Table[Any], ...] = ()
    environment: tuple[Table[Any], ...] = ()
    left_out: tuple[Table[Any], ...] = ()      # what has no result
    footnotes: tuple[Named, ...] = ()          # by "[number]"
    methods: tuple[Named, ...] = ()
    answer: Answer | None = None               # of one session
    ratios: tuple[Chart, ...] = ()             # of all comparisons
    matrix: tuple[Table[Any], ...] = ()        # of all comparisons, where they are many
    # of all experiments as one, for the terminal, the CSV and LaTeX, which have no sections
    results: Table[Standing] = Table("", (), ())    # a line a stack and comparison
    details: tuple[Table[Any], ...] = ()       # published numbers, what was measured beside rates, breakdowns
    limits: tuple[str, ...] = ()               # what shares of the machine are shares of
    guide: str = ""                            # how rates, ratios and verdicts are read
