"""What becomes so at last, such as processes of other processes that begin or end, which nobody tells a test."""

import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

_Told = TypeVar("_Told")


def eventually(tell: Callable[[], _Told], seconds: float = 60.0) -> _Told | None:
    """What tell() gives as soon as it gives something, asked again after an OSError; None after so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if told := tell():
                return told
        time.sleep(0.02)
    return None


def is_gone(pid: int) -> bool:
    """Whether a process that was killed is gone soon: nobody waits for one whose parent went first."""
    import psutil  # here: the GPU proof does without it

    def is_over() -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return eventually(is_over) is True
