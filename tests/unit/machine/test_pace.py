"""How evenly CPUs run, by a clock that tests move."""

import itertools
import os

import pytest

from runner.machine import pace
from tests.clock import FakeClock


@pytest.mark.parametrize(("seconds", "cpu", "ends", "places"), [
    ({0: [0.003], 1: [0.003] * 5 + [0.006] * 5}, 1, (0.003, 0.006), [{0}, {1}, {0, 1}]),
    ({0: [0.003] * 19 + [0.1]}, 0, (0.003, 0.003), [{0}, {0}]),                        # a rare long piece is none
    ({cpu: [0.003] for cpu in range(10)}, 0, (0.003, 0.003), [{0}, {3}, {6}, {9}, {*range(10)}])])
def test_the_most_uneven_of_at_most_four_cpus_is_told_and_the_thread_goes_back(
        seconds: dict[int, list[float]], cpu: int, ends: tuple[float, float], places: list[set[int]],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece takes what the CPU's list says, again and again, and between pieces nothing passes."""
    clock, seen, count = FakeClock(step=0.0), list[set[int]](), itertools.count()

    def piece(additions: range) -> None:
        own = seconds[min(seen[-1])]
        clock.advance(own[next(count) % len(own)])
    monkeypatch.setattr(os, "sched_getaffinity", lambda who: set(seconds))
    monkeypatch.setattr(os, "sched_setaffinity", lambda who, cpus: seen.append(cpus))
    monkeypatch.setattr(pace, "sum", piece, raising=False)

    found = pace.most_uneven(sorted(seconds), clock)
    assert cpu == found.cpu and pytest.approx(ends) == found[1:] and places == seen
