"""A neighbour for measurements: one thread that computes in bursts of 0.3 to 3 s, 40 % of the time, drawn by a seed.

    python -m tests.neighbour SEED SECONDS
"""

import random
import sys
import time
from collections.abc import Iterator

BURST = (0.3, 3.0)           # seconds
SHARE = 0.4                  # of the time


def bursts(seed: int) -> Iterator[tuple[float, float]]:
    """Seconds of rest, then of work, for ever."""
    drawn = random.Random(seed)
    while True:
        work = drawn.uniform(*BURST)
        yield drawn.uniform(0.5, 1.5) * work * (1 - SHARE) / SHARE, work


def main(seed: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    for rest, work in bursts(seed):
        if time.monotonic() + rest > end:
            return
        time.sleep(rest)
        until = min(end, time.monotonic() + work)
        while time.monotonic() < until:
            pass


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
