"""How batches are loaded, the same way in every framework. Python 3.6 and later, numpy only.

Normalised data lie whole in the host's memory before the clock starts. In each step numpy gathers a batch at once, in
the order that the cell says, and the framework takes it into its own memory. On a CPU nothing is loaded ahead; on a GPU
one thread prepares the next batch while the device computes.
"""
import itertools
import queue
import threading

import numpy as np

from workloads.spec import tasks
from workloads.spec.cell import Cell

_AHEAD = 1            # batches that wait for the device


def told(cell: Cell, workload):
    """How the cell's workload loads its batches, as a fact."""
    if cell.input == "synthetic":
        return "one batch, which lies on the device"
    if cell.input == "loader":
        return "from disk by %s" % workload.loader
    how = "padded before, copied each step" if tasks.is_sequence(cell.task) else _GATHERED
    ahead = "one thread, one batch ahead" if cell.device == "gpu" else "nothing ahead"
    return workload.loading or "%s; %s" % (how, ahead)


_GATHERED = "each batch gathered at once by numpy, data normalised before"


def orders(cell: Cell, count: int, shuffled):
    """The order of each pass over so many samples, without end; shuffled() is the framework's own of a pass."""
    if cell.order == "framework":
        return (shuffled() for _ in itertools.count())
    return itertools.repeat(np.arange(count))


def gathered(arrays, orders, batch, empty=np.empty):
    """Tuples of each array's samples, batch after batch, order after order; what fills no batch is dropped.

    empty(shape, dtype) makes the array that a batch is gathered into.
    """
    for order in orders:
        for first in range(0, len(order) - batch + 1, batch):
            yield tuple(taken(array, order[first:first + batch], empty) for array in arrays)


def taken(array, some, empty=np.empty):
    """The samples of some numbers, by one take."""
    batch = empty((len(some),) + array.shape[1:], array.dtype)
    return array.take(some, 0, batch, "clip")         # "raise", the default, would fill another array first


def for_device(cell: Cell, batches):
    """The batches of a cell as they are; for a GPU one thread prepares the next one."""
    return ahead(batches) if cell.device == "gpu" else batches


def ahead(batches):
    """The batches, of which one thread prepares the next while one is used. Raises what preparing it raised."""
    waiting = queue.Queue(_AHEAD)
    thread = threading.Thread(target=_prepare, args=(iter(batches), waiting), daemon=True)
    thread.start()
    while True:
        batch, error = waiting.get()
        if error is not None:
            raise error
        if batch is None:
            return
        yield batch


def _prepare(batches, waiting) -> None:
    try:
        for batch in batches:
            waiting.put((batch, None))
        waiting.put((None, None))
    except Exception as error:           # whatever it is, it is the step's that asks for the batch
        waiting.put((None, error))
