"""One session at a time on a machine: a second one would measure the first."""

import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from runner.errors import Busy
from runner.processes import Say

MACHINE = "evenbench-measuring"  # a name of the kernel's, of whoever measures on this machine
_ASK_AGAIN_SECONDS = 2.0


@contextmanager
def measuring_alone(folder: Path, waits: bool = False, say: Say = lambda line: None) -> Iterator[None]:
    """Keep a second session out, whatever its user and cache; folder: locked, too. waits: for its end. Raises Busy."""
    folder.mkdir(parents=True, exist_ok=True)
    told = ""
    with ExitStack() as held:
        while busy := _holder_of_machine(held) or _holder_of(folder, held, say):
            held.close()
            if not waits:
                raise Busy(f"another evenbench session ({busy}) is measuring on this machine: --wait begins when it "
                           "has ended")
            if busy != told:
                say(f"waiting for another evenbench session ({busy})")
            told = busy
            time.sleep(_ASK_AGAIN_SECONDS)
        yield


def _holder_of_machine(held: ExitStack) -> str:
    """Who measures on this machine; "" where this process does from now on, until held is closed.

    A name that the kernel keeps for one process, whichever user's, and that goes with it: no file, no folder (unix(7)).
    """
    mine = held.enter_context(socket.socket(socket.AF_UNIX))
    try:
        mine.bind(f"\0{MACHINE}")
        mine.listen()
        return ""
    except OSError:
        with socket.socket(socket.AF_UNIX) as other:
            other.settimeout(1.0)
            try:
                other.connect(f"\0{MACHINE}")
                pid, uid, _ = struct.unpack("3i", other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                return f"process {pid}" + ("" if uid == os.getuid() else f" of user {uid}")
            except OSError:                        # it has just ended, or does not answer
                return "of another process"


def _holder_of(folder: Path, held: ExitStack, say: Say) -> str:
    """Who has the folder's lock; "" where this process has it from now on; said where the file system has no locks."""
    path = folder / "measuring.lock"
    try:
        lock: IO[str] = held.enter_context(path.open("a+"))
    except PermissionError:                    # another user's: to lock it, reading it suffices
        lock = held.enter_context(path.open())
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        return lock.read().strip()
    except OSError as error:
        say(f"{lock.name}: its file system has no locks ({error.strerror}): nobody keeps a second session out")
    if lock.writable():
        lock.truncate(0)
        with suppress(OSError):                # the disk is full: then the one who waits is not told for whom
            os.write(lock.fileno(), f"process {os.getpid()}".encode())
    return ""
