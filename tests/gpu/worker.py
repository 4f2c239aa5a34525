"""Workers of the environment under proof, each in a process group of its own, with an end to its time."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.gpu.lines import NOT_HERE, NOT_OK, NOT_RUN, Ended

ROOT = Path(__file__).parents[2]
ADAPTERS = {"torch": "pytorch", "jax": "jax"}        # by the package that an environment must have
Event = dict[str, Any]


class Running(NamedTuple):
    popen: "subprocess.Popen[bytes]"
    out: IO[bytes]

    def events(self) -> list[Event]:
        """What it said so far, in JSON lines; an unfinished last one is left out."""
        lines = os.pread(self.out.fileno(), 1 << 30, 0).decode(errors="replace").split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def awaited(self, event: str, until: float) -> None:
        """Wait until it says the event. Raises Ended where it ends before, or the time is over."""
        while not any(each["event"] == event for each in self.events()):
            if self.popen.poll() is not None or time.monotonic() > until:
                raise Ended(NOT_OK, f"no {event} event")
            time.sleep(0.05)


class Environment(NamedTuple):
    """A Python with a framework, and the device that is proved in it."""

    name: str
    python: str
    package: str                 # of ADAPTERS
    device: str                  # "gpu" or "cpu"
    deadline: float              # of the check that runs, by time.monotonic
    facts: dict[str, Any]        # what a worker's start event says
    is_shared_end: bool = False  # the deadline is that of all checks of the environment
    variables: tuple[tuple[str, str], ...] = ()          # more of each worker's

    @property
    def is_gpu(self) -> bool:
        return self.device == "gpu"

    def cut(self) -> Ended:
        """Of what the deadline ended: it was not given its own time where that is the end of all checks."""
        return (Ended(NOT_RUN, "the time of all checks was over before it ended") if self.is_shared_end
                else Ended(NOT_OK, "killed at the end of its time"))

    @contextmanager
    def worker(self, **values: Any) -> Iterator[Running]:
        """A worker that measures a cell; at the end of the block it is killed with all that it started."""
        cell = json.dumps({"stack": self.name, "device": self.device, **values})
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1",
                     "EVENBENCH_FRAMEWORK": ADAPTERS[self.package], "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                     "CUDA_DEVICE_ORDER": "PCI_BUS_ID", **dict(self.variables)}       # the order that NVML has
        with tempfile.TemporaryFile() as out:
            try:
                popen = subprocess.Popen([self.python, "-m", "workloads", cell], cwd=ROOT, env=variables, stdout=out,
                                         stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True)
            except OSError as error:
                raise Ended(NOT_OK, f"{self.python}: {error.strerror}") from error
            try:
                yield Running(popen, out)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(popen.pid, signal.SIGKILL)
                popen.wait()

    def cell(self, **values: Any) -> list[Event]:
        """The events of a cell that ended ok. Raises Ended."""
        with self.worker(**values) as running:
            try:
                running.popen.wait(max(0.1, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise self.cut() from error
            events = running.events()
        end = events[-1] if events and events[-1]["event"] == "end" else {"status": "died", "message": ""}
        if end["status"] == "unsupported":
            raise Ended(NOT_HERE, end["message"])
        if end["status"] != "ok":
            raise Ended(NOT_OK, f"{values['task']} {values['measure']}: {end['status']}: {end['message']}")
        return events


def of_group(group: int) -> list[int]:
    """The living processes of a group, which every process that a worker starts is in."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_it = path.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(of_it) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


def opened(text: str, device: str) -> list[Environment]:
    """The Environments of NAME=PATH[#PACKAGE], of each package of ADAPTERS that is there. Raises Ended without any."""
    name, _, rest = text.rpartition("=")
    path, _, package = rest.partition("#")
    python = str(Path(path, "bin", "python")) if Path(path).is_dir() else path
    found, problems = [], []
    for each in [package] if package else ADAPTERS:
        env = Environment(name or "here", python, each, device, time.monotonic() + 120, {})
        try:
            start = env.cell(task="lenet5", measure="train", steps=1, warmup=0, input="synthetic")[0]
            found.append(env._replace(facts=start["facts"]))
        except Ended as error:
            problems.append(f"{path}: {each}: {error.args[1]}")
    if not found:
        raise Ended(NOT_OK, "\n".join(problems))
    return found
