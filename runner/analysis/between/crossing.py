"""From which value of a setting on one column is faster than another: a search by the sign of their ratio. Pure.

Both ends are measured first. Where one column is shown to be the faster at one end and the other at the other, the gap
between what is shown is halved. How many values that takes at most follows from the ends alone, so each interval allows
for all of them (stats.error_of).
"""

import math
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from typing import NamedTuple

from runner import formatting
from runner.analysis import doubts, stats
from runner.analysis.paired import Paired
from runner.analysis.stats import Verdict
from runner.cells import comparison_key
from runner.errors import InputError
from runner.results.rows import Measurements
from workloads.spec.cell import Cell

_SIGNS = {Verdict.FASTER: 1, Verdict.SLOWER: -1}


class Swept(NamedTuple):
    """What was measured of two columns, by the setting's value."""

    name: str                    # of the setting
    low: int
    high: int
    points: Mapping[int, Paired]

    def sign(self, value: int) -> int:
        """1 where the second column is shown to be faster there, -1 where slower, else 0."""
        return _SIGNS.get(self.points[value].verdict, 0) if value in self.points else 0

    @property
    def crosses(self) -> bool:
        """Whether each column is shown to be the faster at one end."""
        return self.sign(self.low) * self.sign(self.high) < 0

    @property
    def between(self) -> tuple[int, int]:
        """The values, as near as they are known, at which the ends' columns are still and already the faster."""
        above = min(value for value in self.points if self.sign(value) == self.sign(self.high))
        return max(value for value in self.points if value < above and self.sign(value) == self.sign(self.low)), above

    @property
    def crossing(self) -> int:
        """From which value on the other column is faster, where its ratio, as measured, passes 1."""
        below, above = self.between
        ratios = {value: paired.ratio.value for value, paired in sorted(self.points.items())
                  if below <= value <= above and paired.ratio.value}
        for (one, before), (other, after) in pairwise(ratios.items()):
            if (before < 1) != (after < 1):
                share = math.log(before) / (math.log(before) - math.log(after))
                return max(below + 1, min(above, math.ceil(one + share * (other - one))))
        return above

    @property
    def wanted(self) -> int | None:
        """The value to be measured next; None where nothing more would be learned."""
        if ends := [value for value in (self.low, self.high) if value not in self.points]:
            return ends[0]
        if not self.crosses or len(self.points) >= most(self.low, self.high):
            return None
        below, above = self.between
        inside = [value for value in sorted(self.points) if below <= value <= above]
        one, other = max((inside[:2], inside[-2:]), key=lambda gap: gap[1] - gap[0])
        return (one + other) // 2 if other - one > 1 else None


def most(low: int, high: int) -> int:
    """How many values are measured at most: both ends, and as many as halving down to neighbours takes."""
    return 2 + math.ceil(math.log2(high - low))


def check(cells: Collection[Cell]) -> None:
    """Raise InputError where cells are not one comparison of two columns."""
    compared = {comparison_key(cell) for cell in cells}
    if len(compared) != 1 or len(cells) != 2:
        names = dict.fromkeys(cell.stack for cell in cells)
        raise InputError(f"--sweep: found {formatting.count(len(compared), 'comparison')} of {' and '.join(names)}, "
                         "expected one of two columns: --stack, --lane, --set measure=train and one value of each "
                         "other setting choose")


def paired(measured: Measurements, low: int, high: int) -> Paired:
    """The session's other column against its baseline. Raises InputError where there are not two."""
    check([row.cell for row in measured.rows])
    base, other = sorted(measured.rows, key=lambda row: row.cell.stack != measured.baseline)
    return Paired.of(other, base, stats.error_of(most(low, high)), doubts.of(measured))


def search(name: str, low: int, high: int, measure: Callable[[int], Paired | None]) -> Swept:
    """Measure both ends, then what lies between them, until the crossing is known or measure() has no time left."""
    swept = Swept(name, low, high, {})
    while (value := swept.wanted) is not None:
        if (found := measure(value)) is None:
            break
        swept = swept._replace(points={**swept.points, value: found})
    return swept
