"""Which runs are called steady: shapes by hand, and by simulation what is found and what is a false alarm."""

import numpy as np
import pytest

from runner.analysis.steadiness import Steadiness, drift, each, steadiness
from tests import made_steps as made

STEADY, SLOW_START, SLOW_END, TOO_SHORT, DRIFTING, _ = Steadiness
RUNS = 600                    # simulated ones of a kind


def share(runs: made.Runs, *kinds: Steadiness) -> float:
    return sum(one in (kinds or (SLOW_START, SLOW_END, DRIFTING)) for one in each(list(runs))) / len(runs)


def test_equal_steps_are_steady() -> None:
    assert STEADY is steadiness([0.1] * 12)


def test_a_start_at_twice_the_time_is_not_steady() -> None:
    assert SLOW_START is steadiness([0.2] * 5 + [0.1] * 95)


def test_an_end_at_twice_the_time_is_not_steady() -> None:
    assert SLOW_END is steadiness([0.1] * 95 + [0.2] * 5)


def test_three_first_steps_of_300_at_ten_times_the_time_are_not_steady() -> None:
    # 27 typical steps too much in 327 is 8 %
    assert SLOW_START is steadiness([0.1] * 3 + [0.01] * 297)


def test_one_slow_step_is_no_start() -> None:
    assert STEADY is steadiness([0.01] * 50 + [0.1] + [0.01] * 50)


def test_halves_that_differ_by_a_fifth_drift() -> None:
    assert DRIFTING is steadiness([0.12] * 20 + [0.1] * 20)


def test_halves_that_differ_by_a_twentieth_are_steady() -> None:
    # the bias is 2 %, and the line through both changes by 1.5 x 4 % = 6 %
    assert STEADY is steadiness([0.104] * 20 + [0.1] * 20)


@pytest.mark.parametrize(("seconds", "expected"), [
    ([], TOO_SHORT), ([1.0], TOO_SHORT), ([1.0] * 4, TOO_SHORT), ([1.0] * 5, STEADY), ([1.0] * 4 + [1.09], STEADY),
    ([1.0] * 4 + [1.2], TOO_SHORT), ([1.0] * 10 + [9.0], TOO_SHORT)])
def test_few_steps_are_steady_only_where_they_are_alike(seconds: list[float], expected: Steadiness) -> None:
    assert expected is steadiness(seconds)


def test_a_window_of_less_than_a_quarter_of_a_second_tells_nothing() -> None:
    assert TOO_SHORT is steadiness([0.002] * 100)          # 0.2 s
    assert STEADY is steadiness([0.003] * 100)


def test_steps_that_take_no_time_or_for_ever_tell_nothing() -> None:
    assert [TOO_SHORT] * 2 == each([np.zeros(20), np.full(20, 1e308)])


def test_runs_of_different_lengths_keep_their_places() -> None:
    assert [STEADY, TOO_SHORT, SLOW_START] == each([np.ones(20), np.ones(2), np.array([2.0] * 10 + [1.0] * 10)])


@pytest.mark.parametrize(("seconds", "expected"), [
    ([1.2] * 10 + [1.0] * 10, 0.1823), ([1.0] * 10 + [1.2] * 10, -0.1823), ([1.0] * 21, 0.0),
    ([9.0] + [1.0] * 19, 0.0953),                   # cut off at twice the typical step: 1.1 to 1
    ([], 0.0), ([1.0], 0.0), ([0.0] * 4, 0.0)])
def test_a_drift_is_the_first_half_over_the_second(seconds: list[float], expected: float) -> None:
    assert drift(seconds) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("noise", [0.05, 0.1])
def test_every_start_of_5_to_30_of_100_steps_at_two_to_ten_times_the_time_is_found(noise: float) -> None:
    for name, runs in made.starts(np.random.default_rng(1), RUNS, 100, noise):
        assert 1.0 == share(runs), name


def test_a_slope_of_15_percent_is_found_in_every_run_of_5_percent_noise() -> None:
    for name, runs in made.slopes(np.random.default_rng(2), RUNS, 100, 0.05):
        assert 1.0 == share(runs), name


def test_a_slope_of_15_percent_at_10_percent_noise_is_found_in_more_than_nine_of_ten() -> None:
    for name, runs in made.slopes(np.random.default_rng(3), RUNS, 100, 0.1):
        assert share(runs) >= 0.9, name


def test_false_alarms_stay_under_2_percent_at_10_percent_noise() -> None:
    assert share(made.white(np.random.default_rng(4), 4000, 100, 0.1)) < 0.02


def test_rare_slow_steps_and_alternating_ones_are_no_alarm() -> None:
    for name, runs in made.noises(np.random.default_rng(5), RUNS, 300):
        if "correlated" not in name:
            assert share(runs) <= 0.02, name


def test_noise_that_hides_a_jump_is_too_short_and_more_steps_tell() -> None:
    few, many = (share(made.white(np.random.default_rng(6), RUNS, steps, 0.15), TOO_SHORT) for steps in (30, 300))

    assert few > 0.8 and many < 0.02
