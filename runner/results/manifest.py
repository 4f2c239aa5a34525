"""SHA256SUMS beside a result's files: whether they are still what the session and its reports wrote.

The format is coreutils': `sha256sum -c SHA256SUMS` in the folder needs no evenbench. An open session has no manifest:
it is taken away when events are to be appended, and written when the session ends. A file that is made anew from the
events later (a report) gets a new line of its own, the other lines stay. It is no signature: who can write the folder
can write it too, and only a copy kept elsewhere tells of that.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from runner.errors import InputError
from runner.paths import digest

NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\0\n\\]+)")
_MOST_BYTES = 2**20              # of a manifest: ten thousand files


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that lies in a folder now, by name."""
    return {path.name: digest(path) for path in folder.iterdir() if _is_plain(path) and path.name != NAME}


def read(folder: Path) -> dict[str, str]:
    """The same as the manifest says. Raises InputError without a readable one."""
    path = folder / NAME
    if not _is_plain(path):
        raise InputError(f"{path}: no manifest: the session has not ended, or an older evenbench wrote it; the command "
                         "that measured goes on with an open session")
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path}: found more than {_MOST_BYTES} bytes, expected a manifest")
    said = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), 1):
        match = _LINE.fullmatch(line)
        if not match or match[2] in (".", "..", NAME):
            raise InputError(f"{path}: line {number}: expected a SHA-256, two spaces and the name of a file beside it")
        said[match[2]] = match[1]
    return said


def differing(folder: Path) -> list[str]:
    """The names of the files that are gone or not as the manifest says. Raises InputError without one."""
    return sorted(name for name, sum in read(folder).items()
                  if not (_is_plain(folder / name) and digest(folder / name) == sum))


def _is_plain(path: Path) -> bool:
    """Whether it is a file, and not a link or a device that only reads like one."""
    return path.is_file() and not path.is_symlink()


def text(sums: Mapping[str, str]) -> str:
    """The manifest of these SHA-256 by name."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))

