"""Cells on different GPUs at once, on request: who gets which GPUs, and waits for whom.

Runs side by side share the CPUs, the memory and the way to the GPUs, so they are marked. A round is over before the
next begins, and its cells start in its own order: one that lacks free GPUs is waited for, not overtaken. A cell on the
CPU runs alone.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event as Flag
from typing import TypeVar

from runner.machine.gpus import Gpu, Gpus, assigned
from runner.measuring.bench import Event
from runner.planning.plan import Planned
from runner.stacks.definition import Stack

T = TypeVar("T")


def free_for(planned: Planned, stack: Stack, found: Gpus, taken: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """The GPUs that a cell would get beside those that are taken; all for a cell on the CPU; () where it waits."""
    free = tuple(gpu for gpu in found.gpus if gpu not in taken)
    if planned.cell.device != "gpu":
        return free if free == found.gpus else ()
    return assigned(planned.cell, stack, found._replace(gpus=free))


def each(turns: Sequence[T], found: Gpus, needs: Callable[[T], tuple[Planned, Stack]],
         run: Callable[[T, Gpus], Iterator[Event]], is_stopping: Callable[[], bool]) -> Iterator[Event]:
    """The events of every turn of a round, each with GPUs of its own; none begins once the user asked to stop.

    What one raises is raised here, once those that have begun have ended.
    """
    said: SimpleQueue[Event | Future[None]] = SimpleQueue()
    is_over, waiting, error = Flag(), list(turns), None
    alive: dict[Future[None], tuple[Gpu, ...]] = {}

    def ran(turn: T, own: Gpus) -> None:
        for event in run(turn, own):
            if is_over.is_set():                 # nobody asks for events any more: a full disk
                return
            said.put(event)

    with ThreadPoolExecutor(thread_name_prefix="side-by-side") as pool:
        try:
            while True:
                waiting = [] if is_stopping() or error else waiting
                while waiting and (own := free_for(*needs(waiting[0]), found, sum(alive.values(), ()))):
                    future = pool.submit(ran, waiting.pop(0), found._replace(gpus=own))
                    alive[future] = own
                    future.add_done_callback(said.put)
                if not alive:
                    break
                heard = said.get()
                if isinstance(heard, Future):
                    del alive[heard]
                    error = error or heard.exception()
                else:
                    yield heard
            if error:
                raise error
        finally:
            is_over.set()
