"""Runs cells in virtual environments on the host itself: the default where no engine answers. Marked in every record.

The worker gets the same CPUs, threads and lock as in an image, but no network boundary and the host's own C library.
Its memory limit is the kernel's on a process's private writable memory, so that on a CPU an allocation beyond it fails
and the worker says so itself; what it only maps, such as libraries, is not counted, nor what a GPU's driver reserves.
"""

import copy
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from runner import leftovers
from runner.errors import BenchError, InterpreterMissing
from runner.launchers import kernel_cache
from runner.launchers.process_groups import Limits, ProcessGroup, ProcessRunning, kept_environment, visible
from runner.launchers.protocol import Launcher
from runner.machine import gpus, topology
from runner.machine.cpu_sets import shared
from runner.stacks import environments
from runner.stacks import own as own_stacks
from runner.stacks.definition import PinnedStack, Stack, fingerprint, pinned
from runner.stacks.own import OwnStack
from workloads.spec import cluster, placement
from workloads.spec.cell import Cell


class VenvLauncher(Launcher):
    """Launches workers with the interpreters of this machine."""

    name = "venv"
    takes = frozenset({own_stacks.PINNED, own_stacks.ENVIRONMENT})
    uses_images = False
    builds_at_once = 2               # pip installs on one CPU
    checks_at_once = 2               # a check is an import above all, which is on one CPU
    divides_gpus = runs_programs = tells = True

    def __init__(self, cache: Path, gpus: gpus.Gpus = gpus.NONE) -> None:
        """gpus: those that cells get."""
        self._cache, self._gpus = cache, gpus
        self._pythons: dict[str, Path] = {}

    def with_gpus(self, gpus: gpus.Gpus) -> Self:
        """As protocol.Launcher."""
        other = copy.copy(self)
        other._gpus = gpus
        return other

    def missing(self, stack: Stack) -> str | None:
        """The missing interpreter, or None."""
        if not isinstance(stack, PinnedStack):
            return None                     # it was asked what it holds before it was planned
        if stack.foreign:
            return stack.foreign
        if stack.base_has_framework:
            return f"{stack.name} is only there as an image: its base has the framework, and no index"
        try:
            environments.find_interpreter(stack.python)
        except InterpreterMissing as error:
            return str(error)
        return environments.missing_tools(stack)

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Build the environments that are not there yet, and remove what runners that are gone have left."""
        leftovers.sweep_folders(say)
        for stack in stacks:
            self._pythons[stack.name] = self._python(stack, say)
        for (_, root), python in {(each.python, each.root): self._pythons[each.name] for each in stacks}.items():
            _compile(python, root)

    def _python(self, stack: Stack, say: Callable[[str], None]) -> Path:
        """The interpreter of a stack, its environment made first where it is one of ours. Raises BenchError."""
        if isinstance(stack, OwnStack):
            own_stacks.check_unchanged(stack)
            return Path(stack.interpreter)
        return environments.ready(pinned(stack), self._cache, say)

    def fingerprint(self, stack: Stack) -> str:
        """The locks and the workloads."""
        return fingerprint(stack)

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads",
              padding: int = 0, listens: bool = False) -> ProcessRunning:
        """Start a worker a place, each on CPUs of its own where there are enough. Raises BenchError."""
        python = self._ready(stack)
        share = shared(cell, os.sched_getaffinity(0), topology.observe())
        record = {"launcher": self.name, **_made_of(python), "stack_version": stack.version,
                  "fingerprint": fingerprint(stack), **share.record(), **own_stacks.run_record(stack)}
        places = cluster.places(stack.framework, cell.parallel, cell.nodes)
        own = gpus.assigned(cell, stack, self._gpus) if cell.device == "gpu" else ()
        kernels = {kernel_cache.VARIABLE: str(kernel_cache.folder(stack, self._cache))} if own else {}
        command = worker_command(python, cell, data, module)
        variables = {**own_stacks.variables(stack), **visible(own), **kernels,
                     **placement.variables(padding, stack.env)}
        limit = cell.memory_bytes if cell.device == "cpu" else 0
        return ProcessRunning.of(
            places, {**record, **({"gpus": [gpu.uuid for gpu in own]} if own else {})},
            lambda rank, address: ProcessGroup(lambda scratch: command, Limits(share.cpus(rank), limit), stack.root,
                                               {**address, **variables}, listens))

    def _ready(self, stack: Stack) -> Path:
        """The interpreter of a stack; of a user's own one it is looked each time whether it still holds the same."""
        prepared = None if isinstance(stack, OwnStack) else self._pythons.get(stack.name)
        return prepared or self._python(stack, lambda text: None)

    def on_a_node(self, stack: Stack, seen: Sequence[Path], on_gpus: bool) -> tuple[list[str], dict[str, Any]]:
        """The words that start the stack's Python on a node that shares the cache, and what the record says of it.

        seen: what it must be able to see, all of which the node has.
        """
        python = self._ready(stack)
        return [str(python)], _made_of(python)

    def output(self, stack: Stack, module: str) -> bytes:
        """As protocol.Launcher, in the stack's virtual environment."""
        ended = subprocess.run([str(self._pythons[stack.name]), "-m", module], cwd=stack.root, capture_output=True,
                               check=False,
                               env={**kept_environment(tempfile.gettempdir()), **own_stacks.variables(stack)})
        if ended.returncode:
            last = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise BenchError(f"{stack.name}: {module}: exit code {ended.returncode}: {' '.join(last)}")
        return ended.stdout


def _made_of(python: Path) -> dict[str, Any]:
    """What the record says of the interpreter."""
    return {"isolation": VenvLauncher.name, "image": None, "base": f"host, {python}", "base_is_default": False}


def _compile(python: Path, root: Path) -> None:
    """Compile the workloads beside their sources, as images have them, since workers write nothing.

    Where the folder cannot be written either, each run compiles what it imports.
    """
    subprocess.run([str(python), "-m", "compileall", "-q", "workloads"], cwd=root, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def worker_command(python: Path, cell: Cell, data: Path, module: str) -> list[str]:
    """What starts a worker, as anyone could type it."""
    return [str(python), "-m", module, json.dumps(cell._asdict()), "--data", str(data)]
