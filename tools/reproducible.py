"""Whether an image can be made again: built twice without a cache, and every file of the two compared.

A file is its kind, mode, owner, size, content and, for links, where it leads; only when it was made is not compared,
and nothing else is excepted. The engine exports an image as one tar stream, which is read once and kept nowhere.
"""

import hashlib
import subprocess
import tarfile
from collections.abc import Mapping
from typing import IO, NamedTuple

from runner.errors import BuildFailed
from runner.processes import Say
from runner.stacks import images
from runner.stacks.definition import PinnedStack
from runner.stacks.engine import DockerClient, remove_image

_KINDS = {tarfile.REGTYPE: "file", tarfile.DIRTYPE: "folder", tarfile.SYMTYPE: "link", tarfile.LNKTYPE: "hard link"}


class Entry(NamedTuple):
    """What is compared of a path in an image."""

    kind: str
    mode: int
    owner: tuple[int, int]
    size: int
    content: str                 # its SHA-256
    leads_to: str


def run(client: DockerClient, stack: PinnedStack, say: Say) -> tuple[int, dict[str, str]]:
    """(how many paths, what differs by path) of two builds of the stack's image. Raises BuildFailed, DiskFull.

    They have names of their own, and are removed.
    """
    tags = [f"{images.tag(stack)}-{number}" for number in ("once", "twice")]
    try:
        first, second = [_built(client, stack, tag, say) for tag in tags]
    finally:
        for tag in tags:
            remove_image(client, tag)
    return len(first), differences(first, second)


def _built(client: DockerClient, stack: PinnedStack, tag: str, say: Say) -> dict[str, Entry]:
    images.build_as(client, stack, tag, say, "--no-cache")
    container = client.containers.create(tag)
    try:
        with subprocess.Popen(["docker", "export", str(container.id)], stdout=subprocess.PIPE) as exporting:
            assert exporting.stdout is not None
            held = entries(exporting.stdout)
    except tarfile.TarError as error:
        raise BuildFailed(f"{tag}: `docker export` was cut short: {error}") from error
    finally:
        container.remove()
    return held


def entries(archive: IO[bytes]) -> dict[str, Entry]:
    """What an image's tar stream holds, by path."""
    with tarfile.open(fileobj=archive, mode="r|") as members:
        return {f"/{member.name.strip('/')}": _entry(member, members) for member in members}


def _entry(member: tarfile.TarInfo, archive: tarfile.TarFile) -> Entry:
    content = archive.extractfile(member) if member.isreg() else None
    digest = hashlib.file_digest(content, "sha256").hexdigest() if content else ""                # type: ignore[arg-type]
    return Entry(_KINDS.get(member.type, "device"), member.mode, (member.uid, member.gid), member.size, digest,
                 member.linkname)


def differences(first: Mapping[str, Entry], second: Mapping[str, Entry]) -> dict[str, str]:
    """Of each path that two images do not have alike: "content", "mode, owner", "only in the first" ..."""
    found = {}
    for path in sorted({*first, *second}):
        one, other = first.get(path), second.get(path)
        if one is None or other is None:
            found[path] = "only in the second" if one is None else "only in the first"
        elif one != other:
            found[path] = ", ".join(name for name in Entry._fields if getattr(one, name) != getattr(other, name))
    return found
