"""Check 5: energy, power and clocks."""

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeVar

from tests.gpu.environment import Environment
from tests.gpu.management import Management, Reading
from tests.gpu.verdicts import Line, NotHere, NotRun, absent, between, judged, seen, skipped

ENERGY = 0.10                 # power is an average of up to a second, sampled for a quarter of the time (A100, H100)
SAME_ENERGY = 0.01            # of two readings of one counter, milliseconds apart
SAME_POWER = 0.10             # the runner reads the moment's, where there is one, beside the mean of a second
LEAD_SECONDS, LOAD_SECONDS = 3.0, 10.0       # a second's average has settled; the counter moves every 0.1 s
_Value = TypeVar("_Value")


def energy(env: Environment) -> Iterator[Line]:
    """Power, energy and clocks are plausible: sampled power, integrated over 10 s of load, is the counter's energy.

    The runner's own reader says the same energy and power, where pynvml is here.
    Power stays within the limit, clocks are not zero under load, and a reason that slows the GPU down is named.
    """
    if not env.is_gpu:
        raise NotHere("a GPU's energy needs a GPU")
    try:
        management = env.management()
    except OSError as error:
        raise NotRun(str(error)) from error
    idle = management.reading()
    with env.start("tests.gpu.inside", "load", env.package, str(LEAD_SECONDS + LOAD_SECONDS + 5)) as process:
        process.awaited("running", env.deadline)
        time.sleep(LEAD_SECONDS)
        reader = _runners(management.uuid())
        pairs = _sampled(lambda: (management.reading(), reader and reader()[0]), LOAD_SECONDS)
    readings = [(moment, own) for moment, (own, _) in pairs]
    yield from _energy_lines(readings)
    yield from _reader_lines([own for _, own in readings], [theirs for _, (_, theirs) in pairs])
    yield from _power_lines(readings, idle, management)


def _runners(uuid: str) -> Any:
    """The runner's reader of the GPU; None without the packages that it needs."""
    if not all(importlib.util.find_spec(name) for name in ("pynvml", "pydantic")):
        return None
    from runner.machine.nvml import Reader  # here: the proof does without the runner

    return Reader([uuid])


def _sampled(read: Callable[[], _Value], seconds: float) -> list[tuple[float, _Value]]:
    """(moment, what was read) every 0.05 s or so."""
    began, found = time.monotonic(), []
    while time.monotonic() - began < seconds:
        found.append((time.monotonic(), read()))
        time.sleep(0.05)
    return found


def _energy_lines(readings: list[tuple[float, Reading]]) -> Iterator[Line]:
    what = "integral of power over the counter's energy"
    (began, first), (ended, last) = readings[0], readings[-1]
    if None in (first.energy_joules, last.energy_joules, first.power_watts):
        yield absent(what, "this GPU has no energy counter, or does not tell its power")
        return
    integral = sum((after - before) * (one.power_watts + other.power_watts) / 2
                   for (before, one), (after, other) in pairwise(readings))
    counted = last.energy_joules - first.energy_joules
    yield between(what, integral / counted, 1 - ENERGY, 1 + ENERGY,
                  f"{integral / counted:.3f} ({integral:.0f} J, {counted:.0f} J in {ended - began:.1f} s)")


def _reader_lines(ours: list[Reading], theirs: list[Any]) -> Iterator[Line]:
    """What the runner's reader said beside this proof's own."""
    what = "the runner's reader of NVML over the proof's"
    if theirs[0] is None:
        yield skipped(what, "this Python has no pynvml or pydantic, which the runner needs")
        return
    if None not in (ours[0].energy_joules, ours[-1].energy_joules):
        ratio = _energy(theirs) / _energy(ours)
        yield between(f"{what}: energy", ratio, 1 - SAME_ENERGY, 1 + SAME_ENERGY)
    if None not in [each.power_watts for each in ours]:
        ratio = _power(theirs) / _power(ours)
        kind = "of the moment" if theirs[-1].is_instant else "a mean"
        yield between(f"{what}: power", ratio, 1 - SAME_POWER, 1 + SAME_POWER, f"{ratio:.3f} ({kind})")
    untold = [name for name, value in theirs[-1]._asdict().items() if value is None]
    yield seen("what the runner's reader is not told", ", ".join([*untold, *theirs[-1].gone]) or "nothing")


def _energy(readings: list[Any]) -> float:
    first, last = readings[0].energy_joules, readings[-1].energy_joules
    return float("nan") if None in (first, last) else last - first


def _power(readings: list[Any]) -> float:
    powers = [each.power_watts for each in readings]
    return float("nan") if None in powers else statistics.mean(powers)


def _power_lines(readings: list[tuple[float, Reading]], idle: Reading, management: Management) -> Iterator[Line]:
    powers = [each.power_watts for _, each in readings if each.power_watts is not None]
    limit, most = management.power_limit(), management.highest_clock()
    if powers and limit and idle.power_watts is not None:
        yield judged("power under load", f"{min(powers):.0f} to {max(powers):.0f} W (idle {idle.power_watts:.0f} W)",
                     f"above idle, <= {1.05 * limit:.0f} W (limit + 5 %)",
                     idle.power_watts < statistics.mean(powers) and max(powers) <= 1.05 * limit)
    clocks_seen = [each.sm_clock for _, each in readings if each.sm_clock is not None]
    if clocks_seen:
        most = most or 1e5                        # a GPU that does not tell: no clock is faster than 100 GHz
        yield judged("clock under load", f"{min(clocks_seen):.0f} to {max(clocks_seen):.0f} MHz",
                     f"> 0, <= {most:.0f} MHz", min(clocks_seen) > 0 and max(clocks_seen) <= most)
    told = [each.reasons for _, each in readings if each.reasons is not None]
    slow = {name: sum(name in each for each in told) / len(told) for each in told for name in each
            if name not in ("gpu_idle", "applications_clocks")}
    shares = ", ".join(f"{name} {share:.0%} of the time" for name, share in sorted(slow.items()))
    yield seen("what slowed the clock", shares or "nothing") if told else skipped("what slowed the clock", "not told")
