"""What the study's machine had, or each node of its cluster, in words such as "4 CPUs, 16 GB". Pure."""

import re
from typing import NamedTuple

from runner import strict_toml
from runner.strict_toml import Position, Table

FORM = r"^[1-9]\d{0,3} CPUs?, [1-9]\d{0,4} GB$"
_GB = 10**9


class Node(NamedTuple):
    """CPUs and memory that cells ask for; a machine that has less gives what it has."""

    cpus: int
    memory_bytes: int

    def at_most(self, cpus: int, memory_bytes: int) -> "Node":
        """What a node gets that may use so much."""
        return Node(min(self.cpus, cpus), min(self.memory_bytes, memory_bytes))


def node(experiment: Table, position: Position) -> Node | None:
    """The node that an experiment asks for, None where it takes all that there is. Raises InputError."""
    if "node" not in experiment:
        return None
    text = strict_toml.string(experiment, "node", position)
    if not re.fullmatch(FORM.strip("^$"), text):
        raise position.wrong(f'key "node": found {text!r}, expected CPUs and memory such as "4 CPUs, 16 GB"')
    cpus, _, memory, _ = text.split()
    return Node(int(cpus), int(memory) * _GB)
