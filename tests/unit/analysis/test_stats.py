"""Statistics: known answers; what they promise is simulated in test_words_that_hold.py."""

import math

import numpy as np
import pytest

from runner.analysis import student
from runner.analysis.stats import (
    Mean,
    Ratio,
    Verdict,
    between,
    geometric_mean,
    holm,
    intervals,
    lag_one,
    mean_of,
    median,
    outliers,
    p_value,
    ratios,
    verdict,
)


def test_an_interval_is_student_s_on_logarithms() -> None:
    # logarithms 0, 1, 2: mean 1, standard error 1 / sqrt(3), t of two degrees 4.3027
    (interval,) = intervals([[1.0, math.e, math.e**2]])
    half = 4.30265 / 3**0.5

    assert interval and tuple(interval) == pytest.approx((math.exp(1 - half), math.exp(1 + half)), rel=1e-4)


def test_the_p_value_of_a_ratio_is_that_of_the_paired_t_test() -> None:
    # log-ratios 1, 2, 3, 4, 5: t = 3 / (1.5811 / sqrt(5)) = 4.2426 of 4 degrees, p = 0.01324
    (ratio,) = ratios([({index: math.exp(index + 1) for index in range(5)}, dict.fromkeys(range(5), 1.0))])

    assert p_value(ratio) == pytest.approx(0.01324, abs=1e-5)


def test_a_drift_that_both_stacks_share_cancels() -> None:
    drift = {0: 1.0, 1: 2.0, 2: 4.0, 3: 8.0}
    twice = {index: 2 * rate for index, rate in drift.items()}
    (ratio,) = ratios([(twice, drift)])

    assert 4 == ratio.pairs
    assert ratio.value == pytest.approx(2.0)
    assert ratio.interval and tuple(ratio.interval) == pytest.approx((2.0, 2.0))


def test_only_rounds_that_both_have_are_paired() -> None:
    # the geometric mean of 4 and 9; two pairs have no interval
    (ratio,) = ratios([({0: 4.0, 1: 9.0, 5: 100.0}, {0: 1.0, 1: 1.0, 2: 7.0})])

    assert Ratio(pytest.approx(6.0), None, 2) == ratio


def test_without_a_common_round_there_is_no_ratio() -> None:
    assert [Ratio(None, None, 0)] == ratios([({0: 1.0}, {1: 1.0})])


def test_an_interval_scales_with_its_values() -> None:
    values = np.array([1.0, 1.1, 1.3, 1.2])
    (one,), (ten,) = intervals([values]), intervals([10 * values])

    assert one and ten
    assert tuple(ten) == pytest.approx((10 * one.low, 10 * one.high))


def test_the_interval_of_a_ratio_turned_round_is_turned_round() -> None:
    up = dict(enumerate([1.0, 1.1, 1.3, 1.2, 1.25]))
    flat = dict.fromkeys(up, 1.0)
    one, other = ratios([(up, flat), (flat, up)])

    assert one.interval is not None and other.interval is not None
    assert one.value == pytest.approx(1 / (other.value or 0))
    assert one.interval.low == pytest.approx(1 / other.interval.high)
    assert one.interval.high == pytest.approx(1 / other.interval.low)


def test_fewer_than_three_values_have_no_interval() -> None:
    assert [None, None] == intervals([[1.0, 2.0], []])


@pytest.mark.parametrize(("value", "rounds", "adjusted", "expected"), [
    (1.2, 5, 0.04, "faster"), (0.8, 5, 0.05, "slower"), (1.2, 5, 0.051, "no difference shown"),
    (1.2, 4, None, "needs five rounds"), (9.0, 1, None, "needs five rounds"), (None, 0, None, "no data")])
def test_a_verdict_needs_five_rounds_and_a_small_p_value(value: float | None, rounds: int, adjusted: float | None,
                                                         expected: str) -> None:
    mean = Mean(math.log(value), 0.1, rounds - 1) if value and rounds > 2 else None

    assert expected == verdict(Ratio(value, mean and mean.interval(), rounds, mean), adjusted)


def test_without_others_beside_it_a_verdict_is_the_interval_s() -> None:
    up = dict(enumerate([1.1, 1.12, 1.09, 1.11, 1.1]))
    flat = dict.fromkeys(up, 1.0)

    assert [Verdict.FASTER, Verdict.SLOWER] == [verdict(ratio) for ratio in ratios([(up, flat), (flat, up)])]


def test_equal_rates_are_no_difference_however_little_they_scatter() -> None:
    third = dict.fromkeys(range(5), 1 / 3)
    (ratio,) = ratios([(third, {index: rate * (1 + 2e-16) for index, rate in third.items()})])

    assert Verdict.NO_DIFFERENCE is verdict(ratio)


def test_holm_multiplies_the_least_by_all_and_never_falls() -> None:
    # 3 x 0.01; 2 x 0.02; 1 x 0.03 is less than the one before it
    assert holm([0.02, 0.01, 0.03]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_the_smallest_difference_is_what_four_sessions_of_five_would_show() -> None:
    # t of 4 degrees: 2.7764 at 97.5 % and 0.9410 at 80 %
    assert Mean(0.0, 0.01, 4).smallest() == pytest.approx(math.exp(0.01 * (2.7764 + 0.9410)) - 1, rel=1e-4)


def test_a_value_that_follows_its_neighbour_is_correlated_with_it() -> None:
    assert lag_one([1.0, -1.0] * 50) == pytest.approx(-0.99)
    assert lag_one([float(index) for index in range(100)]) == pytest.approx(0.97, abs=0.005)
    assert lag_one([1.0, 1.0, 1.0]) is None and lag_one([1.0, 2.0]) is None


def test_medians_and_geometric_means() -> None:
    assert 2.5 == median([4.0, 1.0, 2.0, 3.0])
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert median([]) is None
    assert geometric_mean([]) is None


def test_a_value_far_from_the_others_is_an_outlier() -> None:
    # median 100, median distance 1: the score of 85 is 15 / 1.4826 = 10.1, of 86 it is 9.4
    assert [4] == outliers([99, 100, 101, 101, 85])
    assert [] == outliers([99, 100, 101, 101, 86])


def test_where_most_values_are_equal_the_mean_distance_is_the_scale() -> None:
    # 30 equal values and one 10 away: mean distance 10 / 31, score 10 / (1.2533 * 10 / 31) = 24.7
    assert [30] == outliers([100.0] * 30 + [110.0])


def test_equal_values_have_no_outlier() -> None:
    assert [] == outliers([5.0] * 5)


def test_a_ratio_has_the_same_interval_wherever_it_stands_and_the_other_way_round_its_inverse() -> None:
    one, other = {0: 4.0, 1: 9.0, 2: 5.0, 3: 7.0}, {0: 1.0, 1: 1.5, 2: 1.1, 3: 1.3}
    alone, = ratios([(one, other)])
    *_, late, back = ratios([(other, other), (one, other), (other, one)])

    assert alone == late
    assert alone.interval and back.interval
    assert tuple(back.interval) == pytest.approx((1 / alone.interval.high, 1 / alone.interval.low))


def test_two_ratios_of_different_rounds_are_held_against_each_other_by_welch_s_t() -> None:
    one, other = (ratios([(dict(enumerate(rates)), dict.fromkeys(range(5), 1.0))])[0]
                  for rates in ([2.0, 2.2, 1.8, 2.1, 1.9], [1.0, 1.0, 1.01, 0.99, 1.0]))
    found, back = between(one, other), between(other, one)

    assert found.value == pytest.approx((2.0 * 2.2 * 1.8 * 2.1 * 1.9 / (1.01 * 0.99)) ** 0.2) and 5 == found.pairs
    assert found.interval and back.interval and found.mean
    assert tuple(back.interval) == pytest.approx((1 / found.interval.high, 1 / found.interval.low))
    assert 4 < found.mean.degrees < 4.1                     # nearly all of the spread is one side's


def test_a_ratio_of_too_few_rounds_beside_another_has_no_interval() -> None:
    few, many = (ratios([(dict.fromkeys(range(count), 2.0), dict.fromkeys(range(count), 1.0))])[0] for count in (2, 5))

    assert (pytest.approx(1.0), None, 2) == between(few, many)[:3]
    assert (None, None, 0) == between(Ratio(None, None, 0), many)[:3]


def test_the_variance_between_sessions_is_added_to_that_of_the_rounds() -> None:
    pair = [(dict(enumerate([2.0, 2.2, 1.8, 2.1, 1.9])), dict.fromkeys(range(5), 1.0))]
    (alone,), (found,) = ratios(pair), ratios(pair, 0.03)

    assert alone.mean and found.mean and alone.mean == alone.of_rounds == found.of_rounds
    assert found.mean.error == pytest.approx(math.hypot(alone.mean.error, 0.03)) and alone.value == found.value
    assert 4 < found.mean.degrees < 34                      # between those of the two variances


def test_a_spread_makes_nothing_surer_however_far_the_rounds_scatter() -> None:
    # by Welch and Satterthwaite 5.5 degrees where the rounds' error is 7 %: 2.50 * 7.6 % is less than 2.78 * 7 %
    rounds = Mean(0.2, 0.07, 4)
    found = rounds.across_sessions(0.03)

    assert 5 < found.degrees < 6 and found.error == pytest.approx(math.hypot(0.07, 0.03))
    assert (rounds.interval(), rounds.interval(0.005)) == (found.interval(), found.interval(0.005))
    assert rounds.plain_interval() == found.plain_interval()
    assert found.p_value() == max(rounds.p_value(), student.two_sided(0.2 / found.error, found.degrees))
    assert found.smallest(0.005) == rounds.smallest(0.005) and found.smallest(0.5) > rounds.smallest(0.5)


def test_words_hold_at_holm_s_small_levels_where_rounds_and_sessions_scatter() -> None:
    draw, spread, level, sessions = np.random.default_rng(3), 0.03, 0.05 / 9, 20_000
    logs = draw.normal(0.0, 0.2, (sessions, 5)) + draw.normal(0.0, spread, (sessions, 1))
    means = [mean for mean in map(mean_of, logs.tolist()) if mean]
    false = np.mean([mean.across_sessions(spread).p_value() <= level for mean in means])

    assert false == pytest.approx(0.0062, abs=0.0018)        # three standard errors; by the sum alone 1.1 %


def test_a_short_session_is_known_no_better_than_a_share_of_its_rounds_scatter_says() -> None:
    # five rounds that scatter by 15.7 %: its square / 5 and (0.4 x 15.7 %) squared are 9.4 % squared, of four degrees
    far = Mean(0.2, 0.07, 4).across_sessions(0.03, 0.4)
    assert (pytest.approx(0.07 * math.sqrt(1.8)), 4, ()) == far[1:]

    near = Mean(0.2, 0.01, 4)
    assert near.across_sessions(0.03).interval() == near.across_sessions(0.03, 0.4).interval()
    middle = Mean(0.2, 0.03, 4)
    assert middle.across_sessions(0.03, 0.4).interval() == middle.across_sessions(0.0, 0.4).interval()
    assert middle.across_sessions(0.03, 0.4).error == middle.across_sessions(0.03).error
    assert middle.across_sessions(0.03, 0.4).p_value() == middle.across_sessions(0.0, 0.4).p_value()


def test_a_spread_alone_withholds_a_word_however_alike_the_rounds_are() -> None:
    pair = [(dict.fromkeys(range(5), 1.05), dict.fromkeys(range(5), 1.0))]

    assert [Verdict.FASTER, Verdict.NO_DIFFERENCE] == [verdict(ratios(pair, spread)[0]) for spread in (0.0, 0.03)]


def test_of_one_value_nothing_is_known() -> None:
    assert mean_of([1.0]) is None
