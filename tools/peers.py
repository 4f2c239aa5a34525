"""Libraries of models to compare ours with that are no part of a stack: torchvision, transformers."""

import shutil
import sys
from pathlib import Path

from runner.errors import BuildFailed
from runner.processes import Say, fresh_log, locked, run
from runner.stacks import package_sources
from runner.stacks.definition import PinnedStack

_INSTALL = ("install", "--require-hashes", "--no-deps", "--no-compile", "--no-input", "--progress-bar=off")


def lock(stack: PinnedStack) -> Path:
    """What is installed, with version and hashes. Not every stack has it; no fingerprint of a stack holds it."""
    return stack.folder / "peers.txt"


def names(stack: PinnedStack) -> set[str]:
    """The packages of its lock; none where it has none."""
    if not lock(stack).exists():
        return set()
    lines = lock(stack).read_text().splitlines()
    return {line.partition("==")[0] for line in lines if "==" in line and not line.startswith("#")}


def ready(stack: PinnedStack, cache: Path, say: Say) -> Path | None:
    """The folder of the stack's libraries, made anew where the lock is another one; None for a stack without a lock.

    Its name is known to workers, which do not know the lock. Safe to call from many processes at once: one makes it,
    the others wait. Raises BuildFailed.
    """
    if not lock(stack).exists():
        return None
    home = cache / "peers" / stack.name
    kept = home / "peers.txt"                # a copy of the lock that the folder was made from
    with locked(home.with_name(home.name + ".lock")):
        if not kept.exists() or kept.read_bytes() != lock(stack).read_bytes():
            _make(stack, home, say)
    return home


def _make(stack: PinnedStack, home: Path, say: Say) -> None:
    """Build beside it and rename, so that a killed install leaves nothing that looks whole.

    By our own pip, which takes the wheels of another Python too: where an engine runs the stacks, there need be no
    interpreter of theirs here.
    """
    unfinished = home.with_name(home.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    log = fresh_log(home.with_name(home.name + ".log"))
    say(f"{stack.name}: installing what its models are compared with (log: {log})")
    try:
        run([sys.executable, "-m", "pip", *_INSTALL, *package_sources.of_python(stack.python),
             "--target", str(unfinished), "-r", str(lock(stack))], log)
    except BuildFailed as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise BuildFailed(f"{stack.name}: {error}") from error
    shutil.copyfile(lock(stack), unfinished / "peers.txt")
    shutil.rmtree(home, ignore_errors=True)
    unfinished.rename(home)
