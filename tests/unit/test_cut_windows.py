"""Short sessions that are cut out of a long one: how many of their intervals contain its ratio."""

import numpy as np
import pytest

from tests.cut_windows import held

ROUNDS = 400


def rates(noise: float, random: np.random.Generator) -> dict[int, list[float]]:
    """Of each round three windows' steps a second, all alike."""
    return {index: [rate] * 3 for index, rate in enumerate(np.exp(random.normal(0.0, noise, ROUNDS)))}


def test_nineteen_of_twenty_where_rounds_scatter_as_noise_does() -> None:
    random = np.random.default_rng(1)
    one, other = rates(0.1, random), rates(0.1, random)
    logs = [np.log(one[index][0] / other[index][0]) for index in range(ROUNDS)]

    assert held(one, other, float(np.exp(np.mean(logs))))[1] == pytest.approx(0.95, abs=0.02)


def test_a_round_that_few_short_sessions_meet_is_missed_and_a_wrong_truth_is_too() -> None:
    random = np.random.default_rng(1)
    one, other = rates(0.02, random), rates(0.02, random)
    one.update({index: [0.05] * 3 for index in range(0, ROUNDS, 20)})      # a round in twenty at a twentieth

    logs = [np.log(one[index][0] / other[index][0]) for index in range(ROUNDS)]
    assert held(one, other, float(np.exp(np.mean(logs))))[1] < 0.5
    assert held(one, other, 2.0)[1] < 0.3
