"""Where compiled GPU kernels are kept from run to run: a folder of each stack in the cache, written to by its workers.

On the nodes of a Swarm, which share no cache, it is a volume of each node.

A container's home is gone with it, so without this the driver would compile a stack's intermediate code anew in every
run: many minutes. The worker says in its record whether the folder was empty.
"""

from pathlib import Path

from runner.stacks.definition import Stack

VARIABLE = "EVENBENCH_KERNELS"      # as workloads/process/caches.py reads it
INSIDE = "/kernels"                 # where a container has it
VOLUME_INSIDE = "/var/tmp"          # where it has a volume: a new one takes over who may write there, everybody
_EVERYBODY = 0o1777                 # a container's user is another than the host's


def volume(stack: str) -> str:
    """The name of a stack's volume, which an engine makes where it has none."""
    return f"evenbench-kernels-{stack}"


def folder(stack: Stack, cache: Path) -> Path:
    """The folder, which is there and can be written to by any user."""
    kept = cache / "kernels" / stack.name
    kept.mkdir(parents=True, exist_ok=True)
    if kept.stat().st_mode & 0o7777 != _EVERYBODY:
        kept.chmod(_EVERYBODY)
    return kept
