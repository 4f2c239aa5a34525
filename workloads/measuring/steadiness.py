"""When a warm-up is over: after a fixed number of steps, or once steps are steady. Python 3.6, standard library only.

The rule was chosen on real frameworks' traces and on made ones (docs/measurements.md): ten steps and half a second, a
short pass over the data, and two looks in a row at which steps do not get faster any more: the last quarter's median is
not below that of the quarter before, from 0.8 s on at most 3 % below it; or 20 s. A rule that sees steps alone stops on
the first plateau: a pass over data that are cached while they are first read.

Getting faster is what a warm-up is waited out for. To wait until quarters differ by 3 % neither way takes long on a
machine whose speed wanders, and what follows is no faster.
"""
import math
from statistics import median

from workloads.spec.cell import Cell
from workloads.spec.duration import WARM_UP_SECONDS, WARM_UP_STEPS

_LEAST_STEPS, _MOST_STEPS = WARM_UP_STEPS
_LONGEST_PASS = 10.0          # seconds: a longer pass over the data is not awaited
_FIRST_LOOK = 0.8             # of the least steps, seconds and pass: a look a quarter later is then in time
_STRICT_SECONDS = 0.8         # until then it may not be below it at all
_TOLERANCE = 0.03             # of the last quarter's median, by which it may be below that of the quarter before


class Fixed:
    """A warm-up of so many steps."""

    def __init__(self, steps):
        self._left = steps

    def over(self, seconds: float):
        """Why it ends after this step, or None while it goes on."""
        self._left -= 1
        return None if self._left > 0 else "fixed"

    def left(self):
        """How many more steps there are."""
        return max(1, self._left)


class Steady:
    """A warm-up of at least so many steps, until they are steady.

    pass_steps: the batches of a pass over the data whose first pass may cost more; 0 where it does not.
    seconds: that it lasts at least, and at most.
    """

    def __init__(self, steps, pass_steps: int = 0, seconds: tuple = WARM_UP_SECONDS):
        self._least_seconds, self._most_seconds = seconds
        self._own_least, self._least, self._pass_steps = steps, max(_LEAST_STEPS, steps), pass_steps
        self._times, self._total = [], 0.0
        self._look = 0                   # the steps at which it is looked at again, 0 before the first look
        self._was_flat = False           # at the last look

    def over(self, seconds: float):
        """Why it ends after this step, "steady" or "limit", or None while it goes on."""
        self._times.append(seconds)
        count = len(self._times)
        self._total += seconds if count > 1 else 0.0         # the first step holds what is done once
        if count >= self._own_least and (count >= _MOST_STEPS or (self._total >= self._most_seconds and count > 3)):
            return "limit"
        if count < self._look or not self._is_long(count, 1.0 if self._look else _FIRST_LOOK):
            return None
        self._look = count * 5 // 4                          # looked at rarely: 30 times in 10,000 steps
        quarter = count // 4
        before, last = median(self._times[-2 * quarter:-quarter]), median(self._times[-quarter:])
        tolerance = _TOLERANCE if self._total >= _STRICT_SECONDS else 0.0
        was_flat, self._was_flat = self._was_flat, before - last <= tolerance * last
        return "steady" if was_flat and self._was_flat else None

    def _is_long(self, count: int, share) -> bool:
        """Whether this share of the least steps and seconds, and of the pass, is over."""
        return (count >= share * self._least and self._total >= share * self._least_seconds
                and not self._is_in_pass(count, share))

    def _is_in_pass(self, count: int, share=1.0) -> bool:
        return count <= share * self._pass_steps and self._pass_steps * self._total < _LONGEST_PASS * count

    def left(self):
        """After how many more steps it is over at the earliest, if they take as long as the last ones."""
        count = len(self._times)
        step = median(self._times[-max(1, count // 4):]) if count else 0.0
        steady = max(self._look, self._least) - count
        if step <= 0:
            return max(1, steady)
        steady = max(steady, math.ceil((self._least_seconds - self._total) / step))
        if self._is_in_pass(count):
            steady = max(steady, self._pass_steps + 1 - count)
        limit = max(self._own_least - count, math.ceil((self._most_seconds - self._total) / step))
        return max(1, min(steady, limit, _MOST_STEPS))


def warm_up(cell: Cell, pass_steps: int = 0, seconds: tuple = WARM_UP_SECONDS):
    """What ends the cell's warm-up; None where it has none. seconds: that a steady one lasts at least, and at most."""
    if cell.warm == "steady":
        return Steady(cell.warmup, pass_steps, seconds)
    return Fixed(cell.warmup) if cell.warmup else None
