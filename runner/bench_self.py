"""What evenbench itself costs: its training loop against a bare one, and its start against the framework's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from runner import stats
from runner.launch import Ending, Launcher, Limits, follow, followed
from runner.stack import Stack
from workloads.spec.cell import Cell

HARNESS_GOAL = 1.01          # of the bare loop's time
START_GOAL_SECONDS = 1.0     # more than the framework's own import and first step
_STEPS_A_BLOCK = 40          # LeNet-5's steps take 3 to 15 ms: blocks of some tenths of a second
_BLOCKS = 12                 # of each kind in a process


class Cost(NamedTuple):
    """One figure with its 95 % interval, its goal and how it was measured."""

    what: str
    stack: str
    value: float | None
    interval: stats.Interval | None
    unit: str
    goal: float
    turns: int
    problem: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the goal is not excluded: the interval's lower end, or the value where there is none, is within."""
        least = self.interval.low if self.interval else self.value
        return least is not None and least <= self.goal


def harness(stack: Stack, launcher: Launcher, data: Path, cpus: int, turns: int, clock: Callable[[], float]) -> Cost:
    """Our loop's reported seconds over a bare loop's, by turns in one process; LeNet-5, batch 42, synthetic.

    A number is a process, since where its arrays happen to lie moves a step by up to a fifth; it is the median over
    blocks. Both nets have the framework's own initial weights: tanh takes longer for larger numbers.
    """
    cell = Cell(stack=stack.name, task="lenet5", measure="harness", input="synthetic", init="framework", steps=_BLOCKS,
                warmup=_STEPS_A_BLOCK, cpus=cpus)
    quotients, ending = [], Ending("ok")
    for _ in range(turns):
        events, ending = followed(launcher.start(cell, stack, data, "self.0.1"), Limits(), clock)
        blocks = [event["reported"] / event["bare"] for event in events if event["event"] == "harness"]
        if ending.word != "ok" or not blocks:
            break
        quotients.append(float(stats.median(blocks) or 0))
    return _cost("loop / bare loop", stack, quotients, "x", HARNESS_GOAL, ending)


def start(stack: Stack, launcher: Launcher, data: Path, cpus: int, turns: int, clock: Callable[[], float]) -> Cost:
    """Seconds from a worker's start to the end of its first step, less those of a bare script, by turns."""
    cell = Cell(stack=stack.name, task="lenet5", measure="train", input="synthetic", steps=1, warmup=1, cpus=cpus)
    more, ending = [], Ending("ok")
    for _ in range(turns):
        ours, ending = _first_step(cell, stack, launcher, data, clock, "workloads")
        theirs, bare_ending = _first_step(cell, stack, launcher, data, clock, "workloads.bare")
        ending = ending if ending.word != "ok" else bare_ending
        if ours is None or theirs is None:
            break
        more.append(ours - theirs)
    return _cost("start - bare start", stack, more, "s", START_GOAL_SECONDS, ending)


def _first_step(cell: Cell, stack: Stack, launcher: Launcher, data: Path, clock: Callable[[], float],
                module: str) -> tuple[float | None, Ending]:
    """Seconds from before the launch until the first step is told: by "warm", or by the bare script's "end"."""
    began = clock()
    running = launcher.start(cell, stack, data, "self.0.1", module)
    seconds = None
    try:
        for heard in follow(running, Limits(), clock):
            is_bare_end = isinstance(heard, Ending) and module != "workloads" and heard.word == "ok"
            if seconds is None and (is_bare_end or _is_warm(heard)):
                seconds = clock() - began
            if isinstance(heard, Ending):
                return seconds, heard
    finally:
        running.stop()
    raise AssertionError("follow always yields an Ending last")


def _is_warm(heard: dict[str, Any] | Ending) -> bool:
    return not isinstance(heard, Ending) and heard["event"] == "warm"


def _cost(what: str, stack: Stack, values: list[float], unit: str, goal: float, ending: Ending) -> Cost:
    if ending.word != "ok" or not values:
        return Cost(what, stack.name, None, None, unit, goal, len(values), f"{ending.word}: {ending.message}")
    if unit == "x":
        interval, = stats.intervals([values])
        return Cost(what, stack.name, stats.geometric_mean(values), interval, unit, goal, len(values))
    return Cost(what, stack.name, stats.median(values), None, unit, goal, len(values))


def run(stacks: list[Stack], launcher: Launcher, data: Path, cpus: int, turns: int, clock: Callable[[], float],
        say: Callable[[str], None]) -> list[Cost]:
    """Both costs of every stack."""
    costs = []
    for stack in stacks:
        say(f"bench-self: {stack.name}")
        costs.append(harness(stack, launcher, data, cpus, turns, clock))
        costs.append(start(stack, launcher, data, cpus, turns, clock))
    return costs
