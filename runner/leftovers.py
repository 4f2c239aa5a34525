"""Who owns a container, network or folder that a killed runner left behind, and the sweeping up after dead owners.

An owner is "<pid>-<its start>-<place>". The start is in clock ticks since the machine's: a wall clock that is set, by
hand or by NTP, does not make a living runner look dead. (psutil's create_time is of the wall clock.) The place is
"<machine, by its hostname and machine-id>.<boot>.<namespace of process numbers>". A reboot ends all of a machine's
runners; of another machine, or another namespace of this boot, nothing is known.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_PREFIX = "evenbench-"
_ID = Path("/etc/machine-id")          # machine-id(5)
_OWNER = r"(\d{1,9})-(\d+)-([0-9a-f]+)\.([0-9a-f]+)\.([0-9a-f]+)"


def mine(root: Path = Path("/proc")) -> str:
    """This process. root: where processes are shown."""
    return f"{os.getpid()}-{_start('self', root)}-{_place(root)}"


def is_gone(owner: str, root: Path = Path("/proc")) -> bool:
    """Whether the process is known to live no longer; False for words that name none."""
    words = re.fullmatch(_OWNER, owner)
    if not words:
        return False
    pid, start, *there = words.groups()
    here = _place(root).split(".")
    if there[0] == here[0] and there[1] != here[1]:
        return True
    # without a mount of its own a namespace shows another one's numbers
    if there != here or str((root / "self").readlink()) != str(os.getpid()):
        return False
    try:
        return _start(pid, root) != start
    except OSError:                      # it is gone, or /proc hides others' processes (proc(5), hidepid)
        return not _lives(int(pid))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:              # it is another user's
        pass
    return True


def _start(process: str, root: Path) -> str:
    """Field 22 of proc(5)'s stat; the name, field 2, may hold spaces and parentheses. Raises OSError."""
    return (root / process / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]


def _place(root: Path) -> str:
    machine = (root / "sys/kernel/hostname").read_text() + (_ID.read_text() if _ID.is_file() else "")
    words = machine, (root / "sys/kernel/random/boot_id").read_text(), str((root / "self/ns/pid").readlink())
    return ".".join(hashlib.sha256(word.strip().encode()).hexdigest()[:8] for word in words)


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder that sweep_folders removes where this process cannot."""
    return tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{mine()}-")


def folders() -> list[Path]:
    """The temporary folders of runners that are gone."""
    found = []
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = re.match(rf"{_PREFIX}({_OWNER})-", path.name)
        with suppress(FileNotFoundError):        # another sweep was faster
            about = path.lstat()
            if owner and stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and is_gone(owner[1]):
                found.append(path)
    return found


def sweep_folders(say: Callable[[str], None]) -> None:
    """Remove the temporary folders of runners that are gone."""
    for path in folders():
        say(f"removing {path}, left by a runner that is gone")
        shutil.rmtree(path, ignore_errors=True)
