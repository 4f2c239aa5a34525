"""Check 8: a killed worker."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.gpu.checks.cells import sized
from tests.gpu.environment import Environment
from tests.gpu.management import Management
from tests.gpu.verdicts import Line, absent, judged, skipped

SLACK_BYTES = 64 << 20        # of a driver's own, after a process is gone


def killed(env: Environment) -> Iterator[Line]:
    """A worker that is killed in mid-training leaves no process, and gives the GPU's memory back.

    So does a killed search for the largest batch, whose trial is a process of its own.
    """
    cell = {**sized(env, task="resnet18", measure="train", batch=64), "steps": 1000000}
    yield from _killed(env, "training", cell, "steps")
    no_limit = 0 if env.is_gpu else 1 << 40           # a CPU's search asks for one, which nothing here enforces
    yield from _killed(env, "search", {**cell, "measure": "max_batch", "memory_bytes": no_limit}, "start")


def _killed(env: Environment, what: str, cell: dict[str, Any], event: str) -> Iterator[Line]:
    """Kill the worker of a cell once it said the event."""
    management = None
    with suppress(OSError):
        management = env.management() if env.is_gpu else None
    before = management.reading().used_bytes if management else None
    with env.start_cell(**cell) as process:
        process.awaited(event, env.deadline)
        time.sleep(1.0)                               # a trial that began has taken memory by then
        during = management.reading().used_bytes if management else None
        group = process.popen.pid
        os.kill(group, signal.SIGKILL)
        process.popen.wait()
        is_gone = _until(lambda: not _of_group(group), 10)
        yield judged(f"{what}: processes left 10 s after SIGKILL", str(len(_of_group(group))), "0", is_gone)
        if management is None or before is None or during is None:
            given = f"{what}: memory given back"
            yield (skipped(given, "NVML says nothing of it") if env.is_gpu
                   else absent(given, "a CPU's is the process's own"))
        else:
            yield _given_back(what, management, before, during)


def _given_back(what: str, management: Management, before: int, during: int) -> Line:
    began = time.monotonic()

    def used() -> int:
        return management.reading().used_bytes or 0

    is_freed = _until(lambda: used() <= before + SLACK_BYTES, 20)
    figure = f"{before / 1e6:.0f}, {during / 1e6:.0f}, {used() / 1e6:.0f} MB ({time.monotonic() - began:.1f} s after)"
    return judged(f"{what}: memory used before, during, after", figure, f"before + {SLACK_BYTES >> 20} MiB",
                  is_freed and during > before + SLACK_BYTES)


def _until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Whether something became so within the seconds."""
    ends = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
    return True


def _of_group(group: int) -> list[int]:
    """The living processes of a group, which every process that a worker starts is in."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = path.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(of_group) == group and state != "Z":
            found.append(int(path.parent.name))
    return found
