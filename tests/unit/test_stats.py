"""Statistics against distributions with known answers."""

import numpy as np
import pytest

from runner import stats

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize(("runs", "draws"), [(3, 4000), (5, 4000), (10, 1500), (20, 1500)])
@pytest.mark.parametrize("spread", ["normal", "lognormal"])
def test_a_95_percent_interval_covers_93_to_97_percent(runs: int, draws: int, spread: str) -> None:
    covered = 0
    for draw in range(draws):
        noise = RANDOM.normal(0, 0.02, runs) if spread == "normal" else RANDOM.lognormal(0, 0.3, runs) - np.exp(0.045)
        low, high = stats.log_interval(0.5 + noise, seed=draw)
        assert low is not None and high is not None
        covered += low <= np.exp(0.5) <= high
    assert 0.93 <= covered / draws <= 0.97


def test_two_equal_stacks_are_told_apart_about_as_often_as_five_percent_means() -> None:
    words = []
    for _ in range(4000):
        drift = RANDOM.normal(0, 0.2, 5)            # hits both alike: paired rounds cancel it
        ours, theirs = (np.exp(5 + drift + RANDOM.normal(0, 0.02, 5)) for _ in range(2))
        words.append(stats.verdict(stats.ratio(list(ours), list(theirs))))
    assert 0.035 <= 1 - words.count("no difference shown") / len(words) <= 0.065


def test_a_real_difference_is_shown_in_spite_of_a_larger_drift() -> None:
    drift = np.array([1.0, 0.5, 2.0, 1.5, 0.7])
    ours, theirs = 110 * drift * [1.01, 0.99, 1.0, 1.01, 0.99], 100 * drift
    found = stats.ratio(list(ours), list(theirs))
    assert found is not None and found.value == pytest.approx(1.1, rel=0.01)
    assert "faster" == stats.verdict(found)
    assert "slower" == stats.verdict(stats.ratio(list(theirs), list(ours)))


def test_the_interval_of_three_runs_is_student_s() -> None:
    # logs 0, 1, 2: mean 1, standard error 1 / sqrt 3, t(2; 0.975) = 4.302653
    low, high = stats.log_interval(np.array([0.0, 1.0, 2.0]))
    assert (np.log(low or 1), np.log(high or 1)) == (pytest.approx(1 - 4.302653 / 3**0.5), pytest.approx(1 + 4.302653 / 3**0.5))


def test_two_runs_give_a_number_but_no_interval_and_no_winner() -> None:
    found = stats.ratio([2.0, 2.0], [1.0, 1.0])
    assert found == stats.Estimate(pytest.approx(2.0), None, None, 2)
    assert "too few rounds" == stats.verdict(found)


def test_a_rate_is_the_median_of_runs() -> None:
    found = stats.rate([10.0, 30.0, 20.0])
    assert found is not None and 20.0 == found.value


def test_an_interval_that_touches_one_shows_no_difference() -> None:
    assert "no difference shown" == stats.verdict(stats.Estimate(1.1, 1.0, 1.2, 5))
    assert "faster" == stats.verdict(stats.Estimate(1.1, 1.0001, 1.2, 5))
    assert "slower" == stats.verdict(stats.Estimate(0.9, 0.8, 0.9999, 5))


def test_an_outlier_is_flagged_by_its_place() -> None:
    assert [3] == stats.outliers([10.0, 11.0, 9.0, 30.0, 10.5])      # 0.6745 * 19.5 / 0.5 is far over 3.5
    assert [] == stats.outliers([10.0, 11.0, 9.0, 10.5])


def test_nothing_has_no_rate_no_ratio_and_no_mean() -> None:
    assert stats.rate([]) is None and stats.ratio([], []) is None and stats.geometric_mean([]) is None


def test_a_geometric_mean_is_one() -> None:
    assert pytest.approx(4.0) == stats.geometric_mean([2.0, 8.0])
