"""Runs cells as jobs of Slurm, a job a run, in the stacks' virtual environments or Apptainer's images of them.

Both lie on a file system that the nodes share.

A job a run leaves queues, limits, GPUs and endings to Slurm. All of a session's jobs ask for the nodes of its first
one, while those are usable, so that stacks are compared on the same machines. What a run says goes through files in its
folder under the cache, since a job outlives the shell that submitted it: the next command ends what a dead runner left.
"""

import errno
import json
import secrets
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from clusters.apptainer import ApptainerLauncher
from clusters.slurm import examination
from clusters.slurm.commands import (
    Node,
    Slurm,
    Submission,
    chosen,
    lacks,
    options,
    script,
    submission,
)
from clusters.slurm.running import SlurmRunning, end
from runner import leftovers
from runner.errors import BenchError, DiskFull, InputError
from runner.findings import Finding
from runner.launchers import kernel_cache
from runner.launchers.protocol import ClusterLauncher, Order
from runner.launchers.venv import VenvLauncher
from runner.machine.gpus import Gpus
from runner.machine.kernel_files import content
from runner.paths import cache_folder
from runner.processes import Say
from runner.stacks.definition import PinnedStack, Stack
from workloads.spec.cell import Cell

_ORDER, _JOB, _OWNER = "order.json", "job", "owner"        # files of a run's folder
_PORTS = (23000, 800, 10)        # first, how many groups, ports a group: a job that shares its node has its own group


class SlurmLauncher(ClusterLauncher):
    """Launches runs with sbatch, from a login node."""

    name = "slurm"
    has_options = is_examined = True
    nodes: tuple[Node, ...]
    uses_images = False              # but with the option apptainer
    measures_here = False
    builds_at_once = 2               # pip installs on one CPU

    def __init__(self, cache: Path, words: Iterable[str] = (), slurm: Slurm | None = None) -> None:
        """words: the options. Raises InputError, and SlurmUnreachable where the controller does not answer."""
        self._options = options(words)
        self._slurm = slurm or Slurm()
        self._folder = cache.resolve() / "slurm"
        self.uses_images = self._options.in_images
        self._stacks = ApptainerLauncher(cache=cache) if self.uses_images else VenvLauncher(cache)
        self.nodes = chosen(self._slurm.nodes(), self._options)
        self._version = self._slurm.version()
        self._say: Say = lambda text: None
        self._last: SlurmRunning | None = None               # the session's last run: its nodes are asked for again
        self._on: list[str] = []
        self._sweeping, self._is_swept = threading.Lock(), False

    @classmethod
    def made(cls, here: Gpus, options: Sequence[str]) -> Self:
        return cls(cache_folder(), options)

    @classmethod
    def examine(cls, stacks: Mapping[str, PinnedStack], options: Sequence[str]) -> list[Finding]:
        return examination.examine(Slurm(), stacks, options, cache_folder())

    def record(self) -> dict[str, Any]:
        """The options, and what Slurm has; not its nodes' states, which change while a session lasts."""
        return {"slurm": {**self._options._asdict(), "partition": self.nodes[0].partition, "nodes": len(self.nodes),
                          "version": self._version}}

    def check(self, cells: Sequence[Cell]) -> None:
        for cell in cells:
            if lacking := lacks(cell, self.nodes):
                raise InputError(f"--launcher slurm: {lacking}")

    def missing(self, stack: Stack) -> str | None:
        """As the virtual environments or image files on this machine, which are those of the nodes."""
        return self._stacks.missing(stack)

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """Make environments or image files that are not there yet, and end what dead runners left."""
        self._say = say
        with self._sweeping:                 # stacks are prepared side by side: once is enough, and others wait for it
            if not self._is_swept:
                self._sweep(say)
            self._is_swept = True
        self._stacks.prepare(stacks, say)

    def begin(self, order: Order) -> SlurmRunning:
        """Submit a job; the nodes' places wait in its queue. Raises BenchError where Slurm does not take it."""
        cell, stack, data = order.cell, order.stack, order.data.resolve()
        if lacking := lacks(cell, self.nodes):
            raise BenchError(lacking)
        folder = self._folder / f"evenbench-{order.run.replace('.', '-')}-{secrets.token_hex(3)}"
        kernels = [kernel_cache.folder(stack, self._folder.parent)] if order.is_on_gpu else []
        python, record = self._stacks.on_a_node(stack, [folder, data, *kernels], order.is_on_gpu)
        job = Submission(folder, stack.root, python, cell, self._again(cell.nodes))
        first, groups, ports = _PORTS
        places = order.places
        task = {"module": order.module, "cell": cell._asdict(), "data": str(data), "nodes": cell.nodes,
                "cpus": cell.cpus, "memory_bytes": cell.memory_bytes, "places": [place.name for place in places],
                "reporters": [place.name for place in places if place.reports],
                "port": first + secrets.randbelow(groups) * ports,
                "variables": {**order.variables(), **({kernel_cache.VARIABLE: str(*kernels)} if kernels else {})}}
        id = ""
        try:
            folder.mkdir(parents=True)
            self._own(folder)
            (folder / _ORDER).write_text(json.dumps(task))
            (folder / "job.sh").write_text(script(job))
            id = self._slurm.submit(submission(job, self._options))
            (folder / _JOB).write_text(id)
        except BaseException as error:
            self._slurm.cancel(id or f"--name={folder.name}", "--quiet")     # taken, maybe, and the answer lost
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                kind = DiskFull if error.errno == errno.ENOSPC else BenchError
                raise kind(f"{folder}: {error.strerror}: every node must see this folder, and it needs room"
                           ) from error
            raise
        self._last = SlurmRunning(self._slurm, folder, id, places, {
            **record, "launcher": self.name, **order.record(), "remote": True, "queues": True,
            "folder": folder.name}, self._say)
        return self._last

    def _again(self, count: int) -> str:
        """The nodes that a job of so many is to have: those of earlier ones, while all of them are usable."""
        if self._last is not None and len(on := self._slurm.hostnames(self._last.hosts)) > len(self._on):
            self._on = on
        states = self._slurm.states(",".join(self._on))
        if not self._on or not all(states[name].is_usable for name in self._on if name in states):
            self._on = []
        return ",".join(self._on[:count])

    def _own(self, folder: Path) -> None:
        """Say that this process follows the run."""
        (folder / _OWNER).write_text(leftovers.mine())

    def _remove(self, folder: Path, id: str, name: str) -> None:
        """End a job that is ours by its name, and remove its folder once it is over."""
        job = self._slurm.job(id) if id else None
        is_ours = job is not None and not job.is_over and job.name == name
        if (is_ours and end(self._slurm, id)) or (not is_ours and (job is not None or not id)):
            shutil.rmtree(folder, ignore_errors=True)

    def _sweep(self, say: Say) -> None:
        """End the jobs of this host's dead runners."""
        for folder in sorted(self._folder.glob("evenbench-*/")):
            if leftovers.is_gone(content(folder / _OWNER)):
                id = content(folder / _JOB)
                say(f"slurm: ending job {id or 'of no number'}, left by a runner that is gone")
                self._remove(folder, id, folder.name)
