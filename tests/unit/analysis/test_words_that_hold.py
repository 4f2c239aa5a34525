"""What intervals and words promise, by simulation with fixed seeds: at most 5 % are wrong, within the draws' own error.

`python -m tests.coverage` writes the same of more draws.
"""

import numpy as np
import pytest

from runner.analysis import stats
from runner.results import turns
from runner.results.turns import Turn
from tests.coverage import COMPARISONS, KINDS, STACKS, WORDS, counting, errors, limit, true_words, until
from workloads.spec.turns import TURNS

SESSIONS = 120


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_one_session_in_twenty_of_equal_stacks_has_a_false_word(kind: str) -> None:
    found = errors(kind, SESSIONS)

    assert found.sessions <= limit(SESSIONS) and found.coverage >= 0.99


def test_what_is_faster_by_a_fifth_is_said_beside_neighbours() -> None:
    assert true_words("neighbours", SESSIONS) > 0.95


def test_the_simulation_counts_the_turns_that_a_run_counts() -> None:
    shares = np.random.default_rng(1).choice([0.0, 0.5], (50, 24), p=[0.4, 0.6])
    for run, counts in zip(shares, counting(shares), strict=True):
        taken = next((index for index in range(24) if (run[:index] < 0.05).sum() == TURNS), 24)
        assert counts[:taken].tolist() == list(turns.counting([Turn(1, 0.1, share, 0.0) for share in run[:taken]]))
        assert not counts[taken:].any()


def test_to_add_rounds_until_intervals_are_narrow_makes_no_more_words_false() -> None:
    found = until(0.004, SESSIONS)

    assert found.sessions <= limit(SESSIONS) and found.coverage >= 0.99 and found.rounds < 15


def test_the_simulation_s_words_are_those_of_a_session() -> None:
    assert WORDS == COMPARISONS * (STACKS - 1) + COMPARISONS


def test_ratios_of_two_sessions_are_called_different_one_time_in_twenty_however_the_sessions_drift() -> None:
    trials = 1500
    random = np.random.default_rng(22)
    logs = 0.02 * random.standard_normal((trials, 2, 2, 5)) + 0.05 * random.standard_normal((trials, 2, 1, 1))
    sides = [[stats.ratio(dict(enumerate(one)), dict(enumerate(other))) for one, other in np.exp(session)]
             for session in logs]
    false = sum(stats.verdict(stats.between(a, b)) is not stats.Verdict.NO_DIFFERENCE for a, b in sides)

    assert false / trials <= limit(trials)
