"""Where things lie: the checkout's own folders, the user's own, and what is kept between sessions."""

import codecs
import errno
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from runner.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
STUDIES, STACKS = ROOT / "studies", ROOT / "docker"
# variables for --studies and --stacks: folders with colons between, as PATH has them
OWN_STUDIES, OWN_STACKS = "EVENBENCH_STUDIES", "EVENBENCH_STACKS"
Shelf = Path | Sequence[Path]    # a folder, or several
_LONGEST = 300           # characters of a client's words
_FULL = (errno.ENOSPC, errno.EDQUOT)


def home() -> Path | None:
    """The user's home; None where there is none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def named(text: str | Path) -> Path:
    """A path that somebody named, "~" for a home. Raises InputError where there is no such home."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise InputError(f"{text}: no home folder is known for it: name the whole path") from error


def cache_folder() -> Path:
    """Where virtual environments and data are kept between sessions. Raises InputError."""
    cache = os.environ.get("XDG_CACHE_HOME") or ((own := home()) and own / ".cache")
    if not cache:
        raise InputError(f"no home folder: HOME is not set, and user {os.getuid()} has no name here: set "
                         "XDG_CACHE_HOME to a folder for what is kept between sessions")
    return Path(cache, "evenbench").absolute()           # workers start elsewhere


def usable(folder: Path) -> Path:
    """The folder, made where it is not there; a file can be written into it. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:             # which names the file that was to be tried
        raise OSError(error.errno, error.strerror, str(folder)) from error


def digest(path: Path, kind: str = "sha256") -> str:
    """A file's digest in hexadecimal digits. Raises OSError."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, kind).hexdigest()


def not_through_links(path: str, flags: int) -> int:
    """An opener for files of ours that may lie where others write: raises OSError, ELOOP, for a link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def let_all_read(folder: Path) -> None:
    """Let every user read a folder of ours and what lies in it, as a container's must, whatever the umask was."""
    for path in (folder, *folder.rglob("*")):
        mode = path.lstat().st_mode
        wanted = mode | (0o555 if stat.S_ISDIR(mode) else 0o444)
        if wanted != mode and not stat.S_ISLNK(mode):
            with suppress(PermissionError):          # another user's
                path.chmod(stat.S_IMODE(wanted))


def free_bytes(folder: Path) -> int:
    """Free space of the disk that a folder (there or not) is on."""
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free


def text_of(content: bytes, file: str | Path) -> str:
    """What a user's file says in UTF-8, a byte order mark or none before it. Raises InputError."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{file}: found UTF-16, expected UTF-8: save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[:error.start].count(b"\n") + 1
        raise InputError(f"{file}:{line}: found bytes that are no UTF-8: save it as UTF-8") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Let an error of writing under this path name it, as one of opening does. Raises OSError."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or errno.ENOSPC           # numpy says of a full disk alone how much it wrote
        raise OSError(number, os.strerror(number), str(path)) from error


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all, by renaming a temporary one. Raises OSError."""
    unfinished = path.with_name(f".{path.name}")
    try:
        with writing(path):
            unfinished.unlink(missing_ok=True)
            with unfinished.open("x", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def unusable(error: OSError) -> InputError | None:
    """The line for a file or folder of the user's that cannot be used, or an engine that went away; None else."""
    asking = sys.modules.get("requests")           # to import it would take longer than most commands
    if asking and isinstance(error, asking.RequestException):
        return InputError(f"the Docker engine does not answer as it did ({' '.join(str(error).split())[:_LONGEST]}): "
                          "look at `docker info`, then give the same command again")
    if error.filename is None:
        if str(error.strerror).startswith("No usable temporary directory"):          # of the module tempfile
            return InputError(f"{error.strerror}: set TMPDIR to a folder that this user can write")
        full = f"what is printed cannot be written: {error.strerror}"
        return InputError(full) if error.errno in _FULL else None
    if not isinstance(error.filename, str | bytes | os.PathLike):
        return None
    path = Path(os.fsdecode(error.filename))
    if {ROOT / "runner", ROOT / "workloads"}.intersection(path.parents):
        return None
    is_full = error.errno in _FULL
    places = (("XDG_CACHE_HOME", cache_folder), ("TMPDIR", lambda: Path(tempfile.gettempdir())))
    variable = next((name for name, folder in places if _lies_in(path, folder)), "")
    remedy = (f"set {variable} to a folder {'on another disk' if is_full else 'that this user can write'}" if variable
              else f"name another place{'' if is_full else ', or give this user the right to it'}")
    return InputError(f"{path}: {error.strerror}; {'make room there, or ' if is_full else ''}{remedy}")


def _lies_in(path: Path, folder: Callable[[], Path]) -> bool:
    """Whether it is in the folder, or one that the folder would be made in."""
    try:
        return path.absolute().is_relative_to(folder()) or folder().is_relative_to(path.absolute())
    except (InputError, OSError):
        return False


class Places(NamedTuple):
    """Folders of studies and of stacks: evenbench's, then the user's own."""

    studies: tuple[Path, ...] = (STUDIES,)
    stacks: tuple[Path, ...] = (STACKS,)

    def with_own(self, studies: Sequence[Path], stacks: Sequence[Path]) -> "Places":
        """The same and these folders, as --studies and --stacks name them. Raises InputError."""
        return Places((*self.studies, *_own(OWN_STUDIES, studies)), (*self.stacks, *_own(OWN_STACKS, stacks)))


def _own(variable: str, folders: Sequence[Path]) -> tuple[Path, ...]:
    found = tuple(named(folder).absolute() for folder in folders)
    for each in found:
        if not each.is_dir():
            option = variable.rpartition("_")[2].lower()
            raise InputError(f"--{option} or {variable}: found {each}, expected a folder")
    return found


def several(folders: Shelf) -> tuple[Path, ...]:
    """The folders, of which one may come alone."""
    return (folders,) if isinstance(folders, Path) else tuple(folders)
