"""How evenly CPUs run: equal pieces of work, timed one after the other.

A neighbour on the same core, another virtual machine's too, takes turns that neither the load nor the kernel's stolen
time shows: the work just takes longer for a while.
"""

import os
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

_SECONDS = 1.0             # on each CPU
_CPUS = 4                  # at most
_ADDITIONS = 30_000        # a piece: about half a millisecond


class Pace(NamedTuple):
    """What eight in ten pieces of work took on a CPU, in seconds."""

    cpu: int
    least: float
    most: float

    @property
    def ratio(self) -> float:
        """How many times as long as the shortest of them the longest took."""
        return self.most / self.least


def most_uneven(cpus: Sequence[int], clock: Callable[[], float] = time.perf_counter) -> Pace:
    """The pace of the most uneven of some CPUs; the calling thread visits each for a second."""
    before = os.sched_getaffinity(0)
    try:
        return max((_of(cpu, clock) for cpu in cpus[::-(-len(cpus) // _CPUS)]), key=lambda pace: pace.ratio)
    finally:
        os.sched_setaffinity(0, before)


def _of(cpu: int, clock: Callable[[], float]) -> Pace:
    os.sched_setaffinity(0, {cpu})
    pieces: list[float] = []
    began = clock()
    while (now := clock()) - began < _SECONDS or len(pieces) < 10:
        sum(range(_ADDITIONS))
        pieces.append(clock() - now)
    pieces.sort()
    return Pace(cpu, pieces[len(pieces) // 10], pieces[-1 - len(pieces) // 10])
