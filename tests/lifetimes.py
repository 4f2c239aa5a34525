"""Whether processes of other processes have begun or ended, which nobody tells a test."""

import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

import psutil

_Told = TypeVar("_Told")


def eventually(tell: Callable[[], _Told]) -> _Told | None:
    """What tell() gives as soon as it gives something."""
    for _ in range(1000):
        with contextlib.suppress(OSError):
            if told := tell():
                return told
        time.sleep(0.01)
    return None


def is_gone(pid: int) -> bool:
    """Whether a process that was killed is gone soon: nobody waits for one whose parent went first."""
    return eventually(lambda: not psutil.pid_exists(pid) or _is_zombie(pid)) is True


def _is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
