"""Lanes: a stack as it stands beside the same stack tuned, paired by round."""

import pytest

from runner.analysis.summary_format import Lanes
from tests import made_rows as made
from tests.made_report import FAST, SLOW
from workloads.spec.cell import Cell

TORCH, TF = (made.cell(name) for name in ("torch", "tf"))
TUNED_TORCH, TUNED_TF = (each._replace(loop="tuned") for each in (TORCH, TF))


def of(rates: dict[Cell, list[float]], *more: made.Record) -> Lanes:
    (lanes,) = made.summarised(*more, rates=rates).lanes
    return lanes


def test_a_stack_s_ratio_is_its_tuned_rate_over_its_common_one_in_the_same_rounds() -> None:
    (torch,) = of({TORCH: SLOW, TUNED_TORCH: FAST}).results

    assert (pytest.approx(1.5, rel=0.005), 5) == (torch.ratio, torch.pairs)
    assert torch.ratio_interval is not None and 1.49 < torch.ratio_interval.low < 1.5 < torch.ratio_interval.high < 1.51
    assert "faster" == torch.verdict
    assert (pytest.approx(100.0, rel=0.001), pytest.approx(150.0, rel=0.001)) == (torch.common_rate, torch.tuned_rate)


def test_each_lane_has_the_winner_of_its_own_comparison() -> None:
    lanes = of({TORCH: SLOW, TF: FAST, TUNED_TORCH: FAST, TUNED_TF: SLOW})

    assert ("tf", "torch") == (lanes.common_winner, lanes.tuned_winner)
    assert ["faster", "slower"] == [each.verdict for each in lanes.results]


def test_the_interval_of_lanes_allows_for_all_words_of_the_session() -> None:
    one = {TORCH: SLOW, TUNED_TORCH: FAST}
    few, many = (made.summarised(rates=rates) for rates in (one, {**one, TF: SLOW, TUNED_TF: SLOW}))
    alone, among = (found.lanes[0].results[0].ratio_interval for found in (few, many))

    assert (1, 4) == (few.words, many.words)       # two lanes of a stack; two comparisons of two, and two stacks' lanes
    assert alone and among and among.low < alone.low


def test_equal_lanes_have_no_word_and_cells_that_differ_in_more_than_the_loop_are_none() -> None:
    assert "as fast" == of({TORCH: SLOW, TUNED_TORCH: SLOW}).results[0].verdict
    for others in ({TORCH: SLOW, TUNED_TORCH._replace(batch=20): FAST},
                   {TORCH._replace(loop="eager"): SLOW, TUNED_TORCH: FAST}):
        assert () == made.summarised(rates=others).lanes


# five runs whose first steps take longer
UNSTEADY = made.steps([0.1 * (2 - index / 24) for index in range(24)], loss=[2.0, 1.0])


@pytest.mark.parametrize(("doubted", "lanes"), [({TORCH}, ["common"]), ({TUNED_TORCH}, ["tuned"]),
                                               ({TORCH, TUNED_TORCH}, ["common", "tuned"])])
def test_a_withheld_word_says_which_lane_was_not_steady(doubted: set[Cell], lanes: list[str]) -> None:
    rates = {cell: [] if cell in doubted else SLOW for cell in (TORCH, TUNED_TORCH)}
    (torch,) = of(rates, *(record for cell in doubted for record in made.repeated(cell, 5, UNSTEADY))).results

    assert lanes == [each.split(":")[0] for each in torch.withheld.split("; ")]
    assert "not steady" == torch.verdict


def test_a_stack_that_cannot_be_tuned_stands_there_with_its_ending_and_without_a_ratio() -> None:
    refused = made.run(TUNED_TF, 0, ending="unsupported", message="no")
    lanes = of({TORCH: SLOW, TF: SLOW, TUNED_TORCH: FAST, TUNED_TF: []}, *refused)
    tf = next(each for each in lanes.results if each.stack == "tf")

    assert (None, None, "no data", {"unsupported": 1}) == (tf.ratio, tf.tuned_rate, tf.verdict, tf.endings)
    assert tf.common_rate is not None
