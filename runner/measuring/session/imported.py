"""What a round keeps for its next comparison: workers that have imported, and the threads that started them."""

from collections import defaultdict
from collections.abc import Hashable
from concurrent.futures import Executor

from runner.launchers.protocol import Running
from workloads.spec import turns
from workloads.spec.cell import Cell


class Imported:
    """The workers that wait for another comparison of their round: the next draws hash seeds and addresses anew."""

    def __init__(self, threads: Executor) -> None:
        """threads: that start workers, and last longer: the kernel ends a worker with the thread that started it."""
        self.threads = threads
        self._waiting: dict[Hashable, list[tuple[Running, int]]] = defaultdict(list)

    def keep(self, cell: Cell, running: Running, padding: int) -> None:
        """Keep the worker of a cell's run, which is over and waits for another cell; padding: of its environment."""
        self._waiting[turns.process(cell)].append((running, padding))

    def take(self, cell: Cell) -> tuple[Running, int] | None:
        """One that can run the cell, and its padding, if any waits and is still there."""
        waiting = self._waiting[turns.process(cell)]
        while waiting:
            running, padding = waiting.pop()
            running.forget_errors()
            exits = [running.exit(place, 0.0) for place in running.reporters]
            if all(each.code is None and not each.verdict for each in exits):
                return running, padding
            running.stop()
        return None

    def close(self) -> None:
        """End those that wait."""
        for waiting in self._waiting.values():
            while waiting:
                waiting.pop()[0].stop()

