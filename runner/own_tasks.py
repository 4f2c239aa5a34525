"""Image tasks of the user's own: folders that --tasks or EVENBENCH_TASKS names hold NAME.py, whose TASK is one.

Such a file is asked in a process of its own, as an environment of the user's is, and what it says travels as data:
in the cells, and so in records, which run nobody's code when they are read or repeated.
"""

import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from runner import paths
from runner.errors import InputError
from runner.processes import clean_environment
from workloads.spec import tasks
from workloads.spec.image_task import TableError, Task, loads

NAME = "[a-z][a-z0-9_-]{0,39}"
_READER = "workloads.process.own_task"
_SECONDS = 60
_LINE = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)


def files() -> dict[str, Path]:
    """The files of the user's own tasks by name. Raises InputError for a name that cannot be, or is there already."""
    return _files(paths.own_folders(paths.OWN_TASKS))


@functools.cache
def _files(folders: tuple[Path, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in (path for each in folders for path in sorted(each.glob("[!_]*.py"))):
        if not re.fullmatch(NAME, path.stem):
            raise InputError(f'{path}: found the name "{path.stem}", expected at most 40 small letters, digits, "-" '
                             'and "_", a letter first; a file of blocks that tasks share begins with "_"')
        if path.stem in found or path.stem in tasks.NAMES:
            where = f", in {found[path.stem]}" if path.stem in found else ""
            raise InputError(f"{path}: there is a task {path.stem} already{where}: give yours another name")
        found[path.stem] = path
    if folders and not found:
        raise InputError(f"{folders[0]}: no task here; expected files NAME.py, whose TASK is one")
    return found


def names() -> tuple[str, ...]:
    """All tasks that there are: ours, then the user's own. Raises InputError."""
    return (*tasks.NAMES, *files())


def title(name: str) -> str:
    """A task's name for people. Raises InputError."""
    own = files().get(name)
    return _task(own)[1].title if own else str(tasks.title(name))


def defaults(name: str) -> dict[str, Any]:
    """The cell fields that a task decides where nobody says them: of the user's own its table. Raises InputError."""
    own = files().get(name)
    if own is None:
        return dict(tasks.defaults(name))
    text, task = _task(own)
    return {"image": task.image, "classes": task.classes, "table": text}


@functools.cache
def _task(path: Path) -> tuple[str, Task]:
    """What a file's TASK is, as text and as it is. Raises InputError."""
    try:
        ended = subprocess.run([sys.executable, "-m", _READER, str(path)], cwd=paths.ROOT, capture_output=True,
                               text=True, errors="replace", timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL,
                               env={**clean_environment(), "PYTHONDONTWRITEBYTECODE": "1"})
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{path}: found no TASK within {_SECONDS} s") from error
    if ended.returncode:
        raise InputError(f"{path}: {_reason(path, ended.stderr)}")
    try:
        return ended.stdout, loads(ended.stdout)
    except TableError as error:
        raise InputError(f"{path}: TASK: {error}") from error


def _reason(path: Path, errors: str) -> str:
    """What a traceback says last, and in which line of the file."""
    lines = [number for file, number in _LINE.findall(errors) if file == str(path)]
    last = (errors.strip().splitlines() or ["it ended without a word"])[-1]
    return f"line {lines[-1]}: {last}" if lines else last
