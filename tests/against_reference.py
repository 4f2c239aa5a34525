"""Whether short sessions say what a long one says: python -m tests.against_reference REFERENCE SESSION...

Prints the table of docs/measurements.md: of each ratio the reference's, each session's interval, whether that holds the
reference's ratio, and each word. A word is taken back where the reference's interval lies on the other side of 1.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

from runner import formatting
from runner.analysis.stats import Interval, Verdict
from runner.analysis.summary import summarise
from runner.analysis.summary_format import Result
from runner.results import store

WORDS = (Verdict.FASTER, Verdict.SLOWER)


class Beside(NamedTuple):
    """One ratio of a short session and of the reference."""

    label: str
    short: Result
    long: Result

    @property
    def is_held(self) -> bool:
        """Whether the short session's interval contains the long one's ratio."""
        ends = self.short.ratio_interval
        return ends is not None and self.long.ratio is not None and ends.low <= self.long.ratio <= ends.high

    @property
    def agrees(self) -> bool:
        """Whether both intervals have a common point: the reference is not exact either."""
        ends, others = self.short.ratio_interval, self.long.ratio_interval
        return ends is not None and others is not None and ends.low <= others.high and others.low <= ends.high

    @property
    def is_taken_back(self) -> bool:
        """Whether the short session's word is what the reference's interval excludes."""
        ends: Interval | None = self.long.ratio_interval
        if self.short.verdict not in WORDS or ends is None:
            return False
        return ends.high < 1 if self.short.verdict is Verdict.FASTER else ends.low > 1


def results(folder: Path) -> dict[tuple[str, str], Result]:
    """Of a session, by comparison and stack, the baseline's left out."""
    summary = summarise(store.read(folder))
    return {(each.label, result.stack): result for each in summary.comparisons for result in each.results
            if result.stack != summary.baseline}


def beside(reference: Path, sessions: list[Path]) -> dict[tuple[str, str], list[Beside]]:
    """Each session's results beside the reference's."""
    long = results(reference)
    short = [results(session) for session in sessions]
    return {key: [Beside(key[0], each[key], long[key]) for each in short if key in each] for key in long}


def lines(reference: Path, sessions: list[Path]) -> Iterator[str]:
    """The table."""
    table = beside(reference, sessions)
    yield "| comparison, stack | reference | sessions: interval, word |"
    yield "|---|---|---|"
    for (label, stack), row in table.items():
        if row:
            long = row[0].long
            yield (f"| {label}, {stack} | {_ratio(long)} {long.verdict.value} | "
                   + "; ".join(f"{_ratio(each.short)}{'' if each.is_held else ' **misses**'} {_word(each.short)}"
                               for each in row) + " |")
    every = [each for row in table.values() for each in row]
    yield ""
    yield (f"{sum(each.is_held for each in every)} of {len(every)} intervals contain the reference's ratio "
           f"({sum(map(_expected, table.values())):.1f} expected), "
           f"{sum(each.agrees for each in every)} meet its interval; "
           f"{sum(each.short.verdict is Verdict.NOT_STEADY for each in every)} not steady, "
           f"{sum(each.is_taken_back for each in every)} words taken back.")


def expected(short: Sequence[float], long: float) -> float:
    """How many of a ratio's intervals contain the reference's if all are right, by their half-widths in logarithms.

    19 of 20 where the reference is exact (long is 0), and fewer the wider its own interval is: the two errors add up.
    Both are taken as normal, the sessions' with the root mean square of their half-widths.
    """
    ratio = long / math.sqrt(math.fsum(width**2 for width in short) / len(short))
    normal = NormalDist()
    return len(short) * (2 * normal.cdf(normal.inv_cdf(0.975) / math.hypot(1.0, ratio)) - 1)


def _expected(row: Sequence[Beside]) -> float:
    short = [_half_width(each.short.ratio_interval) for each in row if each.short.ratio_interval]
    return expected(short, _half_width(row[0].long.ratio_interval)) if short and row[0].long.ratio_interval else 0.0


def _half_width(interval: Interval) -> float:
    return math.log(interval.high / interval.low) / 2


def _ratio(result: Result) -> str:
    return "-" if result.ratio is None else formatting.ratio(result.ratio, result.ratio_interval)


def _word(result: Result) -> str:
    return result.withheld or result.verdict.value


if __name__ == "__main__":
    for line in lines(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]):
        print(line)
