"""When a warm-up is over: after a fixed number of steps, or once steps are steady. Python 3.6, standard library only.

The rule was chosen on 128 traces of real frameworks and on made ones (2026-11-22): ten steps and a second, a short pass
over the data, and a last half whose two quarters have medians within 3 %; or 20 s. A rule that sees steps alone stops
on the first plateau: a pass or a second of data that are cached while they are first read.

On a machine whose speed wanders, quarters differ by more than 3 % however long one waits. So from 3 s on 1 % more is
let pass with each second, up to 10 %: 215 warm-ups of such an hour took 600 s and not 769, and what followed those that
it ended earlier was not slower (2026-11-25; docs/measurements.md has what it costs on made traces).
"""
import math
from statistics import median

from workloads.spec.duration import WARM_UP_SECONDS, WARM_UP_STEPS

_LEAST_STEPS, _MOST_STEPS = WARM_UP_STEPS
_LEAST_SECONDS, _MOST_SECONDS = WARM_UP_SECONDS
_LONGEST_PASS = 10.0          # seconds: a longer pass over the data is not awaited
_TOLERANCE = 0.03             # between the medians of the last two quarters
_MOST_TOLERANCE = 0.1         # of a warm-up that is long already
_PATIENCE = 3.0               # seconds for which the first tolerance holds; it grows with the time from then on


class Fixed:
    """A warm-up of so many steps."""

    def __init__(self, steps):
        self._left = steps

    def over(self, seconds):
        """Why it ends after this step, or None while it goes on."""
        self._left -= 1
        return None if self._left > 0 else "fixed"

    def left(self):
        """How many more steps there are."""
        return max(1, self._left)


class Steady:
    """A warm-up of at least so many steps, until they are steady.

    pass_steps: the batches of a pass over the data whose first pass may cost more; 0 where it does not.
    """

    def __init__(self, steps, pass_steps=0):
        self._least, self._pass_steps = steps, pass_steps
        self._times, self._total, self._look = [], 0.0, max(_LEAST_STEPS, steps)

    def over(self, seconds):
        """Why it ends after this step, "steady" or "limit", or None while it goes on.

        A limit: nobody waits on, since enough time is gone, or much of it and quarters that differ little.
        """
        self._times.append(seconds)
        count = len(self._times)
        self._total += seconds if count > 1 else 0.0         # the first step holds what is done once
        if count >= self._least and (count >= _MOST_STEPS or (self._total >= _MOST_SECONDS and count > 3)):
            return "limit"
        if count < self._look or self._total < _LEAST_SECONDS or self._is_in_pass(count):
            return None
        self._look = count * 5 // 4 + 1                      # looked at rarely: 30 times in 10,000 steps
        quarter = count // 4
        before, last = median(self._times[-2 * quarter:-quarter]), median(self._times[-quarter:])
        difference = abs(before - last)
        if difference <= _TOLERANCE * last:
            return "steady"
        return "limit" if difference <= min(_MOST_TOLERANCE, _TOLERANCE * self._total / _PATIENCE) * last else None

    def left(self):
        """After how many more steps it is over at the earliest, if they take as long as the last ones."""
        count = len(self._times)
        step = median(self._times[-max(1, count // 4):]) if count else 0.0
        if step <= 0:
            return max(1, self._look - count)
        steady = max(self._look - count, math.ceil((_LEAST_SECONDS - self._total) / step))
        if self._is_in_pass(count):
            steady = max(steady, self._pass_steps + 1 - count)
        limit = max(self._least - count, math.ceil((_MOST_SECONDS - self._total) / step))
        return max(1, min(steady, limit, _MOST_STEPS))

    def _is_in_pass(self, count):
        return count <= self._pass_steps and self._pass_steps * self._total < _LONGEST_PASS * count


def warm_up(cell, pass_steps=0):
    """What ends the cell's warm-up; None where it has none."""
    if cell.warm == "steady":
        return Steady(cell.warmup, pass_steps)
    return Fixed(cell.warmup) if cell.warmup else None
