"""What intervals and words promise, by simulation with fixed seeds: at most 5 % are wrong, within the draws' own error.

`python -m tests.coverage` writes the same of more draws.
"""

from functools import cache

import numpy as np
import pytest

from runner.analysis import stats
from tests.coverage import CELLS, KINDS, Errors, errors, limit, whole_sessions

SESSIONS = 150               # of twelve ratios each


@cache
def found(kind: str, rounds: int) -> Errors:
    return errors(kind, rounds, SESSIONS)


@pytest.mark.parametrize("rounds", [5, 7, 10, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_at_most_one_word_in_twenty_on_equal_stacks_is_false(kind: str, rounds: int) -> None:
    assert found(kind, rounds).words <= limit(SESSIONS * CELLS)


@pytest.mark.parametrize("rounds", [5, 7, 10, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_at_least_95_intervals_of_a_hundred_hold_the_truth(kind: str, rounds: int) -> None:
    assert 1 - found(kind, rounds).coverage <= limit(SESSIONS * CELLS)


@pytest.mark.parametrize("rounds", [5, 7, 10, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_at_most_one_session_in_twenty_of_twelve_equal_cells_has_a_false_word(kind: str, rounds: int) -> None:
    assert found(kind, rounds).sessions <= limit(SESSIONS)


def test_words_of_stacks_that_share_a_baseline_hold_together_with_the_winners() -> None:
    assert whole_sessions("lognormal", 5, 60) <= limit(60)


def test_ratios_of_two_sessions_are_called_different_one_time_in_twenty_however_the_sessions_drift() -> None:
    trials = 1500
    random = np.random.default_rng(22)
    logs = 0.02 * random.standard_normal((trials, 2, 2, 5)) + 0.05 * random.standard_normal((trials, 2, 1, 1))
    sides = [[stats.ratios([(dict(enumerate(one)), dict(enumerate(other)))])[0] for one, other in np.exp(session)]
             for session in logs]
    false = sum(stats.verdict(stats.between(a, b)) is not stats.Verdict.NO_DIFFERENCE for a, b in sides)

    assert false / trials <= limit(trials)
