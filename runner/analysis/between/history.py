"""Many sessions over time: each cell's ratio to the baseline of its own session, and where it moved. Pure.

A raw rate holds whatever the machine did that day; a ratio to a baseline of the same rounds does not. A step is a ratio
that differs from the one before it by more than both sessions' noise: the interval of their quotient (stats.between),
which allows for all neighbours of the whole history, excludes 1. So nineteen of twenty histories of sessions that
differ in nothing have no step. Beside it stands what was recorded around the two and differed, such as the kernel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from runner.analysis import doubts, stats
from runner.analysis.between import comparing
from runner.analysis.between.comparing import Compared, Difference, plain
from runner.analysis.stats import Ratio
from runner.cells import comparisons
from runner.grouping import grouped
from runner.results.rows import Measurements


class Session(NamedTuple):
    """One that was measured."""

    id: str
    began: str


class Point(NamedTuple):
    """A cell in one session."""

    session: str
    began: str
    ratio: Ratio                     # to the baseline in the same rounds
    rate: float                      # of one worker, the geometric mean over runs
    unit: str


class Step(NamedTuple):
    """A ratio that moved from one session to the next."""

    before: str                      # the sessions
    after: str
    change: Ratio                    # the later ratio over the earlier one
    differences: tuple[Difference, ...]      # of what was recorded around them


class Course(NamedTuple):
    """A cell over time."""

    label: str
    stack: str
    baseline: str
    points: tuple[Point, ...]
    steps: tuple[Step, ...]


class History(NamedTuple):
    """All cells that at least two sessions measured beside a baseline."""

    sessions: tuple[Session, ...]            # in order
    neighbours: int                          # pairs of sessions' ratios that were held against each other
    spread: float | None                     # by which ratios move between sessions beyond their rounds
    spread_degrees: int                      # of freedom, that it is known with
    courses: tuple[Course, ...]

    def rows(self) -> list[dict[str, Any]]:
        """A row a point of a course."""
        return [{"comparison": course.label, "stack": course.stack, "baseline": course.baseline, **plain(point)}
                for course in self.courses for point in course.points]


class _Pair(NamedTuple):
    """A cell in one session and in the next one that measured it."""

    before: Session
    after: Session
    compared: Compared
    differences: tuple[Difference, ...]


def over_time(sessions: Sequence[Measurements]) -> History:
    """The history of sessions, in any order."""
    named = comparisons(row.cell for each in sessions for row in each.rows)
    ordered = [replace(each, rows=tuple(replace(row, comparison=named[row.cell]) for row in each.rows))
               for each in sorted(sessions, key=lambda session: _session(session)[::-1])]
    pairs = list(_pairs(ordered))
    error = stats.error_of(len(pairs)) * min((row.look.share for each in ordered for row in each.rows), default=1.0)
    by_cell = grouped(pairs, lambda pair: (pair.compared.key, pair.compared.baseline))
    courses = tuple(_course(of_cell, error) for of_cell in by_cell.values())
    spread, degrees = stats.spread_of([[point.ratio for point in course.points] for course in courses]) or (None, 0)
    return History(tuple(map(_session, ordered)), len(pairs), spread, degrees, courses)


def _pairs(ordered: Sequence[Measurements]) -> Iterator[_Pair]:
    """Each cell in each two successive sessions that measured it."""
    last: dict[str, Measurements] = {}
    for later in ordered:
        keys = {row.key for row in later.rows if row.rates}
        for earlier in {id(last[key]): last[key] for key in keys if key in last}.values():
            comparison = comparing.compare(earlier, later)
            for compared in comparison.rows:
                if last.get(compared.key) is earlier and compared.baseline and not compared.other_resources:
                    yield _Pair(_session(earlier), _session(later), compared, comparison.differences)
        last.update(dict.fromkeys(keys, later))


def _course(pairs: Sequence[_Pair], error: float) -> Course:
    """A cell's points and steps, its intervals widened to that error."""
    first = pairs[0].compared
    points = (Point(*session, ratio.at(error), rate, first.unit) for session, ratio, rate in (
        (pairs[0].before, first.ratio_a, first.rate_a),
        *((pair.after, pair.compared.ratio_b, pair.compared.rate_b) for pair in pairs)))
    changes = ((pair, pair.compared.change.at(error)) for pair in pairs if pair.compared.verdict not in doubts.REMEDIES)
    steps = (Step(pair.before.id, pair.after.id, change, pair.differences) for pair, change in changes
             if change.excludes(1.0))
    return Course(first.label, first.stack, first.baseline, tuple(points), tuple(steps))


def _session(measured: Measurements) -> Session:
    return Session(str(measured.session.get("id", "?")), str(measured.session.get("began", "")))
