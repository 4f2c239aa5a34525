"""Which socket, core and NUMA node each CPU of this machine belongs to, by the kernel's files; nothing is guessed.

Linux, Documentation/admin-guide/cputopology.rst and Documentation/ABI/stable/sysfs-devices-node.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from runner.machine.kernel_files import content

_CPUS, _NODES = Path("sys/devices/system/cpu"), Path("sys/devices/system/node")


class Spot(NamedTuple):
    """Where a CPU is. CPUs of one core are the threads of that core."""

    node: int
    socket: int
    core: int


Topology = dict[int, Spot]


def observe(root: Path = Path("/")) -> Topology:
    """The place of each online CPU by its number; {} where the files do not tell every one's. root: of the files."""
    nodes = {cpu: node for node, text in _numbered(root / _NODES, "node", "cpulist")
             for first, last in re.findall(r"(\d+)(?:-(\d+))?", text)                 # of a list such as "0-3,8-11"
             for cpu in range(int(first), int(last or first) + 1)}
    spots = {}
    for cpu, socket in _numbered(root / _CPUS, "cpu", "topology/physical_package_id"):
        try:
            spots[cpu] = Spot(nodes.get(cpu, 0), int(socket), int(content(root / _CPUS / f"cpu{cpu}/topology/core_id")))
        except ValueError:
            return {}
    return spots


def _numbered(folder: Path, name: str, file: str) -> Iterator[tuple[int, str]]:
    """(number, the text of its file) of each folder of that name and a number that has the file."""
    for each in folder.glob(f"{name}*"):
        number = re.fullmatch(rf"{name}(\d+)", each.name)
        if number and (each / file).is_file():
            yield int(number[1]), content(each / file)
