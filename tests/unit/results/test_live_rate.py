"""The rate of a run while it lasts."""
from typing import Any

import pytest

from runner.results.live_rate import RateSoFar
from runner.results.rows import measurements
from tests import made_rows as made


def steps(seconds: list[float], **values: Any) -> dict[str, Any]:
    return {"event": "steps", "first": 0, "seconds": seconds, **values}


def test_the_rate_is_of_all_steps_so_far_and_not_of_the_last_ones() -> None:
    rate = RateSoFar(10)
    assert 10.0 == rate.hear(steps([1.0]))
    assert 5.0 == rate.hear(steps([1.0, 4.0]))                # 3 * 10 samples in 6 s


def test_a_sample_of_many_steps_counts_them_all() -> None:
    assert 25.0 == RateSoFar(10).hear(steps([4.0], count=10))
    assert 20.0 == RateSoFar(10).hear(steps([1.0, 4.0], counts=[4, 6], count=10))


def test_workers_have_a_rate_each_whose_mean_is_told() -> None:
    rate = RateSoFar(10)
    rate.hear(steps([1.0], place="node0"))
    assert 7.5 == rate.hear(steps([2.0], place="node1"))


def test_what_brings_no_timed_steps_has_no_rate() -> None:
    rate = RateSoFar(10)
    assert [None, None, None] == [rate.hear(event) for event in (
        {"event": "warm", "seconds": [1.0]}, {"event": "beat"}, steps([]))]
    assert rate.hear(steps([0.0])) is None


def test_at_the_end_it_is_the_rate_that_the_result_has() -> None:
    cell, rate = made.cell(), RateSoFar(10)
    lines = steps([0.5, 0.25]), steps([1.0, 0.25])
    told = [rate.hear(line) for line in lines][-1]
    row, = measurements([made.session(), made.plan(cell), *made.run(cell, 0, *lines)]).rows
    assert pytest.approx(row.rates[0]) == told
