"""Made steps, many runs at a time, for tests of what calls them steady: noise of known kinds, and planted shapes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Runs = NDArray[np.float64]           # (runs, steps), seconds

WORKING = 0.01                       # seconds of an undisturbed step


def white(random: np.random.Generator, runs: int, steps: int, noise: float) -> Runs:
    """Steps whose logarithms scatter by so much, each for itself."""
    return WORKING * np.exp(noise * random.standard_normal((runs, steps)))


def correlated(random: np.random.Generator, runs: int, steps: int, noise: float, neighbour: float,
               settling: int = 200) -> Runs:
    """The same with steps that follow the one before; settling: as many are made before them."""
    shocks = random.standard_normal((runs, steps + settling)) * np.sqrt(1 - neighbour**2)
    logs = np.zeros_like(shocks)
    for index in range(1, steps + settling):
        logs[:, index] = neighbour * logs[:, index - 1] + shocks[:, index]
    return WORKING * np.exp(noise * logs[:, settling:])


def noises(random: np.random.Generator, runs: int, steps: int) -> Iterator[tuple[str, Runs]]:
    """Runs in which nothing is planted."""
    for noise in (0.02, 0.05, 0.1, 0.13):
        yield f"white, {noise:.0%}", white(random, runs, steps, noise)
    for noise, neighbour in ((0.05, 0.5), (0.1, 0.3), (0.1, 0.5), (0.1, 0.9)):
        yield f"neighbours correlated by {neighbour}, {noise:.0%}", correlated(random, runs, steps, noise, neighbour)
    index = np.arange(steps)
    spikes = random.random((runs, steps)) < 0.01
    for name, factor in (("one step in 100 at 5x", np.where(spikes, 5, 1)),
                         ("every 50th at 3x", np.where(index % 50 == 7, 3, 1)),
                         ("every 43rd at 10x", np.where((index + random.integers(0, 43, (runs, 1))) % 43 == 0, 10, 1)),
                         ("every 5th at 2x", np.where(index % 5 == 0, 2, 1)),
                         ("alternating 1.3x", np.where(index % 2 == 0, 1.3, 1))):
        yield f"{name}, 5%", white(random, runs, steps, 0.05) * factor


def starts(random: np.random.Generator, runs: int, steps: int, noise: float) -> Iterator[tuple[str, Runs]]:
    """Runs whose first steps take longer."""
    for share in (0.05, 0.1, 0.2, 0.3):
        for factor in (2, 3, 5, 10):
            yield f"first {share:.0%} at {factor}x, {noise:.0%}", white(random, runs, steps, noise) * np.where(
                np.arange(steps) < share * steps, factor, 1)


def slopes(random: np.random.Generator, runs: int, steps: int, noise: float, change: float = 0.15
           ) -> Iterator[tuple[str, Runs]]:
    """Runs that drift, to faster and to slower."""
    for name, away in (("falling", np.linspace(change, 0, steps)), ("rising", np.linspace(0, change, steps))):
        yield f"{name} by {change:.0%}, {noise:.0%}", white(random, runs, steps, noise) * (1 + away)
