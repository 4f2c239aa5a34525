"""How evenly CPUs run, by a clock that tests move."""

import os

import pytest

from runner.machine import pace


class Clock:
    """Readings in pairs: between pieces nothing passes, and a piece takes what the CPU's list says, again and again."""

    def __init__(self, seconds: dict[int, list[float]]) -> None:
        self._seconds, self._now, self._count = seconds, 0.0, 0
        self.cpu = 0

    def __call__(self) -> float:
        return self._now

    def piece(self, count: range) -> int:
        own = self._seconds[self.cpu]
        self._now += own[self._count % len(own)]
        self._count += 1
        return 0


@pytest.mark.parametrize(("seconds", "cpu", "ends", "places"), [
    ({0: [0.003], 1: [0.003] * 5 + [0.006] * 5}, 1, (0.003, 0.006), [{0}, {1}, {0, 1}]),
    ({0: [0.003] * 19 + [0.1]}, 0, (0.003, 0.003), [{0}, {0}]),                        # a rare long piece is none
    ({cpu: [0.003] for cpu in range(10)}, 0, (0.003, 0.003), [{0}, {3}, {6}, {9}, {*range(10)}])])
def test_the_most_uneven_of_at_most_four_cpus_is_told_and_the_thread_goes_back(
        seconds: dict[int, list[float]], cpu: int, ends: tuple[float, float], places: list[set[int]],
        monkeypatch: pytest.MonkeyPatch) -> None:
    clock, seen = Clock(seconds), list[set[int]]()

    def sent(who: int, cpus: set[int]) -> None:
        seen.append(cpus)
        clock.cpu = min(cpus)
    monkeypatch.setattr(os, "sched_getaffinity", lambda who: set(seconds))
    monkeypatch.setattr(os, "sched_setaffinity", sent)
    monkeypatch.setattr(pace, "sum", clock.piece, raising=False)

    found = pace.most_uneven(sorted(seconds), clock)
    assert cpu == found.cpu and pytest.approx(ends) == found[1:] and places == seen
