"""Runs cells in containers of Apptainer, for machines whose users may not use Docker; its images are made of Docker's.

A container is a process of the user's, so its CPUs are set as those of a worker in a virtual environment. Memory and
the number of processes are limited by a control group where Apptainer may make one: for root, and for users whose
systemd delegates groups of version 2. Elsewhere memory is limited as in a virtual environment; the record says which.
"""

import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from runner.errors import BenchError
from runner.launchers import kernel_cache
from runner.launchers.process_groups import ProcessGroup, ProcessRunning, kept_environment, on_gpus
from runner.launchers.protocol import Exit, HostLauncher, Order
from runner.processes import Say, answer_of
from runner.stacks import sif
from runner.stacks.definition import Stack, pinned
from workloads.spec.cluster import OUT_OF_MEMORY

# nothing to write to but a folder that is gone with the run, nobody to become, none of the host's variables; images are
# read-only by themselves
_CONFINED = ("--containall", "--cleanenv", "--no-privs", "--no-umask", "--pwd", "/opt/evenbench")
_ALONE = ("--net", "--network", "none", "--hostname", "localhost")       # no way out; its own name means something
_GROUPS_HERE, _GROUPS_INSIDE = "/sys/fs/cgroup", "/mnt/cgroup"
_CLEARING_SECONDS = 2.0          # for what Apptainer removes after a container's end
_TRYING_BYTES = 2**30
_ROOT = Path("/")


class ApptainerLauncher(HostLauncher):
    """Launches workers in image files of the stacks."""

    name = "apptainer"
    tells = False
    _has_groups: bool | None = None          # whether Apptainer may make control groups here; None: not tried yet

    def missing(self, stack: Stack) -> str | None:
        """As protocol.Launcher: the program, or what is known to keep the image from being built."""
        return sif.missing(pinned(stack), self._cache)

    def _made(self, stack: Stack, say: Say) -> sif.Sif:
        """The stack's file; with the first one control groups are tried, and it is told where there are none."""
        file = sif.ready(pinned(stack), self._cache, say)
        if self._has_groups is None:
            ended = answer_of([_program(), "exec", *_CONFINED, *_limited(_TRYING_BYTES, None), file.path, "true"],
                              stdin=subprocess.DEVNULL, cwd=_ROOT, env=kept_environment(tempfile.gettempdir()))
            self._has_groups = ended.returncode == 0
            if not self._has_groups:
                why = ended.stderr.strip().splitlines() or ["no reason given"]
                say(f"apptainer: no control groups here ({why[-1].removeprefix('FATAL:').strip()}): each process's "
                    "memory is limited instead")
        return file

    def begin(self, order: Order) -> ProcessRunning:
        """Start a container a place, each on CPUs of its own where there are enough. Raises BenchError."""
        file, memory = self._ready(order.stack), order.cell.memory_bytes
        share, own, kernels = self._given(order)
        has_groups = self._has_groups
        by_process = memory if not has_groups and order.cell.device != "gpu" else 0
        limited_by = "group" if has_groups and memory else "process" if by_process else None
        volumes = [f"{order.data}:/data:ro"]
        if kernels:
            volumes.append(f"{kernels}:{kernel_cache.INSIDE}")
        worker = ["python", "-m", "workloads.places.apptainer_place", _GROUPS_INSIDE, *order.words]
        options = list(() if len(order.places) > 1 else _ALONE) + (["--nv"] if own else [])
        if has_groups:
            volumes.append(f"{_GROUPS_HERE}:{_GROUPS_INSIDE}:ro")
            options += _limited(memory, share.quota)

        def started(rank: int, variables: Mapping[str, str]) -> _Container:
            told = [word for name, value in {**on_gpus(own, kernel_cache.INSIDE), **variables}.items()
                    for word in ("--env", f"{name}={value}")]
            return _Container(
                lambda scratch: [_program(), "--silent", "exec", *_CONFINED, *options, "--home", f"{scratch}:/tmp",
                                 "--bind", ",".join(volumes), *told, str(file.path), *worker],
                share.cpus(rank), by_process, _ROOT, {}, has_input=True)

        record = {"image": file.id, "base": file.base, "base_is_default": file.base_is_default,
                  "engine": sif.version(_program()), **self._record(order, share, own), "memory_limited_by": limited_by,
                  "cpu_quota": share.quota if has_groups else None}
        return ProcessRunning(record, order, started)


def _program() -> str:
    program = sif.command()
    if program is None:
        raise BenchError("no apptainer or singularity on PATH any more")
    return program


def _limited(memory_bytes: int, quota: float | None) -> list[str]:
    """The words for a control group; memory and swap together are as much as memory alone: no swap."""
    memory = ["--memory", str(memory_bytes), "--memory-swap", str(memory_bytes)] if memory_bytes else []
    return [*memory, "--pids-limit", "4096", *(["--cpus", f"{quota:g}"] if quota else [])]


class _Container(ProcessGroup):
    """A place's container, which ends with the pipe that this process holds (workloads/places/apptainer_place.py)."""

    def exit(self, seconds: float) -> Exit:
        exit = super().exit(seconds)
        return exit._replace(code=137, is_out_of_memory=True) if exit.code == OUT_OF_MEMORY else exit

    def stop(self) -> None:
        """Kill the container, and give Apptainer the time to remove its control group before the rest is killed."""
        for each in self.processes()[1:]:
            with suppress(psutil.Error):
                each.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLEARING_SECONDS)
        super().stop()
