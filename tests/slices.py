"""Whether steps timed by turns are as fast as continuous ones, while the other workers of a comparison wait.

    python -m tests.slices RESULT [REPETITIONS]

Of each comparison of a session whose workers take turns, all workers run in virtual environments. Each takes a turn of
ten times the usual length, the next one does, and so on. A turn is all that a session would time of the first tenth;
the other nine tenths have no pause before them. Printed is the rate of the first tenth over the rate of the rest:
geometric mean and 95 % interval over the turns that count.
"""

import json
import random
import sys
import time
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate, compress, zip_longest
from pathlib import Path
from typing import Any

from runner import paths
from runner.analysis import stats
from runner.cells import lanes_key
from runner.datasets import choice
from runner.grouping import grouped
from runner.launchers import choose
from runner.launchers.watchdog import Ending, Limits, follow
from runner.machine import gpus, programs
from runner.measuring.session.live_run import STILL_LEADING
from runner.results import store
from runner.results.lines import Steps
from runner.results.turns import Turn, counting
from runner.stacks import definition
from workloads.spec import turns
from workloads.spec.cell import Cell, parse

TIMES = 10                # a turn's length
REPETITIONS = 40


class Worker:
    def __init__(self, cell: Cell, alive: ExitStack) -> None:
        self.cell, self.turns, self.ratios = cell, list[Turn](), list[float]()
        stack = definition.read_all(paths.STACKS)[cell.stack]
        launcher = choose.for_stacks("venv", lambda line: None, gpus.NONE, ())
        cache = paths.cache_folder()
        self._running = launcher.start(cell, stack, choice.digits32_folder(cache), "slices.0.1", listens=True)
        alive.callback(self._running.stop)
        self._heard = follow(self._running, Limits(), time.monotonic)

    def wait(self, event: str) -> dict[str, object]:
        for heard in self._heard:
            if isinstance(heard, Ending):
                raise SystemExit(f"{self.cell.stack}: {heard.word}: {heard.message}")
            if heard["event"] == event and (event != "warm" or "ended" in heard):
                return heard
        raise AssertionError("follow always yields an Ending last")

    def warm_up(self) -> Iterator[None]:
        """Import, build, and warm up; after each of the first two others may do it, too."""
        forks = self.wait("waiting").get("forks")
        yield
        self.told(f"go {json.dumps(self.cell._asdict())}" if forks else "go", "waiting")
        yield
        self.told("go", "warm")

    def told(self, words: str, event: str) -> dict[str, object]:
        """The event of this name that follows once the words are said to the worker."""
        self._running.tell(words)
        return self.wait(event)

    def take_turn(self) -> None:
        """A long turn."""
        self._running.tell(f"turn {turns.LEAD_SECONDS} {TIMES * turns.slice_seconds(self.cell)} {2 * TIMES}")
        time.sleep(STILL_LEADING)
        before = programs.clocks() or {}
        said: dict[str, Any] = dict(self.wait("steps"))
        own = programs.Worker(self.cell.stack, said["turn"]["process"])
        said["turn"]["taken_seconds"] = programs.taken(before, programs.clocks() or {}, own).seconds
        steps = Steps.read(said)
        self.turns.append(Turn.of(steps))
        first = max(1, bisect(list(accumulate(steps.seconds)), sum(steps.seconds) / TIMES))
        self.ratios.append(_rate(steps, slice(first)) / _rate(steps, slice(first, None)))


def _rate(steps: Steps, part: slice) -> float:
    return sum(steps.sample_steps[part]) / sum(steps.seconds[part])


def cells_of(result: Path) -> dict[str, list[Cell]]:
    """Of each comparison of a session the cells whose workers take turns."""
    plan = next(record for record in store.read(result) if record["event"] == "plan")
    return grouped(filter(turns.may_take, (parse(planned["cell"]) for planned in plan["cells"])), lanes_key)


def compared(cells: Sequence[Cell], repetitions: int) -> Iterator[tuple[Cell, list[float]]]:
    """Each cell with the ratios of its turns that count."""
    drawn = random.Random(1)
    with ExitStack() as alive:
        workers = [Worker(cell, alive) for cell in cells]
        for _ in zip_longest(*(worker.warm_up() for worker in workers)):
            pass                                     # import side by side, build side by side, warm up one by one
        for _ in range(repetitions):
            for worker in drawn.sample(workers, len(workers)):
                worker.take_turn()
        yield from ((worker.cell, list(compress(worker.ratios, counting(worker.turns)))) for worker in workers)


def main(result: Path, repetitions: int) -> None:
    for cells in cells_of(result).values():
        for cell, ratios in compared(cells, repetitions):
            low, high = stats.interval(ratios) or (float("nan"),) * 2
            print(f"{cell.task:8} {cell.measure:8} {cell.stack:16} {stats.geometric_mean(ratios):.3f} "
                  f"({low:.3f}-{high:.3f}), {len(ratios)} of {repetitions} count", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else REPETITIONS)
