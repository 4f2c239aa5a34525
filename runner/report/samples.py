"""Where the seconds of single steps lie: a chart and a table. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from runner.cell import comparison_key, label
from runner.report.parts import Box, Boxes, Chart, Group, Table
from runner.report.shown import cut, fitting, thousandths
from runner.rows import Row

_PERCENTILES = (0, 5, 25, 50, 75, 95, 100)
_LEAST = 8                     # samples of a cell; fewer have no percentiles worth showing


class _Spread(NamedTuple):
    row: Row
    steps: int
    ends: tuple[float, ...]    # seconds at the percentiles


def charts(rows: Sequence[Row], series: Mapping[str, int]) -> Iterator[Chart]:
    """Boxes by comparison."""
    groups = [(name, tuple(_box(spread, series) for spread in spreads)) for name, spreads in _groups(rows, series)]
    kept = fitting(groups)
    if kept:
        yield Boxes("Seconds of single steps: the median, the middle half (box) and nine tenths (line) of all runs' "
                    "samples" + cut(len(kept), len(groups)), "milliseconds a step", kept)


def _box(spread: _Spread, series: Mapping[str, int]) -> Box:
    low, first, middle, third, high = (1000 * end for end in spread.ends[1:-1])
    return Box(spread.row.cell.stack, series.get(spread.row.cell.stack, 0), (low, first, middle, third, high))


def tables(rows: Sequence[Row], series: Mapping[str, int]) -> Iterator[Table]:
    """A line a stack."""
    groups = tuple(Group(name, tuple((spread.row.cell.stack, str(len(spread.row.ok_runs)), f"{spread.steps:,}",
                                      *(thousandths(end) for end in spread.ends)) for spread in spreads))
                   for name, spreads in _groups(rows, series))
    if groups:
        yield Table("Samples: milliseconds of single steps over all runs that ended ok",
                    ("stack", "runs", "steps", "least", "5 %", "25 %", "median", "75 %", "95 %", "most"), groups,
                    is_extra=True)


def _groups(rows: Sequence[Row], series: Mapping[str, int]) -> list[tuple[str, list[_Spread]]]:
    """By comparison; the stacks in the order of their signs; only of cells whose every step was waited for, since others have one sample a run."""
    found: dict[str, tuple[str, list[_Spread]]] = {}
    for row in rows:
        if row.cell.measure in ("train", "infer") and row.cell.sync == "each":
            seconds = [run.step_seconds for run in row.ok_runs]
            count = sum(map(len, seconds))
            if count >= _LEAST:
                ends = np.percentile(np.concatenate(seconds), _PERCENTILES)
                spread = _Spread(row, count, tuple(float(end) for end in ends))
                found.setdefault(comparison_key(row.cell), (label(row.cell), []))[1].append(spread)
    return [(name, sorted(spreads, key=lambda spread: series.get(spread.row.cell.stack, 0)))
            for name, spreads in found.values()]
