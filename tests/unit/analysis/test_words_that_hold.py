"""What intervals and words promise, by simulation with fixed seeds: at most 5 % are wrong, within the draws' own error.

`python -m tests.coverage` writes the same of more draws.
"""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from runner.analysis import stats
from tests.coverage import CELLS, KINDS, LOSSES, SHARES, Errors, errors, limit, whole_sessions, words_beside_slow_starts

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


@pytest.mark.parametrize("rounds", [5, 7, 10, 20])
@pytest.mark.parametrize("share", SHARES)
def test_slow_starts_in_some_runs_make_no_more_false_words_than_chance(share: float, rounds: int) -> None:
    trials = 1000
    assert max(words_beside_slow_starts(share, loss, rounds, trials) for loss in LOSSES) <= limit(trials)


def test_words_of_stacks_that_share_a_baseline_hold_together_with_the_winners() -> None:
    assert whole_sessions("lognormal", 5, 60) <= limit(60)


def false_words(sessions: NDArray[np.float64], *spread: float) -> float:
    """The share of sessions with a word, of log-ratios by round of equal stacks."""
    pairs = [(dict(enumerate(rates)), dict.fromkeys(range(5), 1.0)) for rates in np.exp(sessions).tolist()]
    words = [stats.verdict(ratio) for ratio in stats.ratios(pairs, *spread)]
    return sum(word is not stats.Verdict.NO_DIFFERENCE for word in words) / len(words)


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1])
def test_intervals_hold_what_other_sessions_find_where_the_spread_between_them_is_allowed_for(noise: float) -> None:
    trials = 1500
    random = np.random.default_rng(25)
    sessions = 0.03 * random.standard_normal((trials, 1)) + noise * random.standard_normal((trials, 5))

    assert false_words(sessions, 0.03) <= limit(trials) < false_words(sessions)


@pytest.mark.parametrize("noise", [0.02, 0.075, 0.15, 0.3])
def test_words_hold_where_sessions_differ_by_two_fifths_of_what_rounds_scatter(noise: float) -> None:
    trials = 1500
    random = np.random.default_rng(27)
    sessions = noise * (0.4 * random.standard_normal((trials, 1)) + random.standard_normal((trials, 5)))

    assert false_words(sessions, 0.03, 0.4) <= limit(trials)
    assert noise < 0.15 or false_words(sessions, 0.03) > limit(trials)


def test_the_spread_between_sessions_is_found_from_their_ratios() -> None:
    random = np.random.default_rng(26)
    cells = np.exp(0.03 * random.standard_normal((300, 6, 1)) + 0.03 * random.standard_normal((300, 6, 5))).tolist()
    spread, degrees = stats.spread_of([
        stats.ratios([(dict(enumerate(rates)), dict.fromkeys(range(5), 1.0)) for rates in cell])
        for cell in cells]) or (0.0, 0)

    assert 1500 == degrees and spread == pytest.approx(0.03, rel=0.1)


def test_ratios_of_two_sessions_are_called_different_one_time_in_twenty_however_the_sessions_drift() -> None:
    trials = 1500
    random = np.random.default_rng(22)
    logs = 0.02 * random.standard_normal((trials, 2, 2, 5)) + 0.05 * random.standard_normal((trials, 2, 1, 1))
    sides = [[stats.ratios([(dict(enumerate(one)), dict(enumerate(other)))])[0] for one, other in np.exp(session)]
             for session in logs]
    false = sum(stats.verdict(stats.between(a, b)) is not stats.Verdict.NO_DIFFERENCE for a, b in sides)

    assert false / trials <= limit(trials)
