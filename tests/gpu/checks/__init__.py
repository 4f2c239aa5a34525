"""The checks: each a function of the environment under proof that gives lines, and whose docstring says what it proves.

A limit is a constant with its reason. What it leaves out is NotRun, what is not
to be had here NotHere; what crashes is NOT OK.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.gpu.checks import beside, clocks, energy, equality, killed, limits, memory, profile, study
from tests.gpu.environment import Environment
from tests.gpu.verdicts import Line


class Check(NamedTuple):
    """One of the proof's parts."""

    title: str
    run: Callable[[Environment], Iterator[Line]]
    seconds: float            # after which its processes are killed


# In the order in which they are run: rates before ways, and last what takes long, which does without what the eight
# minutes leave. Its seconds end a check that hangs: an H100 took 39, 41, about 90, 17 and 27 for the first five, 24 for
# 8, 138 for 7, and 221 for 3 when that had nine cases and four turns.
CHECKS = {
    "1": Check("The device computes the model", equality.equality, 120),
    "2": Check("Our clock and the device's", clocks.clocks, 90),
    "4": Check("The rate and the device's limit", limits.limits, 180),
    "5": Check("Energy, power and clocks", energy.energy, 40),
    "6": Check("Kernels, copies and gaps", profile.profile, 60),
    "3": Check("Our loop and a user's own, seconds over seconds", beside.beside_bare, 200),
    "8": Check("A killed worker", killed.killed, 60),
    "7": Check("The largest batch", memory.largest_batch, 150),
    "9": Check("The study, end to end", study.study, 120),
}
