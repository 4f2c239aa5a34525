"""What intervals and words promise, by simulation with fixed seeds: at most 5 % are wrong, within the draws' own error.

`python -m tests.coverage` writes the same of more draws.
"""

import numpy as np
import pytest

from runner.analysis import stats
from runner.analysis.stats import Verdict
from runner.results import turns
from runner.results.looks import look, looks
from runner.results.turns import Turn
from tests.coverage import FASTER, KINDS, SPREADS, WORDS, counting, errors, limit, of_words, said
from workloads.spec.turns import TURNS

SESSIONS = 100


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_one_session_in_twenty_of_equal_stacks_has_a_false_word(kind: str) -> None:
    found = errors(kind, SESSIONS)

    assert found.sessions <= limit(SESSIONS) and found.coverage >= 0.99


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("until", [0.0, 0.02])
def test_so_do_sessions_of_few_and_many_words_that_end_at_any_look(words: int, until: float) -> None:
    sessions = 4000 // words

    assert of_words(*WORDS[words], sessions, until, SPREADS[1]).sessions <= limit(sessions)


def test_what_is_faster_by_a_fifth_is_said_beside_neighbours() -> None:
    assert errors("neighbours", SESSIONS, FASTER).words > 0.9


def test_a_sibling_that_spins_gets_no_word() -> None:
    found = errors("a sibling spins", SESSIONS, FASTER)

    assert (0.0, 0.0) == (found.words, found.rounds)


def test_the_simulation_counts_the_turns_that_a_run_counts() -> None:
    shares = np.random.default_rng(1).choice([0.0, 0.06, 0.5], (50, 24), p=[0.4, 0.1, 0.5])
    for run, counts in zip(shares, counting(shares), strict=True):
        made = [Turn(1, 0.1, share, 0.0) for share in run]
        taken = next((index for index in range(24) if sum(turns.counting(made[:index])) == TURNS), 24)
        assert counts[:taken].tolist() == list(turns.counting(made[:taken]))
        assert not counts[taken:].any()


def test_the_simulation_says_the_words_that_a_session_says() -> None:
    random = np.random.default_rng(3)
    logs = random.normal(0, 0.01, (200, 2, 5)) + random.choice([0.0, 0.004, 0.03], (200, 2, 1))
    ways = {Verdict.FASTER: 1, Verdict.SLOWER: -1, Verdict.AS_FAST: 2, Verdict.NO_DIFFERENCE: 0}
    rates = [[dict(enumerate(stack)) for stack in comparison] for comparison in np.exp(logs).tolist()]

    assert [ways[stats.verdict(stats.ratio(other, first))] for first, other in rates] == (
        said(logs, np.full(200, 5), 5, 1).ways[:, 0].tolist())


def test_looks_are_the_plan_s_and_spend_the_error_once() -> None:
    assert ([4], [5], [5, 8], [5, 8, 10], [5, 8, 12, 18, 20]) == tuple(map(looks, (4, 5, 8, 10, 20)))
    assert [(5, 0.5), (5, 0.5), (8, 0.25), (10, 0.25)] == [tuple(look(looks(10), rounds)) for rounds in (3, 7, 8, 10)]
    assert 1.0 == sum(look(looks(50), rounds).share for rounds in looks(50))


def test_ratios_of_two_sessions_are_called_different_one_time_in_twenty_however_the_sessions_drift() -> None:
    trials = 1500
    random = np.random.default_rng(22)
    logs = 0.02 * random.standard_normal((trials, 2, 2, 5)) + 0.05 * random.standard_normal((trials, 2, 1, 1))
    sides = [[stats.ratio(dict(enumerate(one)), dict(enumerate(other))) for one, other in np.exp(session)]
             for session in logs]
    false = sum(stats.between(a, b).excludes(1.0) for a, b in sides)

    assert false / trials <= limit(trials)
