"""From which value on one column is faster: planted ratios, by few points, and what cannot be told is not said."""

import math
from collections.abc import Callable

import pytest

from runner.analysis.between import crossing
from runner.analysis.between.crossing import Swept
from runner.analysis.paired import Paired
from runner.analysis.stats import Interval, Ratio
from runner.analysis.summary import summary_of
from runner.errors import InputError
from runner.report.between import crossing as forms
from tests import made_rows as made
from tests.made_report import FAST, SLOW


def session(*stacks: str, batches: tuple[int, ...] = (10,)) -> crossing.Measurements:
    return made.measured(rates={made.cell(name, batch=batch): FAST if name == "new" else SLOW
                                for batch in batches for name in stacks}, baseline="old")


PAIRED = crossing.paired(session("new", "old"), 1, 256)


def swept(ratio: Callable[[int], float], low: int = 1, high: int = 256, within: float = 0.01) -> Swept:
    """Of ratios whose intervals are so wide."""
    def measure(value: int) -> Paired:
        middle = ratio(value)
        return PAIRED._replace(ratio=Ratio(middle, Interval(middle * (1 - within), middle * (1 + within)), 5, None))

    return crossing.search("batch", low, high, measure)


def test_a_session_s_other_column_is_held_against_its_baseline_and_two_are_needed() -> None:
    assert ("new", "old", pytest.approx(1.5, rel=0.005)) == (
        PAIRED.one.cell.stack, PAIRED.other and PAIRED.other.cell.stack, PAIRED.ratio.value)
    wide, narrow = (crossing.paired(session("new", "old"), 1, high).ratio.interval for high in (1025, 3))
    assert wide and narrow and wide.low < narrow.low           # 12 values at most, or 3
    for others in (session("old"), session("new", "old", "other"), session("new", "old", batches=(1, 2))):
        with pytest.raises(InputError, match="expected one of two columns: --stack, --lane"):
            crossing.paired(others, 1, 256)


def test_a_page_of_the_values_so_far_has_the_intervals_of_all_that_may_be_measured() -> None:
    measured, low, high = session("old", "new"), 1, 1025
    (comparison,) = summary_of(measured, said=crossing.most(low, high)).comparisons

    assert crossing.paired(measured, low, high).ratio.interval == comparison.results[1].ratio_interval


@pytest.mark.parametrize("at", [2, 3, 24, 100, 255, 256])
def test_a_crossing_is_found_by_halving(at: int) -> None:
    found = swept(lambda value: 0.5 if value < at else 2.0)

    assert (at - 1, at) == found.between and at == found.crossing
    assert len(found.points) <= crossing.most(1, 256) == 10
    assert f"From batch {at} on new is faster." == forms.conclusion(found)


def test_where_ratios_are_too_near_to_1_the_crossing_has_ends() -> None:
    # 100 is where the ratio is 1; 5 % away from it are 0.9**... : below 95 and above 105 it is shown
    found = swept(lambda value: value / 100, within=0.05)
    below, above = found.between

    assert 85 < below < 96 and 105 < above < 118 and 98 <= found.crossing <= 102
    assert f"From batch {found.crossing} ({below} to {above}) on new is faster." == forms.conclusion(found)
    assert "slower." == forms.conclusion(swept(lambda value: 100 / value)).rpartition(" ")[2]


def test_no_crossing_is_said_where_both_ends_are_alike_or_one_cannot_be_told() -> None:
    alike, untold = swept(lambda value: 0.5), swept(lambda value: value / 256)

    assert {1, 256} == {*alike.points} and forms.record(alike)["crossing"] is None
    assert ("No crossing is shown: new is 0.50x (0.49–0.51) at batch 1 (slower) and 0.50x (0.49–0.51) at batch 256 "
            "(slower).") == forms.conclusion(alike)
    assert {1, 256} == {*untold.points} and "(no difference shown)." in forms.conclusion(untold)


def test_a_sweep_without_time_left_says_what_it_has() -> None:
    found = crossing.search("batch", 1, 256, {1: PAIRED}.get)

    assert 256 == found.wanted and "Both ends are not measured yet." == forms.conclusion(found)
    assert [("1", "100.0", "150")] == [tuple(row.values())[:3] for row in forms.rows(found)]


def test_a_sweep_may_begin_at_0_and_the_chart_has_each_value_s_interval() -> None:
    found = swept(lambda value: 0.5 if value < 3 else 2.0, low=0, high=8)
    ratio, one = forms.chart(found).curves

    assert (2, 3) == found.between and ratio.x == tuple(sorted(map(float, found.points)))
    assert all(math.isclose(low, 0.99 * y) for low, y in zip(ratio.low, ratio.y, strict=True)) and {1.0} == {*one.y}
