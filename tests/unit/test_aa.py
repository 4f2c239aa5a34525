"""A stack against itself: sides, false alarms and their interval."""

import json

import numpy as np
import pytest

from runner.errors import InputError
from runner.measuring.self_comparison import Plan, binomial, judge, study, words
from runner.planning.plan import Wishes, plan
from runner.results.rows import Measurements, measurements
from tests import made_rows as made
from tests.fakes import MACHINE, stack


def measured(rates: list[float]) -> Measurements:
    cell = made.cell()
    return measurements([made.session(), made.plan(cell, rounds=len(rates)), *made.runs(cell, rates)])


def test_the_session_is_one_cell_run_twice_a_round_of_every_comparison() -> None:
    found = plan(study("a", "lenet5", "train", Plan(5, 20)), {"a": stack("a")}, MACHINE, Wishes(), lambda stack: None)

    assert (1, 200) == (len(found.cells), found.rounds)


def test_plain_noise_is_called_a_difference_one_time_in_twenty() -> None:
    noise = np.exp(0.02 * np.random.default_rng(4).standard_normal(2 * 5 * 400))
    found = judge(measured((100 * noise).tolist()), Plan(5, 400), seed=1)

    assert 400 == found.judged and found.rate is not None and 0.03 <= found.rate <= 0.075
    assert found.interval and found.interval.low < 0.05 < found.interval.high


def test_a_drift_favours_no_side() -> None:
    rates = (100 * np.linspace(1, 2, 2 * 5 * 200) * np.exp(
        0.01 * np.random.default_rng(5).standard_normal(2000))).tolist()
    found = judge(measured(rates), Plan(5, 200), seed=1)

    assert found.rate is not None and found.rate <= 0.09
    assert found.interval and found.interval.low < 0.05


def test_another_seed_deals_the_runs_to_other_sides() -> None:
    runs = measured([100.0, 110.0, 104.0, 101.0, 99.0, 120.0])
    values = {judge(runs, Plan(3, 1), seed).comparisons[0].value for seed in range(8)}

    assert len(values) > 1


def test_an_alarm_is_one_that_the_verdict_says() -> None:
    # the second run of each pair is twice as fast: sides alternate by the coin, so no alarm unless all tosses agree
    runs = measured([100.0, 200.0] * 3)
    alarms = [judge(runs, Plan(3, 1), seed).alarms for seed in range(40)]

    assert {0, 1} == set(alarms) and 2 <= sum(alarms) <= 20


def test_a_run_that_failed_costs_its_pair_and_no_more() -> None:
    cell = made.cell()
    records = [*made.runs(cell, [100.0] * 7), *made.run(cell, 7, ending="died")]
    found = judge(measurements([made.session(), made.plan(cell, rounds=8), *records]), Plan(4, 1), seed=1)

    assert [3] == [ratio.pairs for ratio in found.comparisons]


@pytest.mark.parametrize(("hits", "trials", "low", "high"), [
    (0, 20, 0.0, 0.1684), (1, 20, 0.0013, 0.2487), (10, 20, 0.2720, 0.7280), (20, 20, 0.8316, 1.0)])
def test_the_interval_of_a_share_is_clopper_and_pearson_s(hits: int, trials: int, low: float, high: float) -> None:
    assert (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4)) == binomial(hits, trials)


def test_nothing_is_said_of_too_few_rounds() -> None:
    found = judge(measured([100.0] * 4), Plan(2, 1), seed=1)

    assert found.rate is None and "nothing can be said" in words(found, "t")[0]
    assert None is json.loads(json.dumps(found.record()))["interval"]


def test_a_session_of_several_cells_is_refused() -> None:
    cells = made.cell(), made.cell(batch=20)
    with pytest.raises(InputError, match="aa: found 2 cells, expected one"):
        judge(measurements([made.session(), made.plan(*cells)]), Plan(3, 1), seed=1)


@pytest.mark.parametrize(("task", "measure", "said"), [("lenet6", "train", 'aa: task "lenet6" is unknown'),
                                                       ("lenet5", "check", 'aa: --measure "check" is unknown')])
def test_an_unknown_task_or_measure_is_refused(task: str, measure: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        study("a", task, measure, Plan(5, 20))
