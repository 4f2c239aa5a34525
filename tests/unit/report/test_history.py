"""Many sessions over time: ratios to their own baselines, and what moved."""

from pathlib import Path

import pytest

from runner.analysis.between.history import Course, History, over_time
from runner.cli import app
from runner.errors import InputError
from runner.report.between import history as history_report
from runner.report.writers import page
from runner.results.reader import measurements
from runner.results.rows import Measurements
from tests import made_rows as made

NOISE = (1.0, 1.001, 0.999, 1.002, 0.998)


def session(day: int, ratio: float, drift: float = 1.0) -> Measurements:
    """Five rounds in which tf is so many times as fast as torch, on a machine that is so many times as fast."""
    cells = made.cell("torch"), made.cell("tf")
    rates = [100 * drift / each for each in NOISE], [100 * drift * each * ratio for each in NOISE]
    runs = [record for cell, own in zip(cells, rates, strict=True) for record in made.runs(cell, own)]
    head = made.session(id=f"day{day}", began=f"2026-11-{day:02}T00:00:00+00:00")
    return measurements([head, made.plan(*cells), *runs])


def only(history: History) -> Course:
    (course,) = history.courses
    return course


def test_a_ratio_that_moves_is_a_step_and_the_machine_s_drift_is_none() -> None:
    course = only(over_time([session(1, 0.8), session(2, 0.8, drift=0.5), session(3, 0.7, drift=0.9)]))

    assert ("tf", "torch", 3) == (course.stack, course.baseline, len(course.points))
    (step,) = course.steps
    assert ("day2", "day3") == (step.before, step.after)
    assert step.change.value == pytest.approx(0.875)


def test_sessions_are_put_in_order_of_their_beginning() -> None:
    history = over_time([session(3, 0.7), session(1, 0.8)])

    assert ["day1", "day3"] == [name for name, _ in history.sessions]
    assert ["day1", "day3"] == [point.session for point in only(history).points]


def test_a_session_without_the_cell_is_passed_over() -> None:
    cell = made.cell("torch", batch=99)
    other = made.measured(cell, made.session(id="day2", began="2026-11-02T00:00:00+00:00"),
                          *made.runs(cell, [100.0] * 5))
    course = only(over_time([session(1, 0.8), other, session(3, 0.8)]))

    assert ["day1", "day3"] == [point.session for point in course.points]


def test_a_hundred_equal_sessions_are_held_to_more_than_two() -> None:
    """A change whose own p value is 0.037 is a step between two sessions and none among many."""
    shaken = [session(1, 0.8), session(2, 0.804)]
    alone = len(only(over_time(shaken)).steps)
    many = only(over_time([*shaken, *(session(day, 0.804) for day in range(3, 29))])).steps

    assert (1, 0) == (alone, len(many))


def test_the_page_has_a_chart_and_every_point() -> None:
    text = page.html(history_report.report(over_time([session(1, 0.8), session(2, 0.7)]), "results"))

    assert "<svg" in text and "day1" in text and "0.88x" in text


def test_one_session_is_no_history(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found 0 results in .*, expected two or more"):
        app(["history", str(tmp_path)], standalone_mode=False)
