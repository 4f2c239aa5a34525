"""python -m runner.cli.compose: the runner's part under compose: from the variables of compose.yaml to `evenbench run`.

It starts as root with nothing but the right to become another user: the one whom the folder of results belongs to. One
that was not there is made by the engine as root's; it then goes to the user whose compose.yaml this is.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from runner import screen
from runner.datasets import choice
from runner.errors import BenchError, InputError
from runner.launchers.rank import NAME, STACKS
from runner.machine import host

NODES, COORDINATORS = 3, 1       # of compose.yaml
_RESULTS, _DATA, _FILE = Path("/results"), Path("/data"), Path("/compose.yaml")
_SETTINGS = {"PARALLEL": "parallel", "TASK": "task", "BATCH": "batch", "STEPS": "steps"}
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def main() -> None:
    """Become the owner of the results, and measure."""
    try:
        command = arguments(os.environ, host.whole(), screen.say)
        if not os.environ.get("DATA"):
            choice.digits32(_DATA.parent, screen.say)   # while the volume is ours
        become_owner(_RESULTS, _FILE)
    except BenchError as error:
        screen.say(f"evenbench: {error}")
        sys.exit(2)
    os.execv(sys.executable, [sys.executable, "-m", "runner", *command])


def arguments(said: Mapping[str, str], here: host.Machine, say: Callable[[str], None]) -> list[str]:
    """The words after `evenbench`. Raises InputError."""
    asked = asked_of_a_node(said)
    cpus, memory_bytes = node = min(asked[0], round(here.cpus / NODES, 2)), min(asked[1], here.limit_bytes // NODES)
    if node != asked:
        say(f"nodes: {_told(*asked)} asked, {_told(*node)} each: the machine has {here.cpus} CPUs and "
            f"{here.memory_bytes / 1e9:.1f} GB for {NODES} nodes")
    settings = {"cpus": str(max(1, int(cpus))), "memory_bytes": str(memory_bytes),
                **{key: said[name] for name, key in _SETTINGS.items() if said.get(name)},
                **({"seconds": "0"} if said.get("STEPS") else {})}        # the study's last as long as they must
    if said.get("RESULTS"):
        say(f"{_RESULTS.name}/ below is {said['RESULTS']}")
    return ["run", "cluster", "--yes", "--launcher", f"{NAME}:{STACKS}", "--nodes", str(NODES + COORDINATORS),
            "--stall", said["STALL"],       # --yes: nobody can be asked there
            "--results", _RESULTS.name, "--data", data(said),
            *(["--stack", said["STACK"]] if said.get("STACK") else []),
            *(["--rounds", said["ROUNDS"]] if said.get("ROUNDS") else []),
            *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]


def data(said: Mapping[str, str]) -> str:
    """NAME=FOLDER. Raises InputError where one of the two is missing."""
    if bool(said.get("DATA")) != bool(said.get("DATA_FOLDER")):
        raise InputError("DATA and DATA_FOLDER belong together: DATA=cifar10 DATA_FOLDER=/path/to/cifar-10-batches-bin")
    if said.get("DATA"):
        return f"{said['DATA']}={_DATA}"
    return f"{choice.STAND_IN}={choice.digits32_folder(_DATA.parent)}"


def asked_of_a_node(said: Mapping[str, str]) -> tuple[float, int]:
    """The CPUs and bytes of memory that the variables ask for each node. Raises InputError."""
    quota, memory = said["NODE_CPU_QUOTA"], said["NODE_MEMORY"].lower().removesuffix("b")
    number, unit = (memory[:-1], _UNITS[memory[-1]]) if memory[-1:] in _UNITS else (memory, 1)
    if not quota.isdigit() or int(quota) < 1000:
        raise InputError(f'NODE_CPUS, NODE_CPU_QUOTA: found "{quota}" microseconds in 100000, expected 1000 or more')
    if not number.isdigit() or int(number) < 1:
        raise InputError(f'NODE_MEMORY: found "{said["NODE_MEMORY"]}", expected a number with k, m or g, such as 16g')
    return int(quota) / 100_000, int(number) * unit


def _told(cpus: float, memory_bytes: int) -> str:
    return f"{cpus:g} CPUs and {memory_bytes / 1e9:.1f} GB"


def become_owner(folder: Path, file: Path) -> None:
    """Be the user who owns the folder, for good; an empty one of root's is given to the user who owns the file."""
    owner, user = folder.stat(), file.stat()
    if owner.st_uid == 0 != user.st_uid and not any(folder.iterdir()):
        os.chown(folder, user.st_uid, user.st_gid)
        owner = user
    os.setgroups([])
    os.setgid(owner.st_gid)
    os.setuid(owner.st_uid)


if __name__ == "__main__":
    main()
