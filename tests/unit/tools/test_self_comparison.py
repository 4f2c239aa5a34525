"""A stack against itself: sides, false alarms and their interval."""

import json
from dataclasses import replace

import numpy as np
import pytest

from runner.errors import InputError
from runner.planning.plan import Wishes, plan
from runner.results.looks import Look
from runner.results.rows import Measurements
from tests import made_rows as made
from tests.fakes import MACHINE, stack
from tools.self_comparison import Plan, again, binomial, judge, lag_one, lines, study


def measured(one: list[float], other: list[float]) -> Measurements:
    """The rates of both names, by round."""
    cells = made.cell("torch"), made.cell(again("torch"))
    records = [record for cell, rates in zip(cells, (one, other), strict=True) for record in made.runs(cell, rates)]
    return made.measured(*cells, *records, rounds=len(one))


def noise(seed: int, rounds: int) -> list[list[float]]:
    return (100 * np.exp(0.02 * np.random.default_rng(seed).standard_normal((2, rounds)))).tolist()


def test_the_session_is_one_cell_under_two_names_in_every_round() -> None:
    stacks = {"a": stack("a"), again("a"): stack(again("a"))}
    planned = plan(study("a", "lenet5", "train", Plan(5, 20)), stacks, MACHINE, Wishes(), lambda stack: None)

    assert (["a", "a-again"], 100) == ([each.cell.stack for each in planned.cells], planned.rounds)
    assert 1 == len({each.cell._replace(stack="") for each in planned.cells})


def test_plain_noise_is_called_a_difference_one_time_in_twenty() -> None:
    outcome = judge(measured(*noise(4, 5 * 200)), Plan(5, 200))

    assert 200 == outcome.judged and outcome.rate is not None and 0.03 <= outcome.rate <= 0.075
    assert outcome.interval and outcome.interval.low < 0.05 < outcome.interval.high


def test_a_drift_favours_no_name_and_shows_in_the_rates_alone() -> None:
    drift = np.linspace(1, 2, 500)
    outcome = judge(measured(*(np.array(noise(5, 500)) * drift).tolist()), Plan(5, 100))

    assert outcome.interval and outcome.interval.low < 0.05 < outcome.interval.high
    assert abs(outcome.lag_ratios) < 0.1 and outcome.lag_rates > 0.9
    assert "its rate by +0.9" in lines(outcome, "t")[-1]


def test_every_repetition_is_of_its_own_rounds() -> None:
    # the second five rounds alone say that the other name is twice as fast
    outcome = judge(measured([100.0] * 10, [100.0] * 5 + [200.0] * 5), Plan(5, 2))

    assert [1.0, 2.0] == pytest.approx([ratio.value for ratio in outcome.comparisons])
    assert (1, 2) == (outcome.alarms, outcome.judged)


def test_a_run_that_failed_costs_its_round_and_no_more() -> None:
    outcome = judge(measured([100.0] * 12, [100.0] * 11), Plan(6, 2))

    assert [6, 5] == [ratio.pairs for ratio in outcome.comparisons]


def test_repetitions_are_of_all_rounds_that_count_whatever_round_is_lost_and_wherever_the_session_looked() -> None:
    cells = made.cell("torch"), made.cell(again("torch"))
    records = [record for cell in cells for first in (0, 4) for record in made.runs(cell, [100.0] * 3, first)]
    of_all = made.measured(*cells, *records, rounds=9)
    outcome = judge(replace(of_all, rows=tuple(replace(row, look=Look(5, 0.5)) for row in of_all.rows)), Plan(3, 3))

    assert ([3, 3], 6) == ([ratio.pairs for ratio in outcome.comparisons], outcome.rounds)


@pytest.mark.parametrize(("hits", "trials", "low", "high"), [
    (0, 20, 0.0, 0.1684), (1, 20, 0.0013, 0.2487), (10, 20, 0.2720, 0.7280), (20, 20, 0.8316, 1.0)])
def test_the_interval_of_a_share_is_clopper_and_pearson_s(hits: int, trials: int, low: float, high: float) -> None:
    interval = binomial(hits, trials)

    assert interval and (low, high) == pytest.approx(tuple(interval), abs=1e-4)


def test_nothing_is_said_of_too_few_rounds_and_what_is_no_cell_twice_is_refused() -> None:
    outcome = judge(measured([100.0] * 4, [100.0] * 4), Plan(4, 1))
    assert outcome.rate is None and "nothing can be said" in lines(outcome, "t")[0]
    assert None is json.loads(json.dumps(outcome.record()))["interval"]

    with pytest.raises(InputError, match="aa: found 1 cells, expected one under two names"):
        judge(made.measured(made.cell()), Plan(5, 1))
    for task, measure, said in (("lenet6", "train", 'aa: task "lenet6" is unknown'),
                                ("lenet5", "check", 'aa: --measure "check" is unknown')):
        with pytest.raises(InputError, match=said):
            study("a", task, measure, Plan(5, 20))


def test_a_value_that_follows_its_neighbour_is_correlated_with_it() -> None:
    assert lag_one([1.0, -1.0] * 50) == pytest.approx(-0.99)
    assert lag_one([float(index) for index in range(100)]) == pytest.approx(0.97, abs=0.005)
    assert lag_one([1.0, 1.0, 1.0]) is None and lag_one([1.0, 2.0]) is None
