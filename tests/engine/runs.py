"""Real runs that are started, followed to their end, and hurt on their way; and their containers."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from docker.models.containers import Container

from runner import paths
from runner.launchers.docker import OWNER, DockerLauncher, DockerRunning
from runner.launchers.watchdog import Ending, Limits, follow
from runner.machine import host
from runner.stacks import definition
from tests.fakes import quiet
from workloads.spec.cell import Cell

STACKS = definition.read_all(paths.STACKS)
SMALL = "mxnet-1.9"          # the smallest of today's images
cell = Cell(SMALL, "lenet5", "train", cpus=1, memory_bytes=2 * host.GIB, steps=5, warmup=1)._replace


def started(launcher: DockerLauncher, of: Cell, data: Path, run: str) -> DockerRunning:
    """A run in its stack's image, which is built first where it is not."""
    launcher.prepare([STACKS[of.stack]], quiet)
    return launcher.start(of, STACKS[of.stack], data, run)


class Went(NamedTuple):
    events: list[Any]
    ending: Ending
    since: float                 # seconds from its being hurt to its end; 0 where it was not


def followed(running: Any, limits: Limits, hurt: Callable[[], Any] | None = None,
             at: tuple[str, ...] = ("warm", "steps")) -> Went:
    """A run that is hurt at its first such event, and stopped at its end."""
    events: list[Any] = []
    began = 0.0
    try:
        for heard in follow(running, limits, time.monotonic):
            if isinstance(heard, Ending):
                return Went(events, heard, time.monotonic() - began if began else 0.0)
            events.append(heard)
            if hurt and not began and heard["event"] in at:
                hurt()
                began = time.monotonic()
    finally:
        running.stop()
    raise AssertionError("a run has an ending")


def ours(client: Any, pid: int = os.getpid()) -> list[Container]:
    """The containers of a runner: this process, or one of that number."""
    found = client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)
    return [each for each in found if each.labels[OWNER].startswith(f"{pid}-")]
