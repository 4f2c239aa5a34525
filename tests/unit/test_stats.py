"""Statistics: known answers, and what intervals promise, by simulation with fixed seeds."""

import numpy as np
import pytest

from runner.analysis.stats import (
    Interval,
    Ratio,
    Verdict,
    geometric_mean,
    intervals,
    median,
    outliers,
    ratios,
    unpaired,
    verdict,
)

SESSIONS = 2000        # simulated ones: coverage is then known to 0.5 %


def rates(kind: str, runs: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """(sessions, runs), their median 100."""
    noise = np.random.default_rng(runs).standard_normal((SESSIONS, runs))
    return 100 + 3 * noise if kind == "normal" else 100 * np.exp(0.2 * noise)


@pytest.mark.parametrize("runs", [3, 5, 10, 20])
@pytest.mark.parametrize("kind", ["normal", "lognormal"])
def test_a_95_percent_interval_covers_93_to_97_percent(kind: str, runs: int) -> None:
    found = intervals(list(rates(kind, runs)))
    covered = np.mean([interval is not None and interval.low <= 100 <= interval.high for interval in found])

    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("rounds", [3, 5, 10])
def test_a_stack_against_itself_is_called_faster_or_slower_one_time_in_twenty(rounds: int) -> None:
    both = np.exp(0.05 * np.random.default_rng(rounds).standard_normal((2, SESSIONS, rounds)))
    found = ratios([(dict(enumerate(a)), dict(enumerate(b))) for a, b in zip(*both, strict=True)])
    alarms = np.mean([verdict(ratio) is not Verdict.NO_DIFFERENCE for ratio in found])

    assert 0.035 <= alarms <= 0.065


def test_a_tenth_faster_is_shown_by_five_rounds_with_three_percent_noise() -> None:
    noise = np.exp(0.03 * np.random.default_rng(1).standard_normal((2, 500, 5)))
    found = ratios([(dict(enumerate(1.1 * a)), dict(enumerate(b))) for a, b in zip(*noise, strict=True)])

    assert np.mean([verdict(ratio) is Verdict.FASTER for ratio in found]) > 0.9


def test_a_drift_that_both_stacks_share_cancels() -> None:
    drift = {0: 1.0, 1: 2.0, 2: 4.0, 3: 8.0}
    twice = {index: 2 * rate for index, rate in drift.items()}
    (ratio,) = ratios([(twice, drift)])

    assert 4 == ratio.pairs
    assert ratio.value == pytest.approx(2.0)
    assert ratio.interval == pytest.approx((2.0, 2.0))


def test_only_rounds_that_both_have_are_paired() -> None:
    # the geometric mean of 4 and 9; two pairs have no interval
    (ratio,) = ratios([({0: 4.0, 1: 9.0, 5: 100.0}, {0: 1.0, 1: 1.0, 2: 7.0})])

    assert Ratio(pytest.approx(6.0), None, 2) == ratio


def test_without_a_common_round_there_is_no_ratio() -> None:
    assert [Ratio(None, None, 0)] == ratios([({0: 1.0}, {1: 1.0})])


def test_an_interval_scales_with_its_values() -> None:
    values = np.array([1.0, 1.1, 1.3, 1.2])
    (one,), (ten,) = intervals([values]), intervals([10 * values])

    assert one is not None
    assert ten == pytest.approx((10 * one.low, 10 * one.high))


def test_the_interval_of_a_ratio_turned_round_is_turned_round() -> None:
    up = dict(enumerate([1.0, 1.1, 1.3, 1.2, 1.25]))
    flat = dict.fromkeys(up, 1.0)
    one, other = ratios([(up, flat), (flat, up)])

    assert one.interval is not None and other.interval is not None
    assert one.value == pytest.approx(1 / (other.value or 0))
    assert one.interval.low == pytest.approx(1 / other.interval.high)
    assert one.interval.high == pytest.approx(1 / other.interval.low)


def test_an_interval_does_not_depend_on_the_other_groups_of_its_size() -> None:
    group = [1.0, 1.2, 0.9]
    alone = intervals([group])

    assert alone[0] == pytest.approx(intervals([[5.0, 6.0, 9.0], group])[1])


def test_fewer_than_three_values_have_no_interval() -> None:
    assert [None, None] == intervals([[1.0, 2.0], []])


@pytest.mark.parametrize(("ratio", "expected"), [
    (Ratio(1.2, Interval(1.1, 1.3), 5), "faster"),
    (Ratio(0.8, Interval(0.7, 0.9), 5), "slower"),
    (Ratio(1.2, Interval(0.9, 1.5), 5), "no difference shown"),
    (Ratio(1.2, Interval(1.0, 1.5), 5), "no difference shown"),
    (Ratio(9.0, None, 2), "too few rounds"),
    (Ratio(None, None, 0), "no data"),
])
def test_a_verdict_needs_an_interval_that_excludes_one(ratio: Ratio, expected: str) -> None:
    assert expected == verdict(ratio)


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
    assert back.interval == pytest.approx((1 / alone.interval.high, 1 / alone.interval.low))


@pytest.mark.parametrize(("runs", "spreads"), [((3, 3), (1, 1)), ((5, 5), (1, 4)), ((5, 20), (1, 1))])
def test_the_interval_of_an_unpaired_ratio_covers_93_to_97_percent(runs: tuple[int, int],
                                                                  spreads: tuple[int, int]) -> None:
    random = np.random.default_rng([8, *runs, *spreads])
    one, other = (np.exp(0.03 * spread * random.standard_normal((SESSIONS // 2, count)))
                  for count, spread in zip(runs, spreads, strict=True))
    found = unpaired([(1.5 * a, b) for a, b in zip(one, other, strict=True)])
    covered = np.mean([ratio.interval is not None and ratio.interval.low <= 1.5 <= ratio.interval.high
                       for ratio in found])

    assert 0.93 <= covered <= 0.97


def test_an_unpaired_ratio_is_that_of_the_geometric_means_and_turned_round_its_inverse() -> None:
    one, other = [2.0, 8.0, 4.0], [1.0, 1.1, 0.9, 1.05]
    found, back = unpaired([(one, other), (other, one)])

    assert found.value == pytest.approx(4 / (1.0 * 1.1 * 0.9 * 1.05) ** 0.25) and 3 == found.pairs
    assert found.interval and back.interval
    assert back.interval == pytest.approx((1 / found.interval.high, 1 / found.interval.low))


def test_an_unpaired_ratio_needs_three_runs_a_side_for_an_interval() -> None:
    assert [Ratio(2.0, None, 2), Ratio(None, None, 0)] == unpaired([([2.0, 2.0], [1.0] * 5), ([], [1.0])])


def test_unpaired_runs_that_are_all_alike_have_an_interval_without_width() -> None:
    assert unpaired([([3.0] * 3, [2.0] * 4)])[0].interval == pytest.approx((1.5, 1.5))
