"""Workers that are started ahead of their turn: a few import side by side and wait; then each goes on alone.

An import takes one CPU, and in a short run longer than what is timed. Nothing is timed while they import, and a worker
that waits takes no CPU.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from runner.errors import BenchError
from runner.launchers.protocol import Running
from runner.launchers.watchdog import Limits

_AT_ONCE = 4             # what waits takes memory: 140 to 440 MB each
_POLL_SECONDS = 1.0

Start = Callable[[], Running | None]
T = TypeVar("T")


def groups(runs: Sequence[T]) -> Iterator[Sequence[T]]:
    """Those whose workers may wait together, in order."""
    return (runs[first:first + _AT_ONCE] for first in range(0, len(runs), _AT_ONCE))


class Early:
    """Those that wait for their turn, by run."""

    def __init__(self, waiting: dict[str, Running], seconds: float) -> None:
        self._waiting = waiting
        self.seconds = seconds          # that their imports took, for each

    def turn(self, run: str) -> Running | None:
        """The run's worker, which goes on; None where none was started early."""
        running = self._waiting.pop(run, None)
        if running:
            running.go_on()
        return running


@contextmanager
def started(starts: Mapping[str, Start], clock: Callable[[], float], is_stopping: Callable[[], bool]
            ) -> Iterator[Early]:
    """The workers of these runs, once all have imported; those that had no turn are stopped in the end.

    One that cannot be started, or does not import in time, is left for its turn, which tells why.
    """
    waiting: dict[str, Running] = {}
    began = clock()
    try:
        for run, start in starts.items():
            try:
                running = start()
            except BenchError:
                continue
            if running:
                waiting[run] = running
        for run, running in list(waiting.items()):
            while not running.has_imported(_POLL_SECONDS):
                if is_stopping() or clock() - began > Limits().start:
                    waiting.pop(run).stop()
                    break
        yield Early(waiting, (clock() - began) / max(1, len(waiting)))
    finally:
        for running in waiting.values():
            running.stop()
