"""The rate of a run while it lasts."""
from typing import Any

import pytest

from runner.results.rows import measurements
from runner.results.runs import RateSoFar
from tests import made_rows as made


def steps(seconds: list[float], **values: Any) -> dict[str, Any]:
    return {"event": "steps", "first": 0, "seconds": seconds, **values}


@pytest.mark.parametrize(("events", "rates"), [
    ([steps([1.0]), steps([1.0, 4.0])], [10.0, 5.0]),                        # 3 * 10 samples in 6 s
    ([steps([4.0], count=10)], [25.0]), ([steps([1.0, 4.0], counts=[4, 6], count=10)], [20.0]),
    ([steps([1.0], place="node0"), steps([2.0], place="node1")], [10.0, 7.5]),        # the mean over workers
    ([{"event": "warm", "seconds": [1.0]}, {"event": "beat"}, steps([]), steps([0.0])], [None] * 4)])
def test_the_rate_is_of_all_steps_so_far(events: list[dict[str, Any]], rates: list[float | None]) -> None:
    rate = RateSoFar(10)
    assert rates == [rate.hear(event) for event in events]


def test_at_the_end_it_is_the_rate_that_the_result_has() -> None:
    cell, rate = made.cell(), RateSoFar(10)
    lines = steps([0.5, 0.25]), steps([1.0, 0.25])
    told = [rate.hear(line) for line in lines][-1]
    row, = measurements([made.session(), made.plan(cell), *made.run(cell, 0, *lines)]).rows
    assert pytest.approx(row.rates[0]) == told
