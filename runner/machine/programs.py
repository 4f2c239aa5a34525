"""What CPU time the host's programs use, to the nanosecond, and who they are.

The kernel keeps a clock of each process, which everybody may read (clock_getcpuclockid(3)): ticks, which /proc/stat
counts, miss what takes less than a hundredth of a second.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from runner.machine.kernel_files import content

Clocks = Mapping[int, float]             # CPU seconds since its start, of each process by its number

_KERNEL_THREADS, _PARENT = "kthreadd", 2          # their parent on a host; in a container 2 is another, or not seen
_SCHEDULED = 2                           # CPUCLOCK_SCHED (linux/posix-timers.h)
_LEAST_SECONDS = 1e-4                    # of a program that is worth asking who it is
_OPENMP = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")         # how its threads wait


class Worker(NamedTuple):
    """A worker's process."""

    stack: str
    number: int                          # as it sees itself, in a container too


class Taken(NamedTuple):
    """What others took of the CPUs between two readings."""

    seconds: float
    by: str = ""                         # the program that took the most, and its user; of a worker its stack
    worker: str = ""                     # the stack whose worker that was, where it was one
    spinning: str = ""                   # of such a worker: that it does not wait, with what may have it do so
    most_seconds: float = 0.0            # that the one took that took the most


def clocks(proc: Path = Path("/proc"), clock: Callable[[int], float] = time.clock_gettime) -> Clocks | None:
    """Of all processes of this host now; None where they are not seen from here, as in most containers."""
    if content(proc / f"{_PARENT}/comm") != _KERNEL_THREADS:
        return None
    found = {}
    for number in (int(each.name) for each in proc.iterdir() if each.name.isdigit()):
        with suppress(OSError):          # it has ended
            found[number] = clock(~number << 3 | _SCHEDULED)
    return found


def taken(before: Clocks, after: Clocks, own: Worker | str | None = None, cpus: Set[int] = frozenset()) -> Taken:
    """What all took that may run on these CPUs, but this process, own (a worker, or a stack's) and what own started."""
    used = sorted(((seconds - before.get(number, 0.0), number) for number, seconds in after.items()), reverse=True)
    others = [(seconds, number) for seconds, number in used
              if seconds >= _LEAST_SECONDS and number != os.getpid() and _may_use(cpus, number)]
    found = [(seconds, number, workers) for seconds, number in others
             if own not in (workers := [*_workers(number)]) and own not in {each.stack for each in workers}]
    if not found:
        return Taken(0.0)
    most, number, workers = found[0]
    stack = workers[0].stack if workers else ""
    return Taken(sum(seconds for seconds, *_ in found), f"the worker of {stack}" if stack else _name(number), stack,
                 _spinning(number, stack) if stack else "", most)


def _may_use(cpus: Set[int], number: int) -> bool:
    """Whether a thread of the process may run on one of the CPUs; of one that has ended nobody knows."""
    if cpus:
        with suppress(OSError):
            threads = [int(each.name) for each in Path(f"/proc/{number}/task").iterdir()]
            return any(cpus & os.sched_getaffinity(each) for each in threads)
    return True


def _workers(number: int) -> Iterator[Worker]:
    """The workers that the process is, or descends from: one that a worker forked looks like it."""
    with suppress(psutil.Error, OSError, LookupError, TypeError, ValueError):      # what looks like one may be none
        process = psutil.Process(number)
        for each in (process, *process.parents()):
            words = each.cmdline()
            if words[1:3] == ["-m", "workloads"]:
                inside = re.findall(r"^NSpid:.*?(\d+)$", Path(f"/proc/{each.pid}/status").read_text(), re.MULTILINE)
                yield Worker(str(json.loads(words[3])["stack"]), int(inside[0]) if inside else each.pid)


def _name(number: int) -> str:
    with suppress(psutil.Error):
        process = psutil.Process(number)
        if not process.cmdline() and process.ppid() == _PARENT:
            return f"the kernel's thread {process.name()}"
        return f"process {number}, {process.name()} of {process.username()},"
    return "a program that has ended"


def _spinning(number: int, stack: str) -> str:
    """That a worker computes while it waits, with the variables that may have it do so."""
    found = ""
    with suppress(psutil.Error):
        said = psutil.Process(number).environ()
        found = " ".join(f"{name}={said[name]}" for name in _OPENMP if name in said)
    return f"{stack}'s threads spin while they wait{f' ({found})' if found else ''}"
