"""Where the seconds of single steps lie: a table. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from runner.report.comparisons import thousandths
from runner.report.tables import Column, Table, table
from runner.results.rows import Row
from runner.results.values import Samples
from workloads.spec.duration import RATED

_PERCENTILES = (0, 5, 25, 50, 75, 95, 100)
_LEAST = 8                     # samples of a cell; fewer have no percentiles worth showing


class _Spread(NamedTuple):
    row: Row
    steps: int
    ends: tuple[float, ...]    # seconds at the percentiles


Spreads = Sequence[tuple[str, Sequence[_Spread]]]      # a comparison's label, and each of its stacks


_COLUMNS: tuple[Column[_Spread], ...] = (
    Column("stack", lambda spread: spread.row.cell.stack),
    Column("runs", lambda spread: len(spread.row.ok_runs)),
    Column("steps", lambda spread: spread.steps, "{:,}".format),
    *(Column(title, lambda spread, index=index: spread.ends[index], thousandths)  # type: ignore[misc]
      for index, title in enumerate(("least", "5 %", "25 %", "median", "75 %", "95 %", "most"))),
)


def tables(spreads: Spreads) -> Iterator[Table[_Spread]]:
    """A line a stack."""
    yield from table("Samples: milliseconds of single steps over all runs that ended ok", _COLUMNS, dict(spreads),
                     is_extra=True)


def spreads(rows: Sequence[Row], series: Mapping[str, int]) -> Spreads:
    """The spreads of each comparison's stacks, in the order of the stacks' signs.

    Cells whose steps were not waited for one by one are left out: they have one sample a run.
    """
    groups: dict[str, list[_Spread]] = {}
    for row in rows:
        if row.cell.measure in RATED and row.cell.sync == "each":
            seconds = [run.step_seconds for run in row.ok_runs]
            count = sum(map(len, seconds))
            if count >= _LEAST:
                spread = _Spread(row, count, _percentiles(np.concatenate(seconds)))
                groups.setdefault(row.comparison.key, []).append(spread)
    return [(each[0].row.comparison.label, sorted(each, key=lambda spread: series.get(spread.row.cell.stack, 0)))
            for each in groups.values()]


def _percentiles(seconds: Samples) -> tuple[float, ...]:
    """The values at _PERCENTILES, equal to numpy.percentile's and ten times as fast."""
    ordered = np.sort(seconds)
    positions = np.array(_PERCENTILES) / 100 * (len(ordered) - 1)
    return tuple(np.interp(positions, np.arange(len(ordered)), ordered).tolist())
