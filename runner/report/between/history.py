"""The history of many sessions as a Report: a chart and a table a comparison, the steps first. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runner import __version__, formatting
from runner.analysis.between.over_time import Course, History, Point, Step
from runner.report.document import Curve, Curves, Report, Section
from runner.report.tables import Column, Group, Table

_LISTED = 6                    # differences of a step; more are counted
_READING = ("Ratios are to the baseline of the same session and rounds, geometric means; brackets allow for all "
            "neighbours of the history. A step is a ratio whose change from one session to the next has brackets "
            "that exclude 1.")


def report(history: History, folder: str) -> Report:
    """All that is to be written; folder: of the results."""
    began = f"{history.sessions[0][1]} to {history.sessions[-1][1]}" if history.sessions else "never"
    by_label: dict[str, list[Course]] = {}
    for course in history.courses:
        by_label.setdefault(course.label, []).append(course)
    return Report(
        name=folder, title=f"History of {formatting.count(len(history.sessions), 'session')}", machine="",
        began=began, command=f"evenbench history {folder}", reading=_READING, deviations=(),
        in_short=tuple(_in_short(history)), claims=(),
        sections=tuple(_section(label, courses, history) for label, courses in by_label.items()), environment=(),
        failed=(), skipped=(), footnotes=(), methods=(), made_by=f"evenbench {__version__}")


def _in_short(history: History) -> Iterator[str]:
    if history.spread is not None:
        yield (f"Beyond what their rounds scatter, ratios moved by {formatting.share(history.spread)} from session to "
               f"session (standard deviation, {formatting.count(history.spread_degrees, 'degree')} of freedom), with "
               "whatever else changed between them.")
    steps = [(course, step) for course in history.courses for step in course.steps]
    if not steps:
        yield (f"No step: {formatting.count(history.neighbours, 'ratio')} of neighbouring sessions, all within their "
               "noise." if history.neighbours else "No two sessions have a ratio in common: nothing can have moved.")
    for course, step in steps:
        yield f"{course.stack}, {course.label}: {_change(step)} from {step.before} to {step.after}; {_around(step)}"


def _change(step: Step) -> str:
    return "-" if step.change.value is None else formatting.ratio(step.change.value, step.change.interval)


def _around(step: Step) -> str:
    """What differed around a step, in a line."""
    if not step.differences:
        return "nothing that was recorded around them differed"
    shown = [f"{each.what}: {each.a} → {each.b}" for each in step.differences[:_LISTED]]
    more = len(step.differences) - len(shown)
    return "differed: " + "; ".join(shown) + (f"; and {more} more" if more else "")


def _section(label: str, courses: Sequence[Course], history: History) -> Section:
    numbers = {name: float(number) for number, (name, _) in enumerate(history.sessions, 1)}
    curves = tuple(_curve(course, series, numbers) for series, course in enumerate(courses))
    chart = Curves(f"{label}: times the speed of {courses[0].baseline}", "session", "ratio", curves,
                   is_zero_based=False)
    return Section(label, "", (), (), (chart,), (_table(label, courses),))


def _curve(course: Course, series: int, numbers: dict[str, float]) -> Curve:
    points = [point for point in course.points if point.ratio.value is not None]
    ends = [point.ratio.interval for point in points]
    has_all = all(ends)
    return Curve(course.stack, series, tuple(numbers[point.session] for point in points),
                 tuple(point.ratio.value or 0.0 for point in points),
                 tuple(each.low for each in ends if each) if has_all else (),
                 tuple(each.high for each in ends if each) if has_all else ())


class _Line(NamedTuple):
    point: Point
    step: Step | None            # that led to it


def _table(label: str, courses: Sequence[Course]) -> Table[_Line]:
    columns: tuple[Column[_Line], ...] = (
        Column("session", lambda line: line.point.session),
        Column("began", lambda line: line.point.began),
        Column("samples/s", lambda line: line.point.rate, formatting.number),
        Column(f"to {courses[0].baseline}", lambda line: _ratio(line.point)),
        Column("step", lambda line: _change(line.step) if line.step else ""),
    )
    return Table(label, columns, tuple(Group(course.stack, tuple(_lines(course))) for course in courses),
                 has_empty=True)


def _ratio(point: Point) -> str:
    return "-" if point.ratio.value is None else formatting.ratio(point.ratio.value, point.ratio.interval)


def _lines(course: Course) -> Iterator[_Line]:
    steps = {step.after: step for step in course.steps}
    return (_Line(point, steps.get(point.session)) for point in course.points)
