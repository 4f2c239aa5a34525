"""A few things at a time: the order, and what an error does."""

from itertools import count

import pytest

from runner.measuring import at_once


@pytest.mark.parametrize("at_a_time", [1, 2])
def test_results_come_in_order_and_after_an_error_what_had_not_begun_is_left(at_a_time: int) -> None:
    begun = count()

    def failing(number: int) -> None:
        next(begun)
        raise ValueError(number)

    assert [0, 1, 4, 9] == at_once.each(at_a_time, lambda number: number * number, range(4))
    with pytest.raises(ValueError, match="0"):
        at_once.each(at_a_time, failing, range(100))
    assert next(begun) < 100
