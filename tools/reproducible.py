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


class Difference(NamedTuple):
    """A path that two images do not have alike."""

    path: str
    what: str                    # "content", "mode, owner", "only in the first" ...


class Verdict(NamedTuple):
    """What two builds of one stack's image showed."""

    stack: str
    paths: int
    differences: tuple[Difference, ...]


def run(client: DockerClient, stack: PinnedStack, say: Say) -> Verdict:
    """Build the stack's image twice under names of its own, compare, and remove both. Raises BuildFailed, DiskFull."""
    tags = [f"{images.tag(stack)}-{number}" for number in ("once", "twice")]
    try:
        first, second = [_built(client, stack, tag, say) for tag in tags]
    finally:
        for tag in tags:
            remove_image(client, tag)
    return Verdict(stack.name, len(first), tuple(differences(first, second)))


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


def differences(first: Mapping[str, Entry], second: Mapping[str, Entry]) -> list[Difference]:
    """What differs between two images, by path."""
    every = (Difference(path, _difference(first.get(path), second.get(path))) for path in sorted({*first, *second}))
    return [each for each in every if each.what]


def _difference(first: Entry | None, second: Entry | None) -> str:
    """What differs of a path, "" where nothing does."""
    if first is None or second is None:
        return "only in the second" if first is None else "only in the first"
    return ", ".join(name for name in Entry._fields if getattr(first, name) != getattr(second, name))
