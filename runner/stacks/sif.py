"""Apptainer's image files (SIF) of stacks: made of their Docker images, or pulled from a registry by digest.

A file is for the machine that it is made on, or for a cluster's nodes: they see it in the cache, on a file system that
they share. Its name changes with the stack's fingerprint. SingularityCE takes the same words, and counts as Apptainer.
"""

import functools
import json
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import paths
from runner.errors import BenchError, BuildFailed, EngineUnreachable, InputError
from runner.processes import Say, answer_of, clean_environment, fresh_log, locked, run
from runner.stacks import engine, environments, images
from runner.stacks.definition import PinnedStack

_COMMANDS = ("apptainer", "singularity")
_COMPRESSED = "-comp zstd -Xcompression-level 3"     # smaller than the default, made and read in less time
_SOURCE = re.compile(r"docker://\S+@sha256:[0-9a-f]{64}|(?:docker|oci)-archive:\S+")
_NEEDED = 3                      # of the image's size: its layers, unpacked, and the file twice at its end
_SECONDS = 60.0                  # for a question; none takes one


@dataclass(frozen=True)
class Sif:
    """A stack's image file."""

    path: Path
    id: str                      # "sha256:" of the file
    base: str
    base_is_default: bool


def command() -> str | None:
    """The program that starts containers; None where none is on PATH."""
    return next(filter(None, map(shutil.which, _COMMANDS)), None)


@functools.cache
def version(program: str) -> str:
    """What the program says of itself: "apptainer version 1.4.5"."""
    return _answer([program, "--version"]).strip()


def path(stack: PinnedStack, cache: Path) -> Path:
    """Where the stack's file lies or will lie."""
    return cache / "sif" / f"{stack.name}-{stack.made_of()[:12]}.sif"


def missing(stack: PinnedStack, cache: Path) -> str | None:
    """Why the stack's file is not to be had here, or None; builds nothing."""
    if command() is None:
        return "no apptainer or singularity on PATH: install Apptainer 1.1 or newer (docs/apptainer.md)"
    return stack.foreign or (None if path(stack, cache).exists() else stack.unbuildable)


def ready(stack: PinnedStack, cache: Path, say: Say = lambda line: None, source: str = "") -> Sif:
    """The stack's file, made first if it is not there: of the Docker engine's image, or of a source.

    source: docker://NAME@sha256:DIGEST of a registry, docker-archive:FILE or oci-archive:FILE; it must hold the stack
    as this checkout has it. One process makes the file, others wait. Raises InputError, DiskFull, BuildFailed.
    """
    file = path(stack, cache)
    if reason := missing(stack, cache):
        raise InputError(f"{stack.name}: {reason}")
    if source and not _SOURCE.fullmatch(source):
        raise InputError(f'--from: found "{source}", expected docker://NAME@sha256:DIGEST, docker-archive:FILE or '
                         "oci-archive:FILE")
    with locked(file.with_name(file.name + ".lock")):
        if not file.exists():
            _make(stack, file, source or _of_engine(stack, file, say), say)
    labels = _labels(file)
    return Sif(file, f"sha256:{paths.digest(file)}", labels.get("org.evenbench.base", "unknown"),
               labels.get("org.evenbench.base-is-default") == "true")


def prune(stacks: Iterable[PinnedStack], cache: Path, say: Say) -> None:
    """Remove the files that are of no stack as it is now."""
    for old in sorted({*(cache / "sif").glob("*.sif")} - {path(stack, cache) for stack in stacks}):
        old.unlink()
        say(f"{old.name}: removed")


def _of_engine(stack: PinnedStack, file: Path, say: Say) -> str:
    """The source that is the stack's image on this machine's engine, built first where it is missing or old."""
    try:
        client = engine.connect()
    except EngineUnreachable as error:
        raise BuildFailed(f"{stack.name}: {error}; without an engine, copy {file.name} to {file.parent} from a machine "
                          f"where `evenbench images --sif {stack.name}` made it") from error
    image = images.build(client, stack, say)
    environments.check_room(f"{stack.name}: its image file", _NEEDED * client.images.get(image.id).attrs["Size"],
                            file.parent, f"see `du -sh {shlex.quote(str(file.parent))}/*`")
    return f"docker-daemon:{images.tag(stack)}"


def _make(stack: PinnedStack, file: Path, source: str, say: Say) -> None:
    """Build beside it and rename, so that a killed build leaves nothing that looks whole."""
    program, log, began = str(command()), fresh_log(file.with_name(file.name + ".log")), time.monotonic()
    say(f"{stack.name}: making its image file of {source} (log: {log})")
    with tempfile.TemporaryDirectory(prefix=f"{stack.name}-", dir=file.parent) as folder:
        made = Path(folder, file.name)
        variables = {**clean_environment(), "APPTAINER_TMPDIR": folder, "SINGULARITY_TMPDIR": folder}
        try:
            run([program, "build", "--disable-cache", "--mksquashfs-args", _COMPRESSED, str(made), source], log,
                environment=variables)
        except BuildFailed as error:
            raise BuildFailed(f"{stack.name}: {error}") from error
        found = _labels(made).get("org.evenbench.fingerprint", "none")
        if found != stack.made_of():
            raise InputError(f"{source}: found fingerprint {found[:12]}, expected {stack.made_of()[:12]} of stack "
                             f"{stack.name} in this checkout: `evenbench images {stack.name}` builds that")
        made.rename(file)
    say(f"{stack.name}: image file ready after {time.monotonic() - began:.0f} s")


def _labels(file: Path) -> dict[str, str]:
    """Those of the Docker image, which the file keeps. Raises BenchError."""
    answer = _answer([str(command()), "inspect", "--json", "--labels", str(file)])
    try:
        return dict(json.loads(answer)["data"]["attributes"]["labels"] or {})
    except (ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{file}: {command()} inspect says nothing of its labels: remove it, and "
                         "`evenbench images --sif` makes it anew") from error


def _answer(words: Sequence[str]) -> str:
    try:
        return answer_of(words, timeout=_SECONDS).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{words[0]} does not answer: {error}") from error
