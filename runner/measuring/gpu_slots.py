"""Cells on different GPUs at once, on request: who gets which GPUs, and waits for whom.

Runs side by side share the CPUs, the memory and the way to the GPUs, so they are marked. A round is over before the
next begins, and its cells start in its own order: one that lacks free GPUs is waited for, not overtaken. A cell on the
CPU runs alone.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from runner.machine import gpus
from runner.planning.plan import Planned
from runner.stacks.definition import Stack

T = TypeVar("T")


class Slots:
    """The GPUs that no run has at the moment."""

    def __init__(self, all_gpus: gpus.Gpus) -> None:
        self._all, self._free = all_gpus, list(all_gpus.gpus)
        self._change = threading.Condition()

    def take(self, planned: Planned, stack: Stack) -> gpus.Gpus:
        """The GPUs of a cell, once they are free; all of them for a cell on the CPU."""
        with self._change:
            while not (own := self._next_free(planned, stack)):
                self._change.wait()
            self._free = [gpu for gpu in self._free if gpu not in own]
            return self._all._replace(gpus=own)

    def _next_free(self, planned: Planned, stack: Stack) -> tuple[gpus.Gpu, ...]:
        if planned.cell.device != "gpu":
            return self._all.gpus if len(self._free) == len(self._all.gpus) else ()
        return gpus.assigned(planned.cell, stack, self._all._replace(gpus=tuple(self._free)))

    def give(self, own: gpus.Gpus) -> None:
        """A run is over."""
        with self._change:
            self._free = [gpu for gpu in self._all.gpus if gpu in self._free or gpu in own.gpus]
            self._change.notify_all()


def each(turns: Sequence[T], slots: Slots, needs: Callable[[T], tuple[Planned, Stack]],
            run: Callable[[T, gpus.Gpus], str], is_stopping: Callable[[], bool]) -> list[str]:
    """What run says of every turn of a round, each with GPUs of its own; none begins once the user asked to stop."""
    def ran(turn: T, own: gpus.Gpus) -> str:
        try:
            return run(turn, own)
        finally:
            slots.give(own)

    with ThreadPoolExecutor(thread_name_prefix="side-by-side") as pool:
        begun: list[Future[str]] = []
        for turn in turns:
            own = slots.take(*needs(turn))
            if is_stopping() or any(one.done() and one.exception() for one in begun):     # a full disk
                slots.give(own)
                break
            begun.append(pool.submit(ran, turn, own))
        return [future.result() for future in begun]
