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


FULL = {"cpus": 64, "own_seconds": 63 * 0.2, "busy_seconds": 64 * 0.2, "taken_seconds": 0.2}
BESIDE_ENDED = {"busy_seconds": 0.24, "taken_seconds": 0.0, "waited_seconds": 0.1, "has_ended": True}
STOPPED = {"seconds": 6.2, "own_seconds": 0.4, "waited_seconds": 0.0}


@pytest.mark.parametrize(("said", "reason"), [
    # one CPU of 64 is seen where threads waited for it
    ({**FULL, "waited_seconds": 0.2}, "another program took 100"), ({**FULL, "waited_seconds": 0.001}, ""),
    # what a program took that ended in the turn is told by ticks
    (BESIDE_ENDED, "another program took 20.0%"), ({**BESIDE_ENDED, "busy_seconds": 0.21}, ""),
    ({**BESIDE_ENDED, "has_ended": False}, ""),
    # it stood still, unless it always does
    (STOPPED, "stood still"), ({**STOPPED, "usual_ready": 0.5}, ""),
    # a stop shows in how many threads run or are ready: half of the turn, of two busy CPUs; what varies
    *(({"own_seconds": own, "waited_seconds": 0.0, "usual_ready": usual}, "stood still" if stood else "")
      for own, usual, stood in ((0.2, 2.0, True), (0.37, 2.0, False), (0.2, 1.0, False), (0.19, 1.0, True),
                                (0.2, None, False), (0.15, None, True), (0.15, 0.8, False))),
    # what the run's other places took of the same CPUs disturbs no turn
    ({"busy_seconds": 0.3}, "another program took 25"), ({"busy_seconds": 0.3, "beside_seconds": 0.1}, "")])
def test_a_worker_s_line_tells_what_disturbed_its_turn(said: dict[str, Any], reason: str) -> None:
    found = read(**said).reason
    assert reason in found and bool(reason) == bool(found)


def test_shares_are_of_the_cpus_that_the_worker_may_use() -> None:
    turn = read(busy_seconds=0.3, stolen_seconds=0.04)

    assert (2, 0.1) == (turn.steps, turn.seconds)
    assert (0.25, 0.1) == pytest.approx((turn.foreign_share, turn.stolen_share))          # of 0.4 CPU seconds


def test_a_turn_of_workers_that_train_together_lost_what_the_worst_one_lost() -> None:
    first, second = together([(CALM, DISTURBED, CALM), (lost(stolen_share=0.3, steps=7, seconds=0.2), CALM)])
    assert [(0.05, 0.3), (0.051, 0.0), (0.05, 0.0)] == [(each.foreign_share, each.stolen_share) for each in first]
    assert [(10, 0.1)] * 3 == [(each.steps, each.seconds) for each in first]
    assert [(7, 0.2, 0.3), (10, 0.1, 0.0)] == [(each.steps, each.seconds, each.stolen_share) for each in second]


def test_workers_that_train_together_stood_still_where_all_of_them_did() -> None:
    still = [[lost(still_share=share) for share in shares] for shares in ((0.3, 0.3), (0.0, 0.2))]
    assert [0.0, 0.2] == [each.still_share for each in together(still)[0]]


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
