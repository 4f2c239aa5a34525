"""The laboratory: a repository of the real runner and one stack, whose worker, tests/faults/worker.py, does as told.

Its sessions are the real command line's. Their results, caches and temporary files are the laboratory's own, so that
what they leave can be seen, and nothing of the user's is touched.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import psutil
from pydantic_core import from_json

from runner import paths
from runner.launchers.docker import OWNER
from runner.results import store
from runner.stacks import engine
from tests.faults import worker
from tests.made_files import files
from tests.stack_folder import STACK_TOML, repository

PYTHON = "3.6"
PATIENCE_SECONDS = 300.0        # with a session; the machine may do other things too
_LOOK_SECONDS = 0.02
_IGNORED = shutil.ignore_patterns("__pycache__")
_DOCKERFILE = """
ARG BASE
FROM ${BASE}
COPY --chmod=755 workloads/python /usr/local/bin/python
WORKDIR /opt/evenbench
USER 1000
COPY workloads workloads
"""
# the base has its interpreter under its full name alone; no RUN, which would need a network
_INTERPRETER = f'#!/bin/sh\nexec python{PYTHON} "$@"\n'
_STUDY = f"""
[study]
id = "faults"
title = "Faults"
rounds = 1
scales = ["paper"]

[[experiment]]
id = "{{id}}"
measure = "train"
task = "lenet5"
steps = {worker.STEPS}
warmup = 1
cpus = 1
memory_bytes = 268_435_456
stacks = ["torch-9"]
cases = [{{cases}}]
"""
PARALLEL = {"nodes": 2, "parallel": "allreduce"}


class Lab(NamedTuple):
    root: Path
    engine: Any = None           # an engines.Engine, whose containers run the workers; None: virtual environments do

    @property
    def launcher(self) -> str:
        return "docker" if self.engine else "venv"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def scratch(self) -> Path:
        return self.root / "tmp"

    @property
    def log(self) -> Path:
        return self.root / "sessions.log"

    def environment(self) -> dict[str, str]:
        """The session's: everything that it keeps or leaves lies in the laboratory."""
        own = {"XDG_CACHE_HOME": str(self.root / "cache"), "TMPDIR": str(self.scratch)}
        return {**os.environ, **own, **({"DOCKER_HOST": self.engine.host} if self.engine else {})}

    def left(self) -> list[str]:
        """What a session left behind: containers and networks, processes, temporary files."""
        return [*self._in_the_engine(), *map(str, self.scratch.iterdir()),
                *(f"process {each.pid}" for each in psutil.process_iter() if _runs_in(each, self.root))]

    def _in_the_engine(self) -> list[str]:
        if not self.engine:
            return []
        with closing(engine.connect({"DOCKER_HOST": self.engine.host})) as client:
            found = [*client.containers.list(all=True, filters={"label": OWNER}),
                     *client.networks.list(filters={"label": OWNER})]
            return [f"{each.name}" for each in found]


def _runs_in(process: psutil.Process, root: Path) -> bool:
    """Whether it is a worker on the host, which runs in the laboratory's repository."""
    try:
        return Path(process.cwd()) == root and "workloads" in process.cmdline()
    except psutil.Error:
        return False


def made(root: Path, engine: Any = None) -> Lab:
    """A new laboratory in a folder that is empty or not there."""
    stack = repository(root, STACK_TOML.replace('"3.11"', f'"{PYTHON}"'))
    for name in ("runner", "workloads/places", "workloads/process", "workloads/spec", "docker/pip"):
        shutil.copytree(paths.ROOT / name, root / name, ignore=_IGNORED, dirs_exist_ok=True)
    for name in ("docker/install.sh", "docker/system.sh"):
        shutil.copyfile(paths.ROOT / name, root / name)
    files(root, {"workloads/__init__.py": "", "workloads/__main__.py": Path(worker.__file__).read_text(),
                 "workloads/python": _INTERPRETER})
    files(stack, {"Dockerfile": _DOCKERFILE, "requirements.in": "", "requirements.txt": ""})
    lab = Lab(root, engine)
    for folder in (root / "studies", lab.results, lab.scratch):
        folder.mkdir()
    return lab


def case(behaviour: Callable[[], None], **more: Any) -> dict[str, Any]:
    """The cell fields that make the worker behave so."""
    return {"seed": worker.BEHAVIOURS.index(behaviour), **more}


class Session:
    """A running `evenbench run` of the laboratory, watched as its events come."""

    def __init__(self, lab: Lab, study: str, cases: Sequence[dict[str, Any]], *words: str,
                 results: Path | None = None, variables: Mapping[str, str] = MappingProxyType({})) -> None:
        """study: the name of the study, which has these cases; variables: put into the runner's environment."""
        self.results = results or lab.results
        path = lab.root / "studies" / f"{study}.toml"
        path.write_text(_STUDY.format(id=study, cases=", ".join(map(_inline, cases))))
        self._known = self._sizes()
        command = [sys.executable, "-m", "runner", "run", str(path), "--launcher", lab.launcher, "--results",
                   str(self.results), *words]
        with lab.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=lab.root, env={**lab.environment(), **variables},
                                            stdout=log, stderr=log)
        self.began = time.monotonic()
        self.is_hung = False

    def _sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size for path in self.results.glob(f"*/{store.EVENTS}")}

    def records(self, seconds: float = PATIENCE_SECONDS) -> Iterator[dict[str, Any] | None]:
        """The records that this session writes, as they come; None while none comes. Ends with the session.

        One that takes longer than so many seconds hangs, and is killed.
        """
        deadline = self.began + seconds
        positions = dict(self._known)
        while time.monotonic() < deadline:
            is_over = self.process.poll() is not None
            for path in self.results.glob(f"*/{store.EVENTS}"):
                for line in _whole_lines(path, positions):
                    yield from_json(line)
            if is_over:
                return
            yield None
            time.sleep(_LOOK_SECONDS)
        self.is_hung = True
        self.process.kill()
        self.process.wait()

    def ended(self) -> int:
        """The exit code, once it has one."""
        for _ in self.records():
            pass
        return self.process.wait()


def _whole_lines(path: Path, positions: dict[Path, int]) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(positions.get(path, 0))
        for line in file:
            if not line.endswith(b"\n"):
                return
            positions[path] = positions.get(path, 0) + len(line)
            yield line


def _inline(values: dict[str, Any]) -> str:
    """A TOML table on one line, of numbers and plain words."""
    return "{" + ", ".join(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
                           for key, value in values.items()) + "}"
