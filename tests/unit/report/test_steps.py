"""Steps over time: what the chart is made of, by hand, and how it is drawn."""

import re

import pytest

from runner.report.document import Polyline, Strip, Strips
from runner.report.within_run import step_charts
from runner.report.writers import charts
from runner.report.writers.drawing import ticks
from runner.results.rows import Row
from tests import made_rows as made
from workloads.spec.cell import Cell

TORCH = made.cell("torch", steps=4)


def told(cell: Cell, *seconds: list[float], warm: list[float], count: int | None = None) -> Row:
    """A row with a run for each list of timed samples, all with that warm-up."""
    counted = {} if count is None else {"count": count}
    (row,) = made.measured(cell, *(record for index, timed in enumerate(seconds) for record in made.run(
        cell, index, made.steps(timed, **counted), warm=warm))).rows
    return row


def chart_of(*rows: Row) -> Strips:
    ((_, chart),) = step_charts(rows, {}, {})
    assert isinstance(chart, Strips)
    return chart


def strip(*seconds: list[float], warm: list[float]) -> Strip:
    return chart_of(told(TORCH, *seconds, warm=warm)).strips[0]


@pytest.mark.parametrize(("row", "warmup", "x", "y"), [
    pytest.param(told(TORCH, [0.2, 0.2, 0.4, 0.2], warm=[1.5, 0.1, 0.3]), 0.4, (0.05, 0.25, 0.5, 0.7, 1.0, 1.3),
                 (100, 300, 200, 200, 400, 200), id="each step waited for"),
    pytest.param(told(TORCH, [0.1, 0.2], warm=[]), 0, (0.0, 0.1), (100, 200), id="no warm-up"),
    pytest.param(told(TORCH._replace(sync="end"), [2.0], warm=[0.1, 0.5], count=10), 0.6, (0.0, 0.6, 0.6, 2.6),
                 (300, 300, 200, 200), id="waited for once")])
def test_time_begins_where_the_first_step_ends_and_the_timed_part_where_the_warm_up_does(
        row: Row, warmup: float, x: tuple[float, ...], y: tuple[float, ...]) -> None:
    shown = chart_of(row).strips[0]

    assert (warmup, x, y) == tuple(map(pytest.approx, (shown.warmup, shown.median.x, shown.median.y)))


def test_disturbed_turns_are_marked_from_their_first_step_to_their_last() -> None:
    turns = [made.turn([0.1, 0.1], foreign=share, before=2 * index) for index, share in enumerate((0.0, 0.5, 0.0, 0.0))]
    chart = chart_of(*made.measured(TORCH, *made.run(TORCH, 0, *turns)).rows)
    warm = chart.strips[0].warmup

    (spans,) = chart.strips[0].disturbed
    assert (warm + 0.2, warm + 0.4) == pytest.approx(spans)
    assert 1 == charts.svg(chart, "s").count("var(--bad)")


def test_a_first_step_a_hundred_times_as_long_is_named_and_flattens_nothing() -> None:
    shown = strip([0.01] * 20, warm=[1.0, 0.01])

    assert ("first step 1.0 s", pytest.approx(18)) == (shown.first, shown.top)
    assert "" == strip([0.01] * 20, warm=[0.011, 0.01]).first


def test_a_long_run_has_a_hundred_points_each_the_median_of_its_steps() -> None:
    shown = strip([0.01, 0.02, 0.9] * 96, warm=[0.01])

    assert 96 == len(shown.median.x) and {20.0} == set(shown.median.y)


def test_the_median_line_is_over_runs_that_may_have_different_counts() -> None:
    shown = strip([0.1] * 3, [0.2] * 5, [0.3] * 4, warm=[0.1])

    assert (200,) * 5 == pytest.approx(shown.median.y)
    assert [3, 5, 4] == [len(run.x) for run in shown.runs]


def test_of_more_runs_than_can_be_told_apart_every_third_is_drawn_and_the_chart_says_so() -> None:
    many = strip(*([0.1 + index / 1000] * 2 for index in range(100)), warm=[0.1])

    assert 34 == len(many.runs) and "34 of 100 runs" == many.text
    assert [100, 103, 106] == pytest.approx([run.y[-1] for run in many.runs[:3]])
    assert "" == strip(*[[0.1, 0.1]] * 40, warm=[0.1]).text


@pytest.mark.parametrize(("cell", "seconds"), [
    (TORCH, []), (TORCH._replace(measure="phases"), [0.1]), (TORCH, [0.0] * 4), (TORCH, [1e308] * 4)])
def test_runs_without_timed_steps_or_whose_steps_took_no_time_or_for_ever_and_other_measures_have_no_chart(
        cell: Cell, seconds: list[float]) -> None:
    assert [] == list(step_charts([told(cell, seconds, warm=[1.0])], {}, {}))


def test_a_section_draws_so_many_comparisons_and_says_of_how_many() -> None:
    cells = [TORCH._replace(batch=batch) for batch in range(1, 28)]
    found = [chart for _, chart in step_charts([told(cell, [0.1, 0.1], warm=[0.1]) for cell in cells], {}, {})]

    assert 24 == len(found)
    assert found[-1].caption.endswith("(drawn are the first 24 of 27 comparisons)") and "drawn" not in found[-2].caption


def drawn(**values: object) -> str:
    made_strip = Strip("<b>", 1, (), Polyline((0.0, 1.0, 2.0), (1.0, 50.0, 1.0)), 0.5, 10.0, "first step 9 s", "text")
    return charts.svg(Strips("c", (made_strip._replace(**values),)), "s")


def test_what_is_above_the_scale_is_cut_off_there_and_marked() -> None:
    (line,) = re.findall(r'd="(M[^"]+)"[^>]*stroke-width="2.2"', drawn())
    highest = min(float(point.split(" ")[1]) for point in re.split("[ML]", line)[1:])

    assert 18.0 == highest                            # the top of the axes
    assert 2 == drawn().count("l-3 -5z")              # the first step and the second point
    assert 0 == drawn(first="", top=50.0).count("l-3 -5z")


def test_a_strip_s_texts_are_escaped_and_it_has_no_ids() -> None:
    assert "&lt;b&gt;" in drawn() and "<b>" not in drawn() and " id=" not in drawn()


@pytest.mark.parametrize(("high", "expected"), [
    (10.0, [0, 5, 10]), (6.5, [0, 2, 4, 6]), (0.31, [0, 0.1, 0.2, 0.3]), (3.0, [0, 1, 2, 3])])
def test_an_axis_has_round_numbers(high: float, expected: list[float]) -> None:
    assert expected == pytest.approx(ticks(0.0, high, 3))


def test_a_chart_of_three_stacks_and_five_long_runs_stays_below_forty_kilobytes() -> None:
    timed = [0.01 + index / 1e6 for index in range(5000)]
    rows = [told(TORCH._replace(stack=name), *[timed] * 5, warm=[1.0, *[0.01] * 99]) for name in "abc"]

    assert len(charts.svg(chart_of(*rows), "s")) < 40_000
