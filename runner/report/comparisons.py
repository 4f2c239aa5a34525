"""What the parts of a section share: the comparisons, and how many of them a chart shows. Pure."""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, TypeVar

from runner import formatting
from runner.analysis.summary_format import Comparison, Result, Summary
from runner.report.document import Block
from runner.results.rows import Measurements

T = TypeVar("T")
MOST_GROUPS, _MOST_MARKS = 16, 60      # in a chart; its table has all
# what a paper compares in one panel, each with a curve of its own: PT-profiling, TF mode 1, SGD
SWITCHES = ("conv", "lstm", "graph_opt", "precision", "optimizer", "loop", "parallel")


class Context(NamedTuple):
    """What all sections share."""

    summary: Summary
    measured: Measurements
    series: Mapping[str, int]    # a stack's sign
    blocks: Mapping[str, Block]  # of the answer, by the comparison's key


class Shown(NamedTuple):
    """A comparison, or the part of it that an experiment has."""

    comparison: Comparison
    results: tuple[Result, ...]

    @classmethod
    def of(cls, comparison: Comparison, keys: Set[str]) -> "Shown":
        """The part whose cells have those keys."""
        return cls(comparison, tuple(result for result in comparison.results if result.key in keys))

    @property
    def label(self) -> str:
        """What is compared."""
        return self.comparison.label


def fitting(groups: Sequence[tuple[str, tuple[T, ...]]]) -> tuple[tuple[str, tuple[T, ...]], ...]:
    """The first groups, as many as a chart holds."""
    kept: list[tuple[str, tuple[T, ...]]] = []
    for group in groups[:MOST_GROUPS]:
        if kept and sum(len(marks) for _, marks in kept) + len(group[1]) > _MOST_MARKS:
            break
        kept.append(group)
    return tuple(kept)


def cut(kept: int, all_of_them: int) -> str:
    """What a caption says of groups that did not fit."""
    return f" (the first {kept} of {all_of_them:,}; the table has all)" if kept < all_of_them else ""


def thousandths(seconds: float | None) -> str:
    """Milliseconds without their unit; "" for None."""
    return "" if seconds is None else formatting.number(seconds * 1000)
