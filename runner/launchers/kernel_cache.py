"""Where GPU code that the driver compiled is kept from run to run: a folder of each stack in the cache.

A container's home is gone with it, so without this the driver would compile a stack's intermediate code anew in every
run: many minutes. The worker says in its record whether the folder was empty. What frameworks compile is not kept.
"""

from pathlib import Path

from runner.stacks.definition import Stack
from runner.stacks.own import OwnStack

VARIABLE = "EVENBENCH_KERNELS"      # as workloads/process/caches.py reads it
INSIDE = "/kernels"                 # where a container has it
_EVERYBODY = 0o1777                 # a container's user is another than the host's


def folder(stack: Stack, cache: Path) -> Path:
    """The folder, which is there: a container's user writes to it, and no other of this machine reaches it."""
    # a user may call two environments alike, and fill one anew
    name = f"{stack.name}-{stack.holds()[:12]}" if isinstance(stack, OwnStack) else stack.name
    kept = cache / "kernels" / name
    kept.mkdir(parents=True, exist_ok=True)
    kept.parent.chmod(0o700)             # a mounted folder is entered without its parent
    if kept.stat().st_mode & 0o7777 != _EVERYBODY:
        kept.chmod(_EVERYBODY)
    return kept
