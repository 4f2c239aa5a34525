"""The turns of a run: slices of timed steps, and what others took of the CPUs meanwhile. Pure.

A turn is judged by the machine, never by its own rate: who repeats what came out slow keeps the lucky turns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from runner import student_t
from runner.results.lines import Steps
from workloads.spec.turns import LEAST_TURNS

TREND = math.log1p(0.05)  # of a rate from the first turn to the last: less moves no rate by more than 2.5 %
LOST_SHARE = 0.01        # of a turn's time: what others may cost it before it is repeated
FOREIGN_SHARE = 0.05     # of the CPUs that a worker may use: what ticks show of others, and not a tick that fell badly
_LEAST_OF_A_LINE = 3     # turns that have a line with noise around it
_NOTHING = 1e-12         # of a log rate: what rounding leaves of equal rates


@dataclass(frozen=True, slots=True)
class Turn:
    """A slice of timed steps."""

    steps: int
    seconds: float                   # of these steps, by the worker's clock
    foreign_share: float             # of its CPUs' time, that other programs took by the kernel's ticks
    stolen_share: float              # the same, that the hypervisor's other guests took
    taken_share: float = 0.0         # of a CPU, that other programs took by their own clocks
    waited_share: float = math.inf   # of the turn, that its threads together waited for a CPU
    still_share: float = 0.0         # of the turn, in which no thread of it ran or was ready, beyond what it is used to
    taken_by: str = ""               # who took the most; not stored

    @property
    def is_disturbed(self) -> bool:
        """Whether the machine was not the turn's alone."""
        return bool(self.reason)

    @property
    def reason(self) -> str:
        """What cost the turn more than LOST_SHARE of its time; "" where nothing did.

        Another program costs it no more than that took of a CPU, nor more than its own threads waited for one: they
        wait for each other, too, where they are more than its CPUs.
        """
        taken = max(self.taken_share, self.foreign_share if self.foreign_share > FOREIGN_SHARE else 0.0)
        lost = {
            f"{self.taken_by or 'another program'} took {taken:.1%} of a CPU": min(taken, self.waited_share),
            f"the host's other guests took {self.stolen_share:.1%} of the CPUs": self.stolen_share,
            f"it stood still for {self.still_share:.1%} of its time": self.still_share}
        return max(lost, key=lost.__getitem__) if sum(lost.values()) > LOST_SHARE else ""

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / self.seconds if self.seconds else math.inf

    @classmethod
    def of(cls, line: Steps) -> "Turn":
        """The turn of a line. Raises ValueError where it is of none."""
        said = line.turn
        if said is None:
            raise ValueError('key "turn" is missing')
        seconds = said.seconds or math.inf
        room, waited = seconds * max(1, said.cpus), said.waited_seconds
        still = 1 - (said.own_seconds + (waited or 0.0)) / seconds - 2 * said.still_share
        return cls(sum(line.sample_steps), sum(line.seconds),
                   max(0.0, said.busy_seconds - said.own_seconds) / room, said.stolen_seconds / room,
                   said.taken_seconds / seconds, math.inf if waited is None else waited / seconds,
                   max(0.0, still) if waited is not None else 0.0)


def counting(turns: Sequence[Turn]) -> tuple[bool, ...]:
    """Whether each turn counts: the undisturbed ones do."""
    return tuple(not turn.is_disturbed for turn in turns)


def are_enough(turns: Sequence[Turn]) -> bool:
    """Whether a run with these turns was measured; one that takes no turns was."""
    return not turns or sum(counting(turns)) >= LEAST_TURNS


def counted(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns that count."""
    return tuple(compress(turns, counting(turns)))


def trend(rates: Sequence[float]) -> float:
    """The change of the log rate from the first turn to the last on a line through all; 0.0 where it is within noise.

    Within noise: a two-sided t test of the line's slope at 5 %.
    """
    count = len(rates)
    if count < _LEAST_OF_A_LINE or not all(0 < rate < math.inf for rate in rates):
        return 0.0
    logs = [math.log(rate) for rate in rates]
    middle, mean = (count - 1) / 2, math.fsum(logs) / count
    squares = math.fsum((index - middle)**2 for index in range(count))
    slope = math.fsum((index - middle) * log for index, log in enumerate(logs)) / squares
    rest = math.fsum((log - mean - slope * (index - middle))**2 for index, log in enumerate(logs))
    error = math.sqrt(rest / (count - 2) / squares)
    is_clear = abs(slope) > max(_NOTHING, student_t.quantile(0.975, count - 2) * error)
    return slope * (count - 1) if is_clear else 0.0


def gets_faster(turns: Sequence[Turn], beside: Sequence[Sequence[Turn]]) -> bool:
    """Whether a run's turns get faster by more than TREND, and so against most of the runs that took turns with it.

    Where all get faster together the machine did. A turn is held against the one of the same number beside it.
    """
    counts = counting(turns)
    rates = [turn.rate for turn, is_counted in zip(turns, counts, strict=True) if is_counted]
    ratios = [[turn.rate / other.rate for turn, is_counted, other, is_other_counted
               in zip(turns, counts, others, counting(others), strict=False) if is_counted and is_other_counted]
              for others in beside]
    return trend(rates) > TREND and 2 * sum(trend(each) > TREND for each in ratios) >= len(ratios)
