"""What a warm-up leaves of planted shapes, on made steps: python -m tests.warm_ups prints docs' table.

Of each kind: by how many % the steps that follow are above the last level on average, the share of runs in which they
are more than 5 % off, and the warm-up's mean seconds after the first step.
"""

from collections.abc import Iterator

import numpy as np

from tests import made_steps
from tests.made_steps import Runs
from workloads.measuring.steadiness import Steady

SECONDS = 40.0                                  # of made steps: twice the longest warm-up
NOISES = {"quiet": (0.08, 0.0, 1.0), "wandering": (0.12, 0.2, 1.5)}      # a step's, the level's, its memory in seconds
TIMED = {0.004: 300, 0.03: 50, 0.1: 20, 0.5: 20}                         # steps after the warm-up, by a step's seconds
_RUNS = 100


def shapes(step: float) -> dict[str, Runs]:
    """How many times as long as at the end each step takes; step: its seconds then."""
    index = np.arange(int(SECONDS / step))
    seconds = index * step
    return {"nothing": np.ones(len(index)),
            "decay over 3 and 20 steps": 1 + np.exp(-index / 3) + 0.3 * np.exp(-index / 20),
            "decay over 100 steps": 1 + 0.5 * np.exp(-index / 100),
            "2x for 40 steps": np.where(index < 40, 2.0, 1.0),
            "decay over 1 s": 1 + 0.5 * np.exp(-seconds),
            "decay over 3 s": 1 + 0.3 * np.exp(-seconds / 3),
            "1.3x for 3 s": np.where(seconds < 3, 1.3, 1.0),
            "rising for 10 s from 0.85x": 1 - 0.15 * np.exp(-seconds / 10)}


def noise(kind: str, step: float, random: np.random.Generator) -> Runs:
    """(runs, steps), lognormal: white, and a level that wanders."""
    own, level, memory = NOISES[kind]
    steps = int(SECONDS / step)
    wanders = made_steps.correlated(random, _RUNS, steps, level, np.exp(-step / memory), int(5 * memory / step))
    return made_steps.white(random, _RUNS, steps, own) * wanders / made_steps.WORKING**2


def ended(seconds: list[float]) -> int:
    """After how many steps the warm-up is over."""
    rule = Steady(0)
    return next(count for count, each in enumerate(seconds, 1) if rule.over(each))


def lines() -> Iterator[str]:
    """The table."""
    yield "| steps of | what is planted | " + " | ".join(NOISES) + " |"
    yield "|---|---|" + "---|" * len(NOISES)
    for step, timed in TIMED.items():
        random = np.random.default_rng(int(1000 * step))
        noises = {kind: noise(kind, step, random) for kind in NOISES}
        for name, shape in shapes(step).items():
            found = []
            for made in noises.values():
                runs = step * shape * made
                ends = [ended(run.tolist()) for run in runs]
                above = np.array([shape[end:end + timed].mean() / shape[-1] - 1 for end in ends])
                spent = np.mean([run[1:end].sum() for run, end in zip(runs, ends, strict=True)])
                found.append(f"{100 * above.mean():.1f}, {100 * (abs(above) > 0.05).mean():.0f}, {spent:.1f} s")
            yield f"| {1000 * step:g} ms | {name} | " + " | ".join(found) + " |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
