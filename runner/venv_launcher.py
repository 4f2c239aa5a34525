"""Runs cells in virtual environments on the host itself: the default where no engine answers. Marked in every record.

The worker gets the same CPUs, threads and lock as in an image, but no memory limit, no network boundary and the host's
own C library.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner import venvs
from runner.errors import BenchError, InterpreterMissing
from runner.launch import Exit
from runner.pipe import Pipe, lines_of_file
from runner.stack import Stack, fingerprint
from workloads.spec.cell import Cell

_LAST_WORDS = 400        # characters of standard error that an ending quotes
_PR_SET_PDEATHSIG = 1    # linux/prctl.h


class VenvLauncher:
    """Launches workers with the interpreters of this machine."""

    name = "venv"

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._pythons: dict[str, Path] = {}

    def missing(self, stack: Stack) -> str | None:
        """The missing interpreter, or None."""
        try:
            venvs.find_interpreter(stack.python)
        except InterpreterMissing as error:
            return str(error)
        return None

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Build the environments that are not there yet."""
        for stack in stacks:
            self._pythons[stack.name] = venvs.ready(stack, self._cache, say)

    def fingerprint(self, stack: Stack) -> str:
        """The locks and the workloads."""
        return fingerprint(stack)

    def start(self, cell: Cell, stack: Stack, data: Path, run: str,
              module: str = "workloads") -> "VenvRunning":
        """Start a worker on the first cell.cpus CPUs. Raises BenchError."""
        python = self._pythons.get(stack.name) or venvs.ready(stack, self._cache, lambda text: None)
        place = {"launcher": "venv", "isolation": "venv", "image": None, "base": f"host, {python}",
                 "base_is_default": False, "stack_version": stack.version, "fingerprint": fingerprint(stack)}
        return VenvRunning(worker_command(python, cell, data, module), cell.cpus, stack.root, place)


def worker_command(python: Path, cell: Cell, data: Path, module: str) -> list[str]:
    """What starts a worker, as anyone could type it."""
    return [str(python), "-m", module, json.dumps(cell._asdict()), "--data", str(data)]


class VenvRunning:
    """A worker's process group."""

    def __init__(self, command: list[str], cpus: int, root: Path, place: dict[str, Any]) -> None:
        self.place = place
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the worker)
        self._scratch = tempfile.TemporaryDirectory(prefix="evenbench-")
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, cwd=root,
                env=_environment(self._scratch.name), start_new_session=True, preexec_fn=lambda: _enter(cpus))
        except OSError as error:
            raise BenchError(f"{command[0]}: {error.strerror}") from error
        assert self._process.stdout is not None
        self._pipe = Pipe(lines_of_file(self._process.stdout))

    def next_line(self, seconds: float) -> bytes | None:
        """As launch.Running."""
        return self._pipe.next(seconds)

    def exit(self, seconds: float) -> Exit:
        """As launch.Running."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        return Exit(code, last_words=self._last_words())

    def _last_words(self) -> str:
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), 4 * _LAST_WORDS, max(0, size - 4 * _LAST_WORDS))
        return " ".join(tail.decode(errors="replace").split())[-_LAST_WORDS:]

    def stop(self) -> None:
        """Kill the group and take its leavings."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._pipe.close()
        self._errors.close()
        self._scratch.cleanup()


def _environment(scratch: str) -> dict[str, str]:
    """By allow-list, so that what a shell happens to export cannot change a measurement."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "HOME": scratch, "TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def _enter(cpus: int) -> None:
    """In the child: its CPUs, and death with the runner, so that a killed runner leaves no worker."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cpus])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
