"""Runs cells in virtual environments on the host itself: the default where no engine answers. Marked in every record.

The worker gets the same CPUs, threads and lock as in an image, but no network boundary and the host's own C library.
Its memory limit is the kernel's on a process's private writable memory, so that on a CPU an allocation beyond it fails
and the worker says so itself; what it only maps, such as libraries, is not counted, nor what a GPU's driver reserves.
"""

import copy
import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Self

import psutil

from runner import leftovers
from runner.errors import BenchError, InterpreterMissing
from runner.launchers import kernel_cache
from runner.launchers.line_queue import Pipe, lines_of_file
from runner.launchers.protocol import Exit, Launcher, Running
from runner.machine import gpus, topology
from runner.machine.cpu_sets import reporters, servers, shared
from runner.results.error_output import ErrorOutput, Written
from runner.stacks import environments
from runner.stacks import own as own_stacks
from runner.stacks.definition import PinnedStack, Stack, fingerprint, pinned
from runner.stacks.own import OwnStack
from workloads.spec import cluster, placement
from workloads.spec.cell import Cell

_LAST_WORDS = 400        # characters of standard error that an ending quotes
_CHUNK_BYTES = 2**14
_READING_SECONDS = 0.2   # for what an ended worker wrote last
_PR_SET_PDEATHSIG = 1    # linux/prctl.h
_PORTS = (23000, 31000, 10)      # from, to, ports a place; below those that kernels hand out


class VenvLauncher(Launcher):
    """Launches workers with the interpreters of this machine."""

    name = "venv"
    takes = frozenset({own_stacks.PINNED, own_stacks.ENVIRONMENT})
    uses_images = False
    builds_at_once = 2               # pip installs on one CPU
    checks_at_once = 2               # a check is an import above all, which is on one CPU
    divides_gpus = runs_programs = True

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

    def start(self, cell: Cell, stack: Stack, data: Path, run: str,
              module: str = "workloads", padding: int = 0) -> "VenvRunning":
        """Start a worker a place, each on CPUs of its own where there are enough. Raises BenchError."""
        if isinstance(stack, OwnStack):
            python = self._python(stack, lambda text: None)      # looks each time whether it still holds the same
        else:
            python = self._pythons.get(stack.name) or self._python(stack, lambda text: None)
        share = shared(cell, os.sched_getaffinity(0), topology.observe())
        record = {"launcher": self.name, "isolation": self.name, "image": None, "base": f"host, {python}",
                  "base_is_default": False, "stack_version": stack.version, "fingerprint": fingerprint(stack),
                  **share.record(), **own_stacks.run_record(stack)}
        places = cluster.places(stack.framework, cell.parallel, cell.nodes)
        own = gpus.assigned(cell, stack, self._gpus) if cell.device == "gpu" else ()
        kernels = {kernel_cache.VARIABLE: str(kernel_cache.folder(stack, self._cache))} if own else {}
        running = VenvRunning(places, {**record, **({"gpus": [gpu.uuid for gpu in own]} if own else {})})
        try:
            for rank, (each, environment) in enumerate(zip(places, _environments(len(places)), strict=True)):
                command = worker_command(python, cell, data, module)
                limit = cell.memory_bytes if cell.device == "cpu" else 0
                variables = {**environment, **own_stacks.variables(stack), **visible(own), **kernels,
                             **placement.variables(padding)}
                running.add(each.name, _ProcessGroup(command, (share.cpus(rank), limit), stack.root, variables))
        except BaseException:
            running.stop()
            raise
        return running

    def output(self, stack: Stack, module: str) -> bytes:
        """As protocol.Launcher, in the stack's virtual environment."""
        ended = subprocess.run([str(self._pythons[stack.name]), "-m", module], cwd=stack.root, capture_output=True,
                               env={**_environment(tempfile.gettempdir()), **own_stacks.variables(stack)}, check=False)
        if ended.returncode:
            last = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise BenchError(f"{stack.name}: {module}: exit code {ended.returncode}: {' '.join(last)}")
        return ended.stdout


def _compile(python: Path, root: Path) -> None:
    """Compile the workloads beside their sources, as images have them, since workers write nothing.

    Where the folder cannot be written either, each run compiles what it imports.
    """
    subprocess.run([str(python), "-m", "compileall", "-q", "workloads"], cwd=root, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def visible(own: Sequence[gpus.Gpu]) -> dict[str, str]:
    """The variable that lets CUDA see these GPUs alone; {} for none."""
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in own)} if own else {}


def worker_command(python: Path, cell: Cell, data: Path, module: str) -> list[str]:
    """What starts a worker, as anyone could type it."""
    return [str(python), "-m", module, json.dumps(cell._asdict()), "--data", str(data)]


def _environments(count: int) -> list[dict[str, str]]:
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


class VenvRunning(Running):
    """The process groups of a run."""

    def __init__(self, places: tuple[cluster.Place, ...], record: dict[str, Any]) -> None:
        self.place = record
        self.reporters, self.servers = reporters(places), servers(places)
        self._pipe = Pipe()
        self._groups: dict[str, _ProcessGroup] = {}

    def add(self, name: str, group: "_ProcessGroup") -> None:
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

    def errors(self) -> dict[str, Written]:
        """As protocol.Running."""
        return {name: group.errors() for name, group in self._groups.items()}

    def stop(self) -> None:
        """Kill the groups, and remove their temporary folders."""
        self._pipe.close()
        for group in self._groups.values():
            group.stop()


class _ProcessGroup:
    """The processes of a place."""

    def __init__(self, command: list[str], limits: tuple[list[int], int], root: Path,
                 environment: dict[str, str]) -> None:
        """limits: the CPUs, and the bytes of private memory or 0."""
        self._scratch = leftovers.temporary_folder()
        runner = os.getpid()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root,
                env={**_environment(self._scratch.name), **environment}, start_new_session=True,
                preexec_fn=lambda: _enter(*limits, runner))
        except OSError as error:
            raise BenchError(f"{command[0]}: {error.strerror}") from error
        assert self._process.stdout is not None and self._process.stderr is not None
        self._errors = _Errors(self._process.stderr)
        self.output = self._process.stdout

    def exit(self, seconds: float) -> Exit:
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        return Exit(code, last_words=self._errors.last_words(has_ended=code is not None))

    def errors(self) -> Written:
        return self._errors.written()

    def is_stopped(self) -> bool:
        try:
            return psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED
        except psutil.Error:
            return False

    def stop(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
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


def _environment(scratch: str) -> dict[str, str]:
    """A worker's variables. By an allow-list: what a shell happens to export cannot change a measurement."""
    allowed = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    return {**allowed, "HOME": scratch, "TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def _enter(cpus: list[int], memory_bytes: int, runner: int) -> None:
    """Limit the child to its CPUs and memory, and let it die with the runner."""
    os.sched_setaffinity(0, cpus)
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != runner:       # it was killed before it could be heard of
            os.kill(os.getpid(), signal.SIGKILL)
