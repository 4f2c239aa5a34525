"""What the parts of a section share: the session, groups, and how many of them a chart shows. Pure."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis.summary_format import Summary
from runner.report.document import Block, Chart
from runner.results.rows import Measurements

MOST_GROUPS, _MOST_MARKS = 16, 60      # in a chart; its table has all
# what a paper compares in one panel, each with a curve of its own: PT-profiling, TF mode 1, SGD
SWITCHES = ("conv", "lstm", "graph_opt", "precision", "optimizer", "loop", "parallel")


class Context(NamedTuple):
    """What all sections share."""

    summary: Summary
    measured: Measurements
    series: Mapping[str, int]    # a stack's sign
    blocks: Mapping[str, Block]  # of the answer, by the comparison's key


def fitted(kind: Callable[..., Chart], caption: str, axis: str, groups: Iterable[tuple[str, tuple[Any, ...]]],
           **more: Any) -> list[Chart]:
    """A chart of the first groups that have marks, as many as it holds; none of none."""
    marked = [group for group in groups if group[1]]
    counts = itertools.accumulate(len(marks) for _, marks in marked)
    kept = [group for index, (group, count) in enumerate(zip(marked, counts, strict=True))
            if not index or (index < MOST_GROUPS and count <= _MOST_MARKS)]
    cut = f" (the first {len(kept)} of {len(marked):,}; the table has all)" if len(kept) < len(marked) else ""
    return [kind(caption + cut, axis, tuple(kept), **more)] if kept else []


def thousandths(seconds: float) -> str:
    """Milliseconds without their unit."""
    return formatting.number(seconds * 1000)
