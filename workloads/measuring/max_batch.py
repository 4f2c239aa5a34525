"""Measure max_batch: the largest batch that trains, by doubling and bisection, each batch in a process of its own.

A process that ran out of memory once is no fair judge of the next batch: allocators keep what they have, in pieces, and
some frameworks abort. This process imports no framework, so it takes next to nothing of the limit, and where the kernel
has to end one of the two, the trial is the larger one. A trial is a training cell with the same steps and warm-up.
"""
import json
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from workloads.process.errors import says_out_of_memory
from workloads.process.lifetime import end_with_parent
from workloads.spec.cell import Cell

MOST = 2 ** 16                   # samples a step: where memory has no limit, the search has
_FINENESS = 32                   # the search ends when the limit is known to one part in so many
_WORKER = (sys.executable, "-m", "workloads")
_KILLED, _ABORTED = (-9, 137), (-6, 134, -11, 139)


class Tried(NamedTuple):
    """How training with a batch ended."""

    batch: int
    ending: str                  # "ok", "oom", or the word that ends the search
    message: str
    seconds: float
    peak_bytes: int              # of the trial's process; None where it was killed


class _Ended(Exception):
    """A trial told of something else than memory."""


def search(first, trains):
    """(the largest batch that trains or 0, the smallest that was seen not to or None), beginning with first."""
    low, high, batch = 0, None, first
    while high is None and batch <= MOST:
        if trains(batch):
            low, batch = batch, 2 * batch
        else:
            high = batch
    while high is not None and high - low > max(1, low // _FINENESS):
        middle = (low + high) // 2
        if trains(middle):
            low = middle
        else:
            high = middle
    return low, high


def trial(cell: Cell, folder: str, emit, is_first: bool, worker: tuple = _WORKER):
    """The Tried of a training cell; what its worker tells is passed on as beats, the first one's start as it is."""
    began = time.perf_counter()
    end = {}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(list(worker) + [json.dumps(cell._asdict()), "--data", folder],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                   preexec_fn=end_with_parent)     # a killed search leaves nothing on a GPU
        for line in process.stdout:
            values = json.loads(line.decode())
            event = values.pop("event")
            if event == "end":
                end = values
            elif event == "start" and is_first:
                emit("start", **values)
            else:
                emit("beat")
        process.stdout.close()
        code = process.wait()
        errors.seek(0)
        output = errors.read().decode(errors="replace")
    ending = end.get("status") or _word(code, output)
    message = end.get("message") or "exit code %d; last words: %s" % (code, " ".join(output.split())[-400:])
    return Tried(cell.batch, ending, "" if ending == "ok" else message, time.perf_counter() - began,
                 end.get("peak_bytes"))


def _word(code, output):
    """How a trial ended that did not say it: the kernel kills where memory is full, C++ aborts where it finds none."""
    is_full = code in _KILLED or (code in _ABORTED and says_out_of_memory(output))
    return "oom" if is_full else "error"


def measure(cell: Cell, folder: str, emit, attempt=trial):
    """Search, send the "max_batch" event, and give the run's ending as (word, message)."""
    if cell.device == "cpu" and not cell.memory_bytes:
        return "unsupported", "max_batch on a CPU needs a limit: say memory_bytes"
    tried = []

    def trains(batch):
        trained = cell._replace(measure="train", batch=batch, warm="fixed", seconds=0.0)
        tried.append(attempt(trained, folder, emit, is_first=not tried))
        if tried[-1].ending not in ("ok", "oom", "not_finite"):     # a loss that became NaN did fit
            raise _Ended
        return tried[-1].ending != "oom"

    try:
        largest, smallest = search(cell.batch, trains)
    except _Ended:
        return tried[-1].ending, "batch %d: %s" % (tried[-1].batch, tried[-1].message)
    emit("max_batch", largest=largest, smallest_oom=smallest, limit_bytes=cell.memory_bytes or None,
         tried=[dict(each._asdict()) for each in tried])
    if not largest:
        return "oom", "not even one sample trains"
    return "ok", "" if smallest else "no batch up to %d ran out of memory" % largest
