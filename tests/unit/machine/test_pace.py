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


def seen(monkeypatch: pytest.MonkeyPatch, seconds: dict[int, list[float]]) -> tuple[pace.Pace, list[set[int]]]:
    """The pace of CPUs whose pieces take so long, and where the thread was sent."""
    clock, places = Clock(seconds), []

    def sent(who: int, cpus: set[int]) -> None:
        places.append(cpus)
        clock.cpu = min(cpus)
    monkeypatch.setattr(os, "sched_getaffinity", lambda who: set(seconds))
    monkeypatch.setattr(os, "sched_setaffinity", sent)
    monkeypatch.setattr(pace, "sum", clock.piece, raising=False)
    return pace.most_uneven(sorted(seconds), clock), places


def test_the_most_uneven_cpu_is_told_and_the_thread_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    found, places = seen(monkeypatch, {0: [0.003], 1: [0.003] * 5 + [0.006] * 5})
    assert 1 == found.cpu and pytest.approx((0.003, 0.006)) == found[1:]
    assert [{0}, {1}, {0, 1}] == places


def test_a_rare_long_piece_is_no_uneven_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = seen(monkeypatch, {0: [0.003] * 19 + [0.1]})
    assert pytest.approx(1.0) == found.ratio


def test_of_many_cpus_four_at_most_are_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    _, places = seen(monkeypatch, {cpu: [0.003] for cpu in range(10)})
    assert [{0}, {3}, {6}, {9}] == places[:-1]
