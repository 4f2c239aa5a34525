"""A few things done at a time."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each(count: int, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """What the function gives for every item, in order, count at a time; after an error those that have begun end."""
    if count == 1:                                   # in this thread, which Ctrl-C ends
        return list(map(function, items))
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))
