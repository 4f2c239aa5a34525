"""Runs cells in fresh containers: pinned CPUs, memory without swap, no network, nothing to write to."""

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from runner import images
from runner.engine import APIError, Container, DockerClient, DockerException, NotFound
from runner.errors import EngineUnreachable, ImageMissing
from runner.launch import Exit
from runner.pipe import Pipe, lines_of_chunks
from runner.stack import Stack, fingerprint
from workloads.spec.cell import Cell

OWNER = "org.evenbench.owner"       # "<pid>:<its start>" of the runner whose container it is
RUN = "org.evenbench.run"
_LAST_WORDS = 400                   # characters of standard error that an ending quotes
_WRITABLE = {"/tmp": "rw,exec,nosuid,nodev,size=1g,mode=1777"}      # exec: torch.compile loads what it compiles
_GONE_SECONDS = 10


class DockerLauncher:
    """Launches workers in images of the stacks."""

    name = "docker"

    def __init__(self, client: DockerClient) -> None:
        self._client = client
        self._images: dict[str, images.Image] = {}

    def missing(self, stack: Stack) -> str | None:
        """Nothing is missing that prepare could not build; a failed build says why itself."""
        return None

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Build images that are missing or old, and remove containers of runners that are gone."""
        sweep(self._client, say)
        for stack in stacks:
            self._images[stack.name] = images.build(self._client, stack, say)

    def fingerprint(self, stack: Stack) -> str:
        """The Dockerfile, the locks and the workloads."""
        return fingerprint(stack)

    def start(self, cell: Cell, stack: Stack, data: Path, run: str,
              module: str = "workloads") -> "DockerRunning":
        """Start a container. Raises BenchError."""
        image = self._images.get(stack.name) or images.find(self._client, stack)
        if image is None:
            raise ImageMissing(f"stack {stack.name} has no image here: run `evenbench images {stack.name}`")
        place = {"launcher": "docker", "isolation": "docker", "image": image.id, "base": image.base,
                 "base_is_default": image.base_is_default, "stack_version": stack.version,
                 "fingerprint": image.fingerprint}
        try:
            container = self._client.containers.create(image.id, **settings(cell, data, run, module))
            return DockerRunning(self._client, container, place)
        except DockerException as error:
            raise EngineUnreachable(f"the engine did not start a container: {explained(error)}") from error


def settings(cell: Cell, data: Path, run: str, module: str = "workloads") -> dict[str, Any]:
    """What a worker's container is created with: no more than it needs."""
    return {
        "entrypoint": ["python", "-m", module],
        "command": [json.dumps(cell._asdict())],
        "name": f"evenbench-{run.replace('.', '-')}-{os.getpid()}",
        "labels": {OWNER: _owner(), RUN: run},
        "cpuset_cpus": ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[: cell.cpus]),
        "mem_limit": cell.memory_bytes or None,
        "memswap_limit": cell.memory_bytes or None,      # equal to the memory: no swap
        "network_mode": "none",
        "read_only": True,
        "tmpfs": _WRITABLE,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "pids_limit": 4096,
        "init": True,
        "volumes": {str(data): {"bind": "/data", "mode": "ro"}},
        "log_config": {"Type": "none"},                 # lines come by the attached stream; a log would be disk work
    }


def explained(error: Exception) -> str:
    """The engine's own words on one line."""
    words = error.explanation if isinstance(error, APIError) and error.explanation else str(error)
    return " ".join(str(words).split())[:300]


def _owner() -> str:
    return f"{os.getpid()}:{psutil.Process().create_time():.2f}"


def sweep(client: DockerClient, say: Callable[[str], None]) -> int:
    """Remove the containers of runners that no longer live; how many."""
    removed = 0
    for container in client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True):
        if not _is_alive(container.labels[OWNER]):
            say(f"engine: removing {container.name}, left by a runner that is gone")
            _remove(container)
            removed += 1
    return removed


def _is_alive(owner: str) -> bool:
    pid, _, began = owner.partition(":")
    try:
        return f"{psutil.Process(int(pid)).create_time():.2f}" == began
    except (psutil.Error, ValueError):
        return False


def _remove(container: Container) -> None:
    try:
        container.remove(force=True, v=True)
    except (NotFound, APIError):
        pass      # it is being removed already


class DockerRunning:
    """A worker's container."""

    def __init__(self, client: DockerClient, container: Container, place: dict[str, Any]) -> None:
        self.place = place
        self._container = container
        self._errors: deque[bytes] = deque(maxlen=64)
        try:
            # attached before the start, so that no line is missed
            self._stream = client.api.attach(str(container.id), stdout=True, stderr=True, stream=True, demux=True)
            self._pipe = Pipe(lines_of_chunks(self._outputs(self._stream)))
            container.start()
        except DockerException:
            self.stop()
            raise

    def _outputs(self, stream: Iterator[tuple[bytes | None, bytes | None]]) -> Iterator[bytes]:
        """Standard output's chunks; standard error's last ones are kept."""
        for output, error in stream:
            if error:
                self._errors.append(error[-4 * _LAST_WORDS :])
            if output:
                yield output

    def next_line(self, seconds: float) -> bytes | None:
        """As launch.Running."""
        return self._pipe.next(seconds)

    def exit(self, seconds: float) -> Exit:
        """As launch.Running."""
        try:
            if seconds:
                self._container.wait(timeout=seconds)
            self._container.reload()
        except (DockerException, OSError) as error:      # requests' time-outs are OSErrors
            return Exit(None, last_words=self._last_words() or explained(error))
        state = self._container.attrs["State"]
        code = None if state["Running"] else int(state["ExitCode"])
        return Exit(code, bool(state["OOMKilled"]), self._last_words())

    def _last_words(self) -> str:
        return " ".join(b"".join(self._errors).decode(errors="replace").split())[-_LAST_WORDS:]

    def stop(self) -> None:
        """Remove the container, running or not."""
        if hasattr(self, "_pipe"):
            self._pipe.close()
        _remove(self._container)
        if hasattr(self, "_stream"):
            self._stream.close()
            self._stream._response.close()  # type: ignore[attr-defined]  # the stream's own close leaves its descriptor to the collector
