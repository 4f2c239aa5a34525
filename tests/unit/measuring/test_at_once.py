"""A few things at a time: the order, how many, and what an error does."""

import threading
from itertools import count

import pytest

from runner.measuring import at_once


@pytest.mark.parametrize("at_a_time", [1, 2])
def test_results_come_in_the_order_of_the_items(at_a_time: int) -> None:
    assert [0, 1, 4, 9] == at_once.each(at_a_time, lambda number: number * number, range(4))


def test_two_are_done_at_a_time_and_no_more() -> None:
    both, running, most = threading.Barrier(2, timeout=10), 0, 0
    lock = threading.Lock()

    def meeting(_: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait()                                  # passes only where another one is under way
        with lock:
            running -= 1

    at_once.each(2, meeting, range(4))
    assert 2 == most


@pytest.mark.parametrize("at_a_time", [1, 2])
def test_an_error_is_raised_and_what_had_not_begun_is_left(at_a_time: int) -> None:
    begun = count()

    def failing(number: int) -> None:
        next(begun)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        at_once.each(at_a_time, failing, range(100))
    assert next(begun) < 100
