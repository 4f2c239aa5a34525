"""The history of many sessions as a Report: a chart and a table a comparison, the steps first. Pure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from runner import __version__, formatting
from runner.analysis.between.history import Course, History, Step
from runner.grouping import grouped
from runner.report.document import Curve, Curves, Report, Section
from runner.report.tables import Table, Texts, texts

_LISTED = 6                    # differences of a step; more are counted
_READING = ("Ratios are to the baseline of the same session and rounds, geometric means; brackets allow for all "
            "neighbours of the history. A step is a ratio whose change from one session to the next has brackets "
            "that exclude 1.")


def report(history: History, folder: str) -> Report:
    """All that is to be written; folder: of the results."""
    began = f"{history.sessions[0][1]} to {history.sessions[-1][1]}" if history.sessions else "never"
    return Report(
        name=folder, title=f"History of {formatting.count(len(history.sessions), 'session')}", machine="",
        began=began, command=f"evenbench history {shlex.quote(folder)}", reading=_READING,
        made_by=f"evenbench {__version__}",
        in_short=tuple(_in_short(history)),
        sections=tuple(_section(label, courses, history) for label, courses in grouped(
            history.courses, lambda course: course.label).items()))


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
        yield (f"{course.stack}, {course.label}: {step.change.text()} from {step.before} to {step.after}; "
               f"{_around(step)}")


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
    titles = texts("session", "began", courses[0].points[0].unit, f"to {courses[0].baseline}", "step")
    groups = tuple((course.stack, tuple(_lines(course))) for course in courses)
    return Section(label, "", charts=(chart,), tables=(Table(label, titles, groups, has_empty=True),))


def _curve(course: Course, series: int, numbers: Mapping[str, float]) -> Curve:
    """Its ratios; numbers: of sessions, by their names."""
    points = [(numbers[each.session], each.ratio.value, each.ratio.interval)
              for each in course.points if each.ratio.value is not None]
    return Curve.of(course.stack, series, points)


def _lines(course: Course) -> Iterator[Texts]:
    steps = {step.after: step.change.text() for step in course.steps}
    return ((point.session, point.began, formatting.number(point.rate), point.ratio.text(),
             steps.get(point.session, "")) for point in course.points)
