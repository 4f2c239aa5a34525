"""Which turns of a run count, and whether they get faster; values by hand."""

import math
from dataclasses import replace
from typing import Any

import pytest

from runner.results.lines import Steps
from runner.results.turns import LOST_SHARE, Turn, counting, together, trend
from tests import made_rows as made


def turn(foreign: float, stolen: float = 0.0) -> Turn:
    return Turn(10, 0.1, foreign, stolen)


CALM, DISTURBED = turn(0.05), turn(0.051)


def lost(**shares: Any) -> Turn:
    return replace(CALM, **shares)


@pytest.mark.parametrize(("one", "reason"), [
    (turn(0.05), ""),                                   # of ticks, which are too coarse for less
    (turn(0.051), "another program"), (turn(0.0, 0.011), "other guests"),
    (lost(taken_share=0.011), "another program"), (lost(taken_share=0.009), ""),
    (replace(DISTURBED, taken_share=0.0), ""),          # ticks that took its own short sleeps for work
    (lost(still_share=0.011), "stood still"),
    (lost(taken_share=0.5, waited_share=0.009), ""),    # on CPUs that it did not need
    (lost(waited_share=0.5), ""),                       # for its own threads
    (lost(taken_share=0.004, stolen_share=0.004, still_share=0.004), "took 0.4% of a CPU"),
    (lost(taken_share=0.12, taken_by="make of bob"), "make of bob took 12.0% of a CPU")])
def test_a_turn_is_judged_by_what_the_machine_cost_it(one: Turn, reason: str) -> None:
    assert (bool(reason), True) == (one.lost_share > LOST_SHARE, reason in one.reason)


def read(**said: Any) -> Turn:
    quiet = {"seconds": 0.2, "cpus": 2, "own_seconds": 0.2, "busy_seconds": 0.2, "stolen_seconds": 0.0}
    return Turn.of(Steps.read(made.steps([0.05, 0.05], turn={**quiet, **said})))


def test_one_cpu_of_64_is_seen_where_threads_waited_for_it() -> None:
    full = {"cpus": 64, "own_seconds": 63 * 0.2, "busy_seconds": 64 * 0.2, "taken_seconds": 0.2}
    assert "another program took 100" in read(**full, waited_seconds=0.2).reason
    assert not read(**full, waited_seconds=0.001).reason


@pytest.mark.parametrize(("ended", "busy", "reason"), [
    (True, 0.24, "another program took 20.0%"), (True, 0.21, ""), (False, 0.24, "")])
def test_what_a_program_took_that_ended_in_the_turn_is_told_by_ticks(ended: bool, busy: float, reason: str) -> None:
    found = read(busy_seconds=busy, taken_seconds=0.0, waited_seconds=0.1, has_ended=ended).reason
    assert found.partition(" of a CPU")[0] == reason


def test_a_worker_that_stood_still_is_disturbed_unless_it_always_does() -> None:
    stopped = {"seconds": 6.2, "own_seconds": 0.4, "waited_seconds": 0.0}
    assert "stood still" in read(**stopped).reason
    assert not read(**stopped, usual_ready=0.5).reason


@pytest.mark.parametrize(("own", "usual", "stood"), [
    (0.2, 2.0, True),            # half of the turn, of two busy CPUs
    (0.37, 2.0, False),          # what varies
    (0.2, 1.0, False), (0.19, 1.0, True), (0.2, None, False), (0.15, None, True), (0.15, 0.8, False)])
def test_a_stop_shows_in_how_many_threads_run_or_are_ready(own: float, usual: float | None, stood: bool) -> None:
    assert stood == bool(read(own_seconds=own, waited_seconds=0.0, usual_ready=usual).reason)


def test_shares_are_of_the_cpus_that_the_worker_may_use() -> None:
    turn = read(busy_seconds=0.3, stolen_seconds=0.04)

    assert (2, 0.1) == (turn.steps, turn.seconds)
    assert (0.25, 0.1) == pytest.approx((turn.foreign_share, turn.stolen_share))          # of 0.4 CPU seconds


def test_what_the_run_s_other_places_took_of_the_same_cpus_disturbs_no_turn() -> None:
    assert "another program took 25" in read(busy_seconds=0.3).reason
    assert not read(busy_seconds=0.3, beside_seconds=0.1).reason


def test_a_turn_of_workers_that_train_together_lost_what_the_worst_one_lost() -> None:
    first, second = together([(CALM, DISTURBED, CALM), (lost(stolen_share=0.3, steps=7, seconds=0.2), CALM)])
    assert [(0.05, 0.3), (0.051, 0.0), (0.05, 0.0)] == [(each.foreign_share, each.stolen_share) for each in first]
    assert [(10, 0.1)] * 3 == [(each.steps, each.seconds) for each in first]
    assert [(7, 0.2, 0.3), (10, 0.1, 0.0)] == [(each.steps, each.seconds, each.stolen_share) for each in second]


def test_workers_that_train_together_stood_still_where_all_of_them_did() -> None:
    still = [[lost(still_share=share) for share in shares] for shares in ((0.3, 0.3), (0.0, 0.2))]
    assert [0.0, 0.2] == [each.still_share for each in together(still)[0]]


def test_undisturbed_turns_count() -> None:
    assert (True, False, True, False) == counting([CALM, DISTURBED, CALM, DISTURBED])


@pytest.mark.parametrize(("lost", "counts"), [
    ([0.02, 0.0, 0.0], [True] * 3), ([0.04, 0.0, 0.0], [False, True, True]),      # 0.67 and 1.3 % of three turns
    ([0.04, 0.02, 0.0, 0.0], [False, True, True, True]), ([0.011] * 3, [False] * 3), ([0.01] * 3, [True] * 3)])
def test_turns_count_that_lost_at_most_a_hundredth_together(lost: list[float], counts: list[bool]) -> None:
    assert counts == list(counting([turn(0.0, share) for share in lost]))


def test_a_trend_is_the_change_on_a_line_through_the_logarithms() -> None:
    assert trend([math.exp(0.1 * index) for index in range(12)]) == pytest.approx(1.1)
    assert trend([math.exp(-0.1 * index) for index in range(12)]) == pytest.approx(-1.1)


@pytest.mark.parametrize(("noise", "expected"), [(0.5, 0.0), (0.1, 2.0)])
def test_a_trend_within_its_noise_is_none(noise: float, expected: float) -> None:
    # logs 0, 1 + a, 2 - a, 3: by hand the slope is 1 - a / 5 x 1 = 1 - 0.2 a, the rest 1.8 a^2, its error
    # sqrt(1.8 / 2 / 5) a = 0.4243 a; t of two degrees at 97.5 % is 4.303: 0.9 < 0.913 for 0.5, 0.98 > 0.18 for 0.1
    found = trend([math.exp(log) for log in (0.0, 1 + noise, 2 - noise, 3.0)])

    assert found == (pytest.approx(3 * (1 - 0.2 * noise)) if expected else 0.0)


@pytest.mark.parametrize("rates", [[], [1.0, 2.0], [5.0] * 12, [1.0, 0.0, 2.0], [1 / 3, 1 / 3 * (1 + 1e-16), 1 / 3]])
def test_without_a_line_there_is_no_trend(rates: list[float]) -> None:
    assert 0.0 == trend(rates)
