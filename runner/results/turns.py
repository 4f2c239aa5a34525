"""The turns of a run: slices of timed steps, and what others took of the CPUs meanwhile. Pure.

A turn is judged by the machine, never by its own rate: who repeats what came out slow keeps the lucky turns.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from runner import student_t
from runner.results.lines import Steps
from workloads.spec.turns import TURNS

TREND = math.log1p(0.05)  # of a rate from the first turn to the last: less moves no rate by more than 2.5 %
LOST_SHARE = 0.01        # of a run's time: what others may cost the turns that count
FOREIGN_SHARE = 0.05     # of the CPUs that a worker may use: what ticks show of others, and not a tick that fell badly
_ON_A_LINE = 2           # turns, and no noise around it
_NOTHING = 1e-12         # of a log rate: what rounding leaves of equal rates


@dataclass(frozen=True)
class Turn:
    """A slice of timed steps."""

    steps: int
    seconds: float                   # of these steps, by the worker's clock
    foreign_share: float             # of its CPUs' time, that other programs took by the kernel's ticks, which take
                                     # short sleeps for work
    stolen_share: float              # the same, that the hypervisor's other guests took
    taken_share: float | None = None     # of a CPU, that other programs took by their own clocks; where they are seen
    waited_share: float = math.inf   # of the turn, that its threads together waited for a CPU
    still_share: float = 0.0         # of the turn, in which its threads did not run nor were ready, beyond what varies
    taken_by: str = ""               # who took the most; not stored

    @property
    def lost_share(self) -> float:
        """What others cost it of its time, at most, or a stop."""
        return sum(self._lost.values())

    @property
    def reason(self) -> str:
        """What cost the turn more than LOST_SHARE of its time; "" where nothing did."""
        return max(self._lost, key=self._lost.__getitem__) if self.lost_share > LOST_SHARE else ""

    @cached_property
    def _lost(self) -> dict[str, float]:
        """Shares of its time by what cost them.

        Another program costs it no more than that took of a CPU, nor more than its own threads waited for one: they
        wait for each other, too, where they are more than its CPUs.
        """
        taken = self.taken_share
        if taken is None:
            taken = self.foreign_share if self.foreign_share > FOREIGN_SHARE else 0.0
        return {f"{self.taken_by or 'another program'} took {taken:.1%} of a CPU": min(taken, self.waited_share),
                f"the host's other guests took {self.stolen_share:.1%} of the CPUs": self.stolen_share,
                f"it stood still for {self.still_share:.1%} of its time": self.still_share}

    @classmethod
    def of(cls, line: Steps) -> "Turn":
        """The turn of a line. Raises ValueError where it is of none."""
        said = line.turn
        if said is None:
            raise ValueError('key "turn" is missing')
        seconds = said.seconds or math.inf
        room, waited = seconds * max(1, said.cpus), said.waited_seconds
        foreign = max(0.0, said.busy_seconds - said.own_seconds - said.beside_seconds)
        taken = said.taken_seconds
        if said.has_ended and taken is not None and foreign > FOREIGN_SHARE * room:
            taken = max(taken, foreign)
        return cls(sum(line.sample_steps), sum(line.seconds), foreign / room, said.stolen_seconds / room,
                   None if taken is None else taken / seconds,
                   math.inf if waited is None else waited / seconds,
                   0.0 if waited is None else _still((said.own_seconds + waited) / seconds, said.usual_ready))


def worst(of_workers: Sequence[Turn]) -> Turn:
    """The turn of workers that train together, as the one that lost the most saw it: all others waited for it.

    Where one stood still all did, so no more is lost than the busiest one shows.
    """
    still = min(turn.still_share for turn in of_workers)
    return max((replace(turn, still_share=still) for turn in of_workers), key=lambda turn: turn.lost_share)


def together(turns: Sequence[Sequence[Turn]]) -> list[tuple[Turn, ...]]:
    """The turns of each of some workers that train together, as the worst one saw them."""
    lost = [worst(of_workers) for of_workers in zip(*turns, strict=False)]
    return [(*(replace(each, steps=turn.steps, seconds=turn.seconds) for each, turn in zip(lost, own, strict=False)),
             *own[len(lost):]) for own in turns]


def _still(ready: float, usual: float | None) -> float:
    """The share of a turn that it stood still, from how many of its threads ran or were ready on average.

    What varies by itself is let go: twice what a worker that waits by nature usually waits; of one whose threads share
    its CPUs, what moves no rate of TURNS turns by more than LOST_SHARE.
    """
    usual = 1.0 if usual is None else usual
    varies = 2 * (1 - usual) if usual < 1 else min(TURNS * LOST_SHARE, 2 * (usual - 1))
    return max(0.0, 1 - ready / max(1.0, usual) - varies)


def counting(turns: Sequence[Turn]) -> tuple[bool, ...]:
    """Whether each turn counts: the least disturbed ones, as many as lost at most LOST_SHARE of their time together."""
    counts = [False] * len(turns)
    lost = seconds = 0.0
    for index in sorted(range(len(turns)), key=lambda index: turns[index].lost_share):
        lost += turns[index].lost_share * turns[index].seconds
        seconds += turns[index].seconds
        if lost > LOST_SHARE * seconds:
            break
        counts[index] = True
    return tuple(counts)


def disturbed(turns: Sequence[Turn]) -> int:
    """How many turns do not count."""
    return counting(turns).count(False)


def trend(rates: Sequence[float]) -> float:
    """The change of the log rate over the turns, on a line through them; 0.0 where a t test at 5 % shows no slope."""
    count = len(rates)
    if count <= _ON_A_LINE or not all(0 < rate < math.inf for rate in rates):
        return 0.0
    logs = [math.log(rate) for rate in rates]
    slope, begin = statistics.linear_regression(range(count), logs)
    rest = math.fsum((log - begin - slope * index)**2 for index, log in enumerate(logs))
    error = math.sqrt(12 * rest / (count - _ON_A_LINE) / (count**3 - count))     # the indices' squares: (n^3 - n) / 12
    is_clear = abs(slope) > max(_NOTHING, student_t.quantile(0.975, count - _ON_A_LINE) * error)
    return slope * (count - 1) if is_clear else 0.0
