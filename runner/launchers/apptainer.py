"""Runs cells in containers of Apptainer, for machines whose users may not use Docker; its images are made of Docker's.

A container is a process of the user's, so its CPUs are set as those of a worker in a virtual environment. Memory and
the number of processes are limited by a control group where Apptainer may make one: for root, and for users whose
systemd delegates groups of version 2. Elsewhere memory is limited as in a virtual environment; the record says which.
"""

import copy
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

from runner import leftovers
from runner.errors import BenchError
from runner.launchers import kernel_cache
from runner.launchers.process_groups import Limits, ProcessGroup, ProcessRunning, kept_environment, visible
from runner.launchers.protocol import Exit, Launcher
from runner.machine import gpus, topology
from runner.machine.cpu_sets import shared
from runner.paths import cache_folder
from runner.stacks import sif
from runner.stacks.definition import Stack, fingerprint, pinned
from workloads.spec import cluster, placement, turns
from workloads.spec.cell import Cell

# nothing to write to but a folder that is gone with the run, nobody to become, none of the host's variables; images are
# read-only by themselves
_CONFINED = ("--containall", "--cleanenv", "--no-privs", "--no-umask", "--pwd", "/opt/evenbench")
_ON_A_NODE = ("--contain", "--pid", "--ipc", "--no-privs", "--no-umask", "--pwd", "/opt/evenbench")
_ALONE = ("--net", "--network", "none", "--hostname", "localhost")       # no way out; its own name means something
_GROUPS_HERE, _GROUPS_INSIDE = "/sys/fs/cgroup", "/mnt/cgroup"
_CLEARING_SECONDS = 2.0          # for what Apptainer removes after a container's end
_TRYING_BYTES = 2**30


class ApptainerLauncher(Launcher):
    """Launches workers in image files of the stacks."""

    name = "apptainer"
    checks_at_once = 2               # a check is an import above all, which is on one CPU
    divides_gpus = runs_programs = True

    def __init__(self, gpus: gpus.Gpus = gpus.NONE, cache: Path | None = None) -> None:
        """gpus: those that cells get; cache: the folder that keeps image files and compiled kernels."""
        self._gpus, self._cache = gpus, cache or cache_folder()
        self._files: dict[str, sif.Sif] = {}
        self._has_groups: bool | None = None         # None: not tried yet
        self._version = ""
        self._say: Callable[[str], None] = lambda text: None

    def with_gpus(self, gpus: gpus.Gpus) -> Self:
        """As protocol.Launcher."""
        other = copy.copy(self)
        other._gpus = gpus
        return other

    def missing(self, stack: Stack) -> str | None:
        """As protocol.Launcher: the program, or what is known to keep the image from being built."""
        return sif.missing(pinned(stack), self._cache)

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Make image files that are not there yet, and remove what runners that are gone have left."""
        self._say = say
        leftovers.sweep_folders(say)
        for stack in stacks:
            self._files[stack.name] = sif.ready(pinned(stack), self._cache, say)
        self._version = sif.version(_program())

    def _may_make_groups(self, file: sif.Sif) -> bool:
        """Whether Apptainer may make control groups here, which is tried once and told where it may not."""
        if self._has_groups is None:
            ended = _asked([_program(), "exec", *_CONFINED, *_limited(_TRYING_BYTES, None), str(file.path), "true"])
            self._has_groups = ended.returncode == 0
            if not self._has_groups:
                self._say(f"apptainer: no control groups here ({_last_line(ended.stderr)}): each process's memory is "
                          "limited instead")
        return self._has_groups

    def fingerprint(self, stack: Stack) -> str:
        """The Dockerfile, the locks and the workloads."""
        return fingerprint(stack)

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads",
              padding: int = 0, listens: bool = False) -> "ApptainerRunning":
        """Start a container a place, each on CPUs of its own where there are enough. Raises BenchError."""
        file, is_on_gpu = self._ready(stack), cell.device == "gpu"
        share = shared(cell, os.sched_getaffinity(0), topology.observe())
        own = gpus.assigned(cell, stack, self._gpus) if is_on_gpu else ()
        places = cluster.places(stack.framework, cell.parallel, cell.nodes)
        has_groups = self._may_make_groups(file)
        by_process = cell.memory_bytes if not has_groups and not is_on_gpu else 0
        limited_by = "group" if has_groups and cell.memory_bytes else "process" if by_process else None
        record = {"launcher": self.name, **self._made_of(file), "stack_version": stack.version,
                  "fingerprint": fingerprint(stack), "cpu_quota": share.quota if has_groups else None,
                  "memory_limited_by": limited_by, **share.record(),
                  **({"gpus": [gpu.uuid for gpu in own]} if own else {})}
        volumes = [f"{data}:/data:ro"]
        variables = {**visible(own), **placement.variables(padding, stack.env),
                     **({turns.VARIABLE: "1"} if listens else {})}
        if own:
            volumes.append(f"{kernel_cache.folder(stack, self._cache)}:{kernel_cache.INSIDE}")
            variables[kernel_cache.VARIABLE] = kernel_cache.INSIDE
        worker = ["python", "-m", "workloads.places.apptainer_place", _GROUPS_INSIDE, module,
                  json.dumps(cell._asdict())]
        options = list(() if len(places) > 1 else _ALONE) + (["--nv"] if own else [])
        if has_groups:
            volumes.append(f"{_GROUPS_HERE}:{_GROUPS_INSIDE}:ro")
            options += _limited(cell.memory_bytes, share.quota)

        def started(rank: int, address: Mapping[str, str]) -> _Container:
            told = [word for name, value in {**address, **variables}.items() for word in ("--env", f"{name}={value}")]
            return _Container(
                lambda scratch: [_program(), "--silent", "exec", *_CONFINED, *options, "--home", f"{scratch}:/tmp",
                                 "--bind", ",".join(volumes), *told, str(file.path), *worker],
                Limits(share.cpus(rank), by_process), Path("/"), {})

        return ApptainerRunning.of(places, record, started)

    def _ready(self, stack: Stack) -> sif.Sif:
        if stack.name not in self._files:
            self.prepare([stack], self._say)
        return self._files[stack.name]

    def _made_of(self, file: sif.Sif) -> dict[str, Any]:
        """What the record says of the image and its program."""
        return {"isolation": self.name, "image": file.id, "base": file.base, "base_is_default": file.base_is_default,
                "engine": self._version}

    def on_a_node(self, stack: Stack, seen: Sequence[Path], on_gpus: bool) -> tuple[list[str], dict[str, Any]]:
        """The words that start the stack's Python on a node that shares the cache, and what the record says of it.

        seen: what it must be able to see. Limits are the scheduler's, and so are the variables that tell of its step.
        """
        file = self._ready(stack)
        volumes = ",".join(map(str, [*seen, tempfile.gettempdir(), _GROUPS_HERE]))
        return [_program(), "--silent", "exec", *_ON_A_NODE, *(["--nv"] if on_gpus else []), "--bind", volumes,
                str(file.path), "python"], self._made_of(file)

    def output(self, stack: Stack, module: str) -> bytes:
        """As protocol.Launcher, in a container."""
        ended = _asked([_program(), "--silent", "exec", *_CONFINED, *_ALONE, str(self._files[stack.name].path),
                        "python", "-m", module])
        if ended.returncode:
            raise BenchError(f"{stack.name}: {module}: exit code {ended.returncode}: {_last_line(ended.stderr)}")
        return ended.stdout


def _program() -> str:
    program = sif.command()
    if program is None:
        raise BenchError("no apptainer or singularity on PATH any more")
    return program


def _limited(memory_bytes: int, quota: float | None) -> list[str]:
    """The words for a control group; memory and swap together are as much as memory alone: no swap."""
    memory = ["--memory", str(memory_bytes), "--memory-swap", str(memory_bytes)] if memory_bytes else []
    return [*memory, "--pids-limit", "4096", *(["--cpus", f"{quota:g}"] if quota else [])]


def _asked(words: list[str]) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd="/",
                          env=kept_environment(tempfile.gettempdir()))


def _last_line(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("FATAL:").strip() if lines else "no reason given"


class ApptainerRunning(ProcessRunning):
    """The containers of a run."""

    def exit(self, place: str, seconds: float) -> Exit:
        """As protocol.Running."""
        exit = super().exit(place, seconds)
        return exit._replace(code=137, is_out_of_memory=True) if exit.code == cluster.OUT_OF_MEMORY else exit


class _Container(ProcessGroup):
    """A place's container, which ends with the pipe that this process holds (workloads/places/apptainer_place.py)."""

    standard_input = subprocess.PIPE

    def processes(self) -> list[psutil.Process]:
        """Apptainer's own two, the worker and its helpers."""
        with suppress(psutil.Error):
            return [each for parent in super().processes() for each in (parent, *parent.children(recursive=True))]
        return []

    def stop(self) -> None:
        """Kill the container, and give Apptainer the time to remove its control group before the rest is killed."""
        for each in self.processes()[1:]:
            with suppress(psutil.Error):
                each.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLEARING_SECONDS)
        super().stop()
