"""What the study's machine had, or each node of its cluster, in words such as "4 CPUs, 16 GB". Pure."""

from typing import NamedTuple

_GB = 10**9


class Node(NamedTuple):
    """CPUs and memory that cells ask for; a machine that has less gives what it has."""

    cpus: int
    memory_bytes: int

    def at_most(self, cpus: int, memory_bytes: int) -> "Node":
        """What a node gets that may use so much."""
        return Node(min(self.cpus, cpus), min(self.memory_bytes, memory_bytes))


def node(text: str | None) -> Node | None:
    """The node that a study's text asks for, None where an experiment takes all that there is."""
    if text is None:
        return None
    cpus, _, memory, _ = text.split()
    return Node(int(cpus), int(memory) * _GB)
