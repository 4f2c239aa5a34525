"""Who owns a container, network or folder that a killed runner left behind, and the sweeping up after dead owners.

An owner is "<pid>-<its start>", the start in clock ticks since the machine's: a wall clock that is set, by hand or by
NTP, does not make a living runner look dead. (psutil's create_time is of the wall clock.)
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_PREFIX = "evenbench-"


def mine() -> str:
    """This process."""
    return f"{os.getpid()}-{_start(os.getpid())}"


def is_alive(owner: str) -> bool:
    """Whether the process still lives; False for words that name none."""
    pid, _, start = owner.partition("-")
    try:
        return _start(int(pid)) == start
    except (OSError, ValueError):
        return False


def _start(pid: int) -> str:
    """Field 22 of proc(5)'s stat; the name, field 2, may hold spaces and parentheses. Raises OSError."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder that sweep_folders removes where this process cannot."""
    return tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{mine()}-")


def sweep_folders(say: Callable[[str], None]) -> None:
    """Remove the temporary folders of runners that no longer live."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = re.match(rf"{_PREFIX}(\d+-\d+)-", path.name)
        if owner and not is_alive(owner[1]):
            say(f"removing {path}, left by a runner that is gone")
            shutil.rmtree(path, ignore_errors=True)
