"""Runs as process groups of this host: a group a place, its lines by a pipe, its end with the runner's."""

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import psutil

from runner import leftovers
from runner.errors import BenchError
from runner.launchers.line_queue import Pipe, lines_of_file
from runner.launchers.protocol import Exit, Running
from runner.machine.cpu_sets import reporters, servers
from runner.machine.gpus import Gpu
from runner.processes import for_workers
from runner.results.error_output import ErrorOutput, Written
from workloads.process import control_groups
from workloads.spec import cluster
from workloads.spec.turns import VARIABLE as LISTENS

_LAST_WORDS = 400        # characters of standard error that an ending quotes
_CHUNK_BYTES = 2**14
_READING_SECONDS = 0.2   # for what an ended worker wrote last
_PR_SET_PDEATHSIG = 1    # linux/prctl.h
_PORTS = (23000, 31000, 10)      # from, to, ports a place; below those that kernels hand out


def visible(own: Sequence[Gpu]) -> dict[str, str]:
    """The variable that lets CUDA see these GPUs alone; {} for none."""
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in own)} if own else {}


def _addresses(count: int) -> list[dict[str, str]]:
    """The variables that tell each place of the others. All share an address, so each has ports of its own."""
    if count == 1:
        return [{}]
    nodes = ",".join(f"127.0.0.1:{port}" for port in _free_ports(count))
    return [{"EVENBENCH_NODES": nodes, "EVENBENCH_RANK": str(rank)} for rank in range(count)]


def _free_ports(count: int) -> list[int]:
    """First ports of places: each with the ports behind it that its roles need, free a moment ago."""
    ports: list[int] = []
    for first in range(*_PORTS):
        if all(_is_free(first + offset) for offset in range(_PORTS[2])):
            ports.append(first)
        if len(ports) == count:
            return ports
    raise BenchError(f"the host has no {count} free groups of ports from {_PORTS[0]} to {_PORTS[1]}")


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Limits(NamedTuple):
    """What a place's processes are kept to."""

    cpus: Sequence[int]
    memory_bytes: int = 0            # private writable memory of each process; 0: no limit


class ProcessRunning(Running):
    """The process groups of a run."""

    @classmethod
    def of(cls, places: tuple[cluster.Place, ...], record: dict[str, Any],
           start: Callable[[int, Mapping[str, str]], "ProcessGroup"]) -> Self:
        """A group a place, started with its rank and the variables that tell it of the others.

        Raises what start raises, and leaves no group then.
        """
        running = cls(places, record)
        try:
            for rank, (place, address) in enumerate(zip(places, _addresses(len(places)), strict=True)):
                running.add(place.name, start(rank, address))
        except BaseException:
            running.stop()
            raise
        return running

    def __init__(self, places: tuple[cluster.Place, ...], record: dict[str, Any]) -> None:
        self.place = record
        self.reporters, self.servers = reporters(places), servers(places)
        self._pipe = Pipe()
        self._groups: dict[str, ProcessGroup] = {}

    def add(self, name: str, group: "ProcessGroup") -> None:
        """Listen to a started place."""
        self._groups[name] = group
        self._pipe.add(name, lines_of_file(group.output))

    def next_line(self, seconds: float) -> tuple[str, bytes] | None:
        """As protocol.Running."""
        return self._pipe.next(seconds)

    def exit(self, place: str, seconds: float) -> Exit:
        """As protocol.Running."""
        return self._groups[place].exit(seconds)

    def trouble(self) -> dict[str, str]:
        """As protocol.Running."""
        return {name: "is stopped" for name, group in self._groups.items() if group.is_stopped()}

    def used(self) -> dict[str, dict[str, int | None]]:
        """{}: the workers report it themselves."""
        return {}

    def tell(self, words: str) -> None:
        """As protocol.Running."""
        for group in self._groups.values():
            group.tell(words)

    def errors(self) -> dict[str, Written]:
        """As protocol.Running."""
        return {name: group.errors() for name, group in self._groups.items()}

    def stop(self) -> None:
        """Kill the groups, and remove their temporary folders."""
        self._pipe.close()
        for group in self._groups.values():
            group.stop()


class ProcessGroup:
    """The processes of a place."""

    standard_input = subprocess.DEVNULL      # of a place that does not listen

    def __init__(self, command: Callable[[str], list[str]], limits: Limits, root: Path,
                 environment: Mapping[str, str], listens: bool = False,
                 kills: Callable[[], int] = control_groups.kills_here) -> None:
        """command: of the place's temporary folder; root: where it starts; listens: to what tell says.

        kills: how many processes the kernel has killed for want of memory.
        """
        self._kills, self._kills_before = kills, kills()
        self._scratch = leftovers.temporary_folder()
        runner = os.getpid()
        words = command(self._scratch.name)
        variables = {**kept_environment(self._scratch.name), **environment, **({LISTENS: "1"} if listens else {})}
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE if listens else self.standard_input, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, cwd=root, env=variables, start_new_session=True,
                preexec_fn=lambda: _enter(limits, runner))
        except OSError as error:
            raise BenchError(f"{words[0]}: {error.strerror}") from error
        assert self._process.stdout is not None and self._process.stderr is not None
        self._errors = _Errors(self._process.stderr)
        self.output = self._process.stdout

    def tell(self, words: str) -> None:
        """Write a line to its standard input."""
        assert self._process.stdin is not None
        with suppress(OSError):              # it is gone
            self._process.stdin.write(words.encode() + b"\n")
            self._process.stdin.flush()

    def exit(self, seconds: float) -> Exit:
        """How it ended, after waiting at most these seconds."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        is_out_of_memory = code == -signal.SIGKILL and self._kills() > self._kills_before
        return Exit(code, is_out_of_memory, last_words=self._errors.last_words(has_ended=code is not None))

    def errors(self) -> Written:
        """What it wrote on standard error so far, bounded."""
        return self._errors.written()

    def is_stopped(self) -> bool:
        """Whether somebody halted it."""
        return any(_is_stopped(each) for each in self.processes())

    def processes(self) -> list[psutil.Process]:
        """The one that was started."""
        try:
            return [psutil.Process(self._process.pid)]
        except psutil.Error:
            return []

    def stop(self) -> None:
        """Kill it, and remove its temporary folder."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        if self._process.stdin:
            with suppress(OSError):          # what it never read
                self._process.stdin.close()
        self._scratch.cleanup()


class _Errors:
    """What a worker writes on standard error, read all along, so that a full pipe holds up no worker."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._output = ErrorOutput()
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), _CHUNK_BYTES):
                self._output.add(chunk)

    def written(self) -> Written:
        return self._output.written()

    def last_words(self, has_ended: bool) -> str:
        if has_ended:
            self._reader.join(_READING_SECONDS)      # helpers may hold the pipe open
        return self._output.last_words(_LAST_WORDS)


def _is_stopped(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


def kept_environment(scratch: str) -> dict[str, str]:
    """A worker's variables."""
    return {**for_workers(), "HOME": scratch, "TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1"}


def _enter(limits: Limits, runner: int) -> None:
    """Limit the child to its CPUs and memory, and let it die with the runner."""
    os.sched_setaffinity(0, limits.cpus)
    if limits.memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (limits.memory_bytes, limits.memory_bytes))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != runner:       # it was killed before it could be heard of
            os.kill(os.getpid(), signal.SIGKILL)
