"""Virtual environments of stacks on the host: the same locks as the images, without an engine."""

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from runner.errors import BuildFailed, DiskFull, InterpreterMissing
from runner.paths import free_bytes, home
from runner.processes import Say, answer_of, clean_environment, fresh_log, locked, run
from runner.stacks import own, package_sources
from runner.stacks.definition import PinnedStack, wheels_fingerprint
from workloads.spec import frameworks

UNPACKED_AND_DOWNLOADED = 1.6       # pip unpacks a wheel beside its downloaded copy, and keeps the download
_INSTALL = ("install", "--require-hashes", "--no-deps", "--no-build-isolation", "--no-input", "--progress-bar=off")
_WHO = ("import json, os, sys, venv, ensurepip; "
        "print('\\nevenbench ' + json.dumps([sys.version_info[:3], os.path.realpath(sys.executable)]))")
# pip's settings may lead packages elsewhere
_HAS = ("import importlib.util, sys; sys.exit(None if importlib.util.find_spec('{package}') else "
        "'ERROR: pip ended well, and {package} is not there: look at `pip config list` for a target, prefix or root')")
_CHECK_SECONDS = 60


def find_interpreter(python: str) -> tuple[str, Path]:
    """(version, path) of the newest interpreter of "3.6", on PATH, from pyenv or uv. Raises InterpreterMissing."""
    newest = max(_starting(python), default=None)
    if newest is None:
        has_uv = shutil.which("uv") and int(python.partition(".")[2]) >= 8         # which has none before 3.8
        raise InterpreterMissing(f"no Python {python} on PATH nor from pyenv or uv: run "
                                 + (f"`uv python install {python}`" if has_uv else f"`pyenv install {python}`"))
    return ".".join(map(str, newest[0])), newest[1]


def folder(stack: PinnedStack, cache: Path) -> Path:
    """Where the stack's virtual environment lies or will lie; its name changes with the locks."""
    return cache / "venvs" / f"{stack.name}-{wheels_fingerprint(stack)[:12]}"


def is_made(stack: PinnedStack, cache: Path) -> bool:
    """Whether the stack's environment is there with its interpreter, which its system may have removed."""
    return (folder(stack, cache) / "bin" / "python").exists()


def ready(stack: PinnedStack, cache: Path, say: Say = lambda line: None) -> Path:
    """The python of the stack's environment, made if missing. Raises InterpreterMissing, DiskFull, BuildFailed."""
    home = folder(stack, cache)
    python = home / "bin" / "python"
    with locked(home.with_name(home.name + ".lock")):
        if not is_made(stack, cache):
            _make(stack, home, say)
    return python


def content(home: Path) -> str:
    """What the files of a virtual environment are, as a SHA-256 of their names, sizes and times, but compiled ones."""
    total, left = hashlib.sha256(), [str(home)]
    while left:
        with os.scandir(left.pop()) as found:
            entries = sorted(found, key=lambda each: each.name)
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                left += [each.path] if each.name != "__pycache__" else []
            else:
                told = each.stat(follow_symlinks=False)
                total.update(f"{each.path}\0{told.st_size}\0{told.st_mtime_ns}\0".encode(errors="surrogateescape"))
    return total.hexdigest()


def missing_tools(stack: PinnedStack) -> str | None:
    """What this host lacks to compile the stack's own program, with the command that brings it; None where nothing."""
    for script in stack.program[:1]:
        command = shlex.join(["sh", str(script), "check"])
        try:
            answer = answer_of(["sh", script, "check"], timeout=_CHECK_SECONDS)
        except subprocess.TimeoutExpired:
            return f"{stack.name}: `{command}` did not answer within {_CHECK_SECONDS} s"
        if answer.returncode:
            said = answer.stderr.strip().splitlines() or [f"`{command}` ended with {answer.returncode}"]
            return f"{stack.name}: {said[-1]}"
    return None


def create(stack: PinnedStack, home: Path, log: Path) -> Path:
    """The python of a new virtual environment at home that holds nothing but the pip of the stack's own lock of it."""
    shutil.rmtree(home, ignore_errors=True)
    run([str(find_interpreter(stack.python)[1]), "-m", "venv", str(home)], log)
    inside = home / "bin" / "python"
    run([str(inside), "-m", "pip", "install", "--require-hashes", "-r", str(stack.pip_lock)], log,
        environment=package_sources.environment())
    return inside


def _make(stack: PinnedStack, home: Path, say: Say) -> None:
    """Build beside it and rename, so that a killed build leaves nothing that looks whole.

    Only bin/python is used of it: the scripts beside it keep the name from before.
    """
    check_room(f"{stack.name}: its virtual environment", stack.size.wheels_bytes * UNPACKED_AND_DOWNLOADED, home.parent,
               f"see `du -sh {shlex.quote(str(home.parent))}/*`")
    unfinished = home.with_name(home.name + ".unfinished")
    log = fresh_log(home.with_name(home.name + ".log"))
    say(f"{stack.name}: making its virtual environment, {stack.size.wheels_bytes / 1e9:.1f} GB on disk (log: {log})")
    try:
        inside = create(stack, unfinished, log)
        pip = [str(inside), "-m", "pip", *_INSTALL]
        heard = package_sources.Progress(stack.name, say)
        variables = package_sources.environment()
        package_sources.bring_own(stack, pip, stack.lock_text, log, heard=heard, variables=variables)
        run([*pip, "-r", str(stack.lock)], log, heard, variables)
        run([str(inside), "-m", "pip", "check"], log)
        if frameworks.is_known(stack.framework) and "==" in stack.lock.read_text():
            run([str(inside), "-c", _HAS.format(package=frameworks.package(stack.framework))], log)
        for script in stack.program[:1]:
            run(["sh", str(script), str(unfinished)], log)
    except BuildFailed as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise BuildFailed(f"{stack.name}: {error}") from error
    shutil.rmtree(home, ignore_errors=True)     # one whose interpreter was removed
    unfinished.rename(home)
    say(f"{stack.name}: virtual environment ready")


def check_room(what: str, need: float, folder: Path, remedy: str) -> None:
    """Raise DiskFull where so many bytes would not fit into a folder."""
    if (free := free_bytes(folder)) < need:
        raise DiskFull(f"{what} needs {need / 1e9:.1f} GB in {folder}, {free / 1e9:.1f} GB are free: {remedy}")


def _starting(python: str) -> Iterator[tuple[tuple[int, ...], Path]]:
    """(version, path) of the interpreters that start and have the module venv."""
    for path in _candidates(python):
        try:
            answer = answer_of([path, "-c", _WHO], timeout=20, env=clean_environment(), stdin=subprocess.DEVNULL)
            version, told = own.interpreter_in(answer.stdout)
        except (OSError, subprocess.TimeoutExpired, ValueError):
            continue
        if python == f"{version[0]}.{version[1]}":
            yield version, Path(told)


def _candidates(python: str) -> Iterator[Path]:
    name = f"python{python}"
    if on_path := shutil.which(name):
        yield Path(on_path)
    there = home() or Path("/nonexistent")           # as the password file calls the home of those that have none
    data = Path(os.environ.get("XDG_DATA_HOME") or there / ".local" / "share")
    for root in (Path(os.environ.get("PYENV_ROOT") or there / ".pyenv") / "versions",
                 Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")):
        with suppress(OSError):                          # another user's, which this one cannot read
            yield from sorted(root.glob(f"*{python}.*/bin/{name}"))
