"""Runs as process groups of this host: a group a place, its lines by a pipe, its end with the runner's."""

import os
import resource
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil

from runner import leftovers
from runner.errors import BenchError
from runner.launchers import kernel_cache
from runner.launchers.line_queue import lines_of_file
from runner.launchers.protocol import Exit, Order, Running, Worker
from runner.machine.gpus import Gpu
from runner.processes import for_workers
from workloads.places import addresses
from workloads.process import control_groups
from workloads.process.lifetime import end_with_parent

_CHUNK_BYTES = 2**14
_READING_SECONDS = 0.2   # for what an ended worker wrote last
_GONE_SECONDS = 5.0      # in which killed processes are gone, unless a device holds them


def on_gpus(own: Sequence[Gpu], kernels: object) -> dict[str, str]:
    """The variables that let CUDA see these GPUs alone, and keep compiled kernels in a folder; {} for none."""
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in own),
            kernel_cache.VARIABLE: str(kernels)} if own else {}


class ProcessRunning(Running):
    """The process groups of a run."""

    def __init__(self, record: dict[str, Any], order: Order,
                 start: Callable[[int, Mapping[str, str]], "ProcessGroup"]) -> None:
        """Start a group a place, by its rank and variables.

        Raises what start raises, and leaves no group then.
        """
        super().__init__(record, order)
        # places that are all on this host share an address, and have own ports
        count = len(order.places) if order.rank is None and len(order.places) > 1 else 0
        try:
            nodes = [f"127.0.0.1:{port}" for port in addresses.free_ports(count)]
        except OSError as error:
            raise BenchError(str(error)) from error
        with self.stopped_on_error():
            for name, rank in zip(self._names, order.ranks, strict=True):
                group = self._workers[name] = start(rank, order.variables(rank, nodes))
                self._pipe.add(name, lines_of_file(group.output))


class ProcessGroup(Worker):
    """The processes of a place."""

    def __init__(self, command: Callable[[str], list[str]], cpus: Sequence[int], memory_bytes: int, root: Path,
                 environment: Mapping[str, str], has_input: bool = False,
                 kills: Callable[[], int] = control_groups.kills_here) -> None:
        """command: of the place's temporary folder; memory_bytes: private and writable, of each process; 0: no limit.

        root: where it starts; has_input: it hears what tell says; kills: by the kernel, for want of memory.
        """
        super().__init__()
        self._kills, self._kills_before = kills, kills()
        self._limit_bytes, self._scratch = memory_bytes, leftovers.temporary_folder()
        runner = os.getpid()
        words = command(self._scratch.name)
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE if has_input else subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, cwd=root, env={**kept_environment(self._scratch.name), **environment},
                start_new_session=True, preexec_fn=lambda: _enter(cpus, memory_bytes, runner))
        except (OSError, subprocess.SubprocessError) as error:       # the second of what _enter asked for in vain
            self._scratch.cleanup()
            raise BenchError(f"{words[0]} did not start: {getattr(error, 'strerror', None) or error}") from error
        assert self._process.stdout is not None and self._process.stderr is not None
        self.output = self._process.stdout
        self._reader = threading.Thread(target=self._read, args=(self._process.stderr,), daemon=True)
        self._reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        """Read standard error all along, so that a full pipe holds up no worker."""
        with stream:
            while chunk := os.read(stream.fileno(), _CHUNK_BYTES):
                self._errors.add(chunk)

    def tell(self, words: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):              # it is gone
            self._process.stdin.write(words.encode() + b"\n")
            self._process.stdin.flush()

    def exit(self, seconds: float) -> Exit:
        try:
            code = self._process.wait(seconds)
            self._reader.join(_READING_SECONDS)          # helpers may hold the pipe open
        except subprocess.TimeoutExpired:
            code = None
        is_killed = code in (-signal.SIGKILL, 128 + signal.SIGKILL)      # the second as a shell or a container says it
        is_out_of_memory = is_killed and self._kills() > self._kills_before
        return Exit(code, is_out_of_memory, self._errors.last_words(), limit_bytes=self._limit_bytes)

    def trouble(self) -> str:
        """As protocol.Worker: whether somebody halted it."""
        for each in self.processes():
            with suppress(psutil.Error):
                if each.status() == psutil.STATUS_STOPPED:
                    return "is stopped"
        return ""

    def processes(self) -> list[psutil.Process]:
        """The one that was started, first, and all that it started."""
        with suppress(psutil.Error):
            first = psutil.Process(self._process.pid)
            return [first, *first.children(recursive=True)]
        return []

    def stop(self) -> None:
        """Kill it and all that it started, also in sessions of their own, and remove its temporary folder."""
        started = self.processes()[1:]
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for each in started:
            with suppress(psutil.Error):
                each.kill()
        self._process.wait()
        psutil.wait_procs(started, timeout=_GONE_SECONDS)
        if self._process.stdin:
            with suppress(OSError):          # what it never read
                self._process.stdin.close()
        self._scratch.cleanup()


def kept_environment(scratch: str) -> dict[str, str]:
    """A worker's variables."""
    return {**for_workers(), "HOME": scratch, "TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1"}


def _enter(cpus: Sequence[int], memory_bytes: int, runner: int) -> None:
    """Limit the child to its CPUs and memory, and let it die with the runner."""
    os.sched_setaffinity(0, cpus)
    if memory_bytes:
        least = resource.getrlimit(resource.RLIMIT_DATA)[1]        # -1: none
        own = memory_bytes if least < 0 else min(memory_bytes, least)
        resource.setrlimit(resource.RLIMIT_DATA, (own, own))
    end_with_parent()
    if os.getppid() != runner:           # it was killed before it could be heard of
        os.kill(os.getpid(), signal.SIGKILL)
