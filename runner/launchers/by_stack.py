"""Runs each stack where it can run: users' environments on this host, users' images by the engine, ours by either.

One session may hold both; what is measured on the host is marked in the record as always.
"""

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from runner.errors import InputError
from runner.launchers.docker import DockerLauncher
from runner.launchers.venv import VenvLauncher
from runner.launchers.watchdog import Launcher, Running
from runner.machine import gpus
from runner.stacks.definition import Stack
from runner.stacks.own import OwnStack
from workloads.spec.cell import Cell

Local = DockerLauncher | VenvLauncher


class ByStack:
    """A launcher for ours, and the ones that users' own stacks need."""

    def __init__(self, usual: Local, host: VenvLauncher, engine: DockerLauncher | None) -> None:
        """usual: for pinned stacks; engine: None where no image of the user's is asked for."""
        self.name = usual.name
        self._usual, self._host, self._engine = usual, host, engine

    def of(self, stack: Stack) -> Local:
        """The launcher that runs a stack."""
        if not isinstance(stack, OwnStack):
            return self._usual
        if not stack.image:
            return self._host
        assert self._engine is not None       # it told what the image holds
        return self._engine

    def giving(self, found: gpus.Found) -> Self:
        """The same launcher, whose cells are given these GPUs alone."""
        other = copy.copy(self)
        other._usual, other._host = self._usual.giving(found), self._host.giving(found)
        other._engine = self._engine and self._engine.giving(found)
        return other

    def missing(self, stack: Stack) -> str | None:
        """As watchdog.Launcher."""
        return self.of(stack).missing(stack)

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """As watchdog.Launcher."""
        for stack in stacks:
            self.of(stack).prepare([stack], say)

    def fingerprint(self, stack: Stack) -> str:
        """As watchdog.Launcher."""
        return self.of(stack).fingerprint(stack)

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads",
              padding: int = 0) -> Running:
        """As watchdog.Launcher."""
        return self.of(stack).start(cell, stack, data, run, module, padding)

    def said(self, stack: Stack, module: str) -> bytes:
        """What `python -m MODULE` prints in the stack. Raises BenchError."""
        return self.of(stack).said(stack, module)


def chosen(usual: Launcher, stacks: Iterable[Stack], host: VenvLauncher, engine: DockerLauncher | None) -> Launcher:
    """The usual launcher where it runs all the stacks, else one that asks the right one. Raises InputError."""
    for stack in stacks:
        if isinstance(stack, OwnStack):
            if not isinstance(usual, Local):
                raise InputError(f"--stack {stack.asked}: found --launcher {usual.name}, which starts pinned stacks "
                                 "alone; expected --launcher docker or venv")
            if isinstance(usual, DockerLauncher if not stack.image else VenvLauncher):
                return ByStack(usual, host, engine)
    return usual
