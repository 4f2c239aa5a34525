"""Statistics: known answers; what they promise is simulated in test_words_that_hold.py."""

import math

import pytest

from runner.analysis import stats
from runner.analysis.stats import Interval, Ratio, Verdict


def test_an_interval_is_student_s_on_logarithms() -> None:
    # logarithms 0, 1, 2: mean 1, standard error 1 / sqrt(3), t of two degrees 4.3027
    found = stats.interval([1.0, math.e, math.e**2])
    half = 4.30265 / 3**0.5

    assert found and tuple(found) == pytest.approx((math.exp(1 - half), math.exp(1 + half)), rel=1e-4)


@pytest.mark.parametrize(("words", "t"), [(1, 2.7764), (5, 4.6041), (50, 8.6103)])
def test_a_ratio_s_interval_allows_for_so_many_words(words: int, t: float) -> None:
    # log-ratios 1 to 5: mean 3, error 1.5811 / sqrt(5); t of 4 degrees at 97.5 %, 99.5 % and 99.95 %, as published
    rates, ones = {index: math.exp(index + 1) for index in range(5)}, dict.fromkeys(range(5), 1.0)
    found = stats.ratio(rates, ones, stats.error_of(words))

    assert found.interval and tuple(map(math.log, found.interval)) == pytest.approx(
        (3 - t * 0.70711, 3 + t * 0.70711), rel=1e-4)


def test_a_drift_that_both_stacks_share_cancels() -> None:
    drift = {0: 1.0, 1: 2.0, 2: 4.0, 3: 8.0}
    twice = {index: 2 * rate for index, rate in drift.items()}
    found = stats.ratio(twice, drift)

    assert (4, pytest.approx(2.0)) == (found.pairs, found.value)
    assert found.interval and tuple(found.interval) == pytest.approx((2.0, 2.0))


@pytest.mark.parametrize(("one", "other", "expected"), [
    # the geometric mean of 4 and 9; two pairs have no interval
    ({0: 4.0, 1: 9.0, 5: 100.0}, {0: 1.0, 1: 1.0, 2: 7.0}, Ratio(pytest.approx(6.0), None, 2)),
    ({0: 1.0}, {1: 1.0}, Ratio(None, None, 0))])
def test_only_rounds_that_both_have_are_paired(one: dict[int, float], other: dict[int, float],
                                               expected: Ratio) -> None:
    assert expected == stats.ratio(one, other)


def test_medians_and_geometric_means_and_what_is_known_of_few_values() -> None:
    assert 2.5 == stats.median([4.0, 1.0, 2.0, 3.0]) and stats.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert [None] * 5 == [stats.median([]), stats.geometric_mean([]), stats.mean_of([1.0, 2.0]),
                          *map(stats.interval, ([1.0, 2.0], []))]


@pytest.mark.parametrize(("value", "ends", "rounds", "expected"), [
    (1.2, (1.001, 1.4), 5, "faster"), (0.8, (0.7, 0.999), 5, "slower"), (1.2, (1.0, 1.4), 5, "no difference shown"),
    (1.2, (0.9, 1.4), 5, "no difference shown"), (1.2, (1.1, 1.3), 4, "needs five rounds"),
    (9.0, None, 1, "needs five rounds"), (None, None, 0, "no data"),
    # what others may cost the turns that count is no difference
    (1.00001, (1.00001, 1.00001), 5, "as fast"), (1.004, (0.999, 1.012), 5, "no difference shown"),
    (1.008, (1.001, 1.015), 5, "no difference shown"), (1.012, (1.001, 1.023), 5, "faster")])
def test_a_word_is_said_where_the_interval_of_five_rounds_excludes_one(
        value: float | None, ends: tuple[float, float] | None, rounds: int, expected: str) -> None:
    assert expected == stats.verdict(Ratio(value, Interval(*ends) if ends else None, rounds))


def test_equal_rates_are_as_fast_however_little_they_scatter() -> None:
    third = dict.fromkeys(range(5), 1 / 3)
    found = stats.ratio(third, {index: rate * (1 + 2e-16) for index, rate in third.items()})

    assert Verdict.AS_FAST is stats.verdict(found)


def test_two_ratios_of_different_rounds_are_held_against_each_other_by_welch_s_t() -> None:
    one, other = (stats.ratio(dict(enumerate(rates)), dict.fromkeys(range(5), 1.0))
                  for rates in ([2.0, 2.2, 1.8, 2.1, 1.9], [1.0, 1.0, 1.01, 0.99, 1.0]))
    found, back = stats.between(one, other), stats.between(other, one)

    assert found.value == pytest.approx((2.0 * 2.2 * 1.8 * 2.1 * 1.9 / (1.01 * 0.99)) ** 0.2) and 5 == found.pairs
    assert found.interval and back.interval and found.mean
    assert tuple(back.interval) == pytest.approx((1 / found.interval.high, 1 / found.interval.low))
    assert 4 < found.mean.degrees < 4.1                     # nearly all of the spread is one side's


def test_a_ratio_of_too_few_rounds_beside_another_has_no_interval() -> None:
    few, many = (stats.ratio(dict.fromkeys(range(count), 2.0), dict.fromkeys(range(count), 1.0)) for count in (2, 5))

    assert (pytest.approx(1.0), None, 2) == stats.between(few, many)[:3]
    assert (None, None, 0) == stats.between(Ratio(None, None, 0), many)[:3]


def test_a_ratio_of_two_sessions_allows_for_so_many_words_too() -> None:
    # variance 1, error 0.4472; of two 0.6325; t of eight degrees at 99.5 %
    logs = [1.0, -1.0, 1.0, -1.0, 0.0]
    one = stats.ratio({index: math.exp(log) for index, log in enumerate(logs)}, dict.fromkeys(range(5), 1.0))
    found = stats.between(one, one, stats.error_of(5))

    assert found.interval and math.log(found.interval.high) == pytest.approx(3.3554 * 0.63246, rel=1e-4)
