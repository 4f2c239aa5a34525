"""The checks: each a function of the environment under proof that gives lines, and whose docstring says what it proves.

A limit is a constant with its reason. Where a check cannot be made it raises NotRun; what crashes is NOT OK.
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


# in the order in which they are run: what takes long comes last, and does without what the eight minutes leave
CHECKS = {
    "1": Check("The device computes the model", equality.equality, 150),
    "2": Check("Our clock and the device's", clocks.clocks, 120),
    "4": Check("The rate and the device's limit", limits.limits, 120),
    "5": Check("Energy, power and clocks", energy.energy, 60),
    "6": Check("Kernels, copies and gaps", profile.profile, 90),
    "8": Check("A killed worker", killed.killed, 90),
    "7": Check("The largest batch", memory.largest_batch, 150),
    "3": Check("Our loop and a user's own, seconds over seconds", beside.beside_bare, 270),
    "9": Check("The study, end to end", study.study, 200),
}
