"""The environment under proof, and how processes are run in it: each in a group of its own, with an end to its time."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.gpu.management import Management
from tests.gpu.verdicts import Failed, NotHere, NotRun

ROOT = Path(__file__).parents[2]
ADAPTERS = {"torch": "pytorch", "jax": "jax"}        # by the package that an environment must have
CPU_PATIENCE = 4              # times a GPU's seconds: two cores, perhaps shared, where nothing is judged by time
CUT = "the time of all checks was over before it ended"
Event = dict[str, Any]


class Environment(NamedTuple):
    """A Python with a framework, and the device that is proved in it."""

    name: str
    python: str
    package: str                 # of ADAPTERS
    device: str                  # "gpu" or "cpu"
    deadline: float              # of the check that runs, by time.monotonic
    facts: dict[str, Any]        # what inside/facts.py says
    limit_bytes: int = 0         # of each process's addresses; 0: none
    is_shared_end: bool = False  # the deadline is that of all checks of the environment, not the check's own
    variables: tuple[tuple[str, str], ...] = ()          # more of each process's environment

    @property
    def adapter(self) -> str:
        """Its folder under workloads/frameworks."""
        return ADAPTERS[self.package]

    @property
    def is_gpu(self) -> bool:
        """Whether a GPU is under proof."""
        return self.device == "gpu"

    @property
    def was_cut(self) -> bool:
        """Whether the time of all checks is over: what ended then was not given its own."""
        return self.is_shared_end and time.monotonic() >= self.deadline

    def management(self) -> Management:
        """The driver's account of its GPU. Raises OSError."""
        return Management(str(self.facts.get("uuid", "")))

    def script(self, name: str, *arguments: str, seconds: float = 300.0) -> list[Event]:
        """The JSON lines that a module of tests/gpu/inside says. Raises Failed with its last line, NotRun if cut."""
        lines, complaint = self.told(name, *arguments, seconds=seconds)
        if complaint:
            raise NotRun(CUT) if self.was_cut else Failed(f"{name}: {complaint}")
        return lines

    def told(self, name: str, *arguments: str, seconds: float = 300.0) -> tuple[list[Event], str]:
        """(the JSON lines that it said, why it did not end well or "")."""
        code, lines, complaint = finished(self.start("tests.gpu.inside", name, *arguments), self._until(seconds))
        return lines, (complaint or f"exit code {code}") if code else ""

    def cell(self, seconds: float = 300.0, **values: Any) -> list[Event]:
        """The events of a cell, as `python -m workloads` says them. Raises Failed if not ok, NotRun, NotHere."""
        events = self.ended(seconds, **values)
        end = events[-1]
        if end["status"] == "timeout" and self.was_cut:
            raise NotRun(CUT)
        if end["status"] == "unsupported":
            raise NotHere(end["message"])
        if end["status"] != "ok":
            raise Failed(f"{values['task']} {values['measure']}: {end['status']}: {end['message']}")
        return events

    def ended(self, seconds: float = 300.0, **values: Any) -> list[Event]:
        """The events of a cell, whatever its ending; the last one is an "end" event, which a killed worker lacks."""
        code, lines, complaint = finished(self.start_cell(**values), self._until(seconds))
        if not lines or lines[-1]["event"] != "end":
            status = "timeout" if code == -signal.SIGKILL else "died"
            lines.append({"event": "end", "status": status, "message": complaint or f"exit code {code}"})
        return lines

    def start_cell(self, **values: Any) -> "Process":
        """A worker that measures a cell."""
        text = json.dumps({"stack": self.name, "device": self.device, **values})
        return self.start("workloads", text)

    def start(self, module: str, *arguments: str) -> "Process":
        """A process of this environment, with the repository on its path."""
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        variables = dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1",
                         XLA_PYTHON_CLIENT_PREALLOCATE="false",   # else JAX takes three quarters of a GPU, each process
                         EVENBENCH_FRAMEWORK=self.adapter,      # of several here, the worker takes this one
                         **dict(self.variables))
        files = tempfile.TemporaryFile(), tempfile.TemporaryFile()      # noqa: SIM115  Process closes them
        try:
            popen = subprocess.Popen([self.python, "-m", module, *arguments], cwd=ROOT, env=variables, stdout=files[0],
                                     stderr=files[1], stdin=subprocess.DEVNULL, start_new_session=True,
                                     preexec_fn=self._limit if self.limit_bytes else None)
        except OSError:
            for file in files:
                file.close()
            raise
        return Process(popen, *files)

    def _limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (self.limit_bytes, self.limit_bytes))

    def _until(self, seconds: float) -> float:
        return min(time.monotonic() + seconds * (1 if self.is_gpu else CPU_PATIENCE), self.deadline)


class Process(NamedTuple):
    """A process and the files that it writes; at the end of a with statement it is killed with all that it started."""

    popen: "subprocess.Popen[bytes]"
    out: Any
    errors: Any

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *failure: object) -> None:
        self.kill()
        self.out.close()
        self.errors.close()

    def events(self) -> list[Event]:
        """What it said so far, in JSON lines; an unfinished last one is left out."""
        return [json.loads(line) for line in _written(self.out).split("\n")[:-1] if line.startswith("{")]

    def complaint(self) -> str:
        """The last line of its standard error."""
        lines = [line.strip() for line in _written(self.errors).splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""

    def awaited(self, name: str, until: float) -> list[Event]:
        """What it said, once it said an event of this name. Raises Failed where it ends or takes too long."""
        while time.monotonic() < until:
            said = self.events()
            if any(event["event"] == name for event in said):
                return said
            if self.popen.poll() is not None:
                raise Failed(f"ended before it said {name}: {self.complaint()}")
            time.sleep(0.05)
        raise Failed(f"did not say {name} in its time")

    def kill(self) -> None:
        """End it and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()


def finished(process: Process, until: float) -> tuple[int, list[Event], str]:
    """(exit code, JSON lines, last line of standard error) of a process that is over; it is killed when its time is."""
    with process:
        try:
            code, complaint = process.popen.wait(max(0.1, until - time.monotonic())), ""
        except subprocess.TimeoutExpired:
            code, complaint = -signal.SIGKILL, "killed at the end of its time"
        process.kill()
        return code, process.events(), complaint or process.complaint()


def _written(file: Any) -> str:
    return os.pread(file.fileno(), 1 << 30, 0).decode(errors="replace")


def opened(name: str, python: str, package: str, device: str) -> list[Environment]:
    """An interpreter's Environment of the package; package "" is one of each of ADAPTERS that it has.

    Raises Failed where it cannot be run, has no framework, or sees no GPU where one is under proof.
    """
    folder = Path(python)
    path = str(folder / "bin" / "python") if folder.is_dir() else python
    bare = Environment(name, path, package or "torch", device, time.monotonic() + 120, {})
    try:
        told = bare.script("facts", package or "any", device)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from error
    problems = "; ".join(facts["problem"] for facts in told if facts.get("problem"))
    found = [bare._replace(package=facts["package"], facts=facts) for facts in told if not facts.get("problem")]
    if not found:
        raise Failed(f"{path}: {problems}")
    if problems:                                # of one framework; another one there can be proved
        print(f"{path}: {problems}: it is left out", file=sys.stderr)
    return found


def named(text: str) -> tuple[str, str, str]:
    """(name, interpreter, package) of NAME=PATH or NAME=PATH#PACKAGE; the package is "" where it is not said."""
    name, _, rest = text.partition("=") if "=" in text else ("here", "", text)
    path, _, package = rest.partition("#")
    return name, path or sys.executable, package
