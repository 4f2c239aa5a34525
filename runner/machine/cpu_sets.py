"""How the places of a run share this machine's CPUs, whatever launches them. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workloads.spec.cell import Cell
from workloads.spec.cluster import Place


class Share(NamedTuple):
    """The CPUs of each node, in order of rank."""

    sets: tuple[tuple[int, ...], ...]     # all the same where the nodes cannot have their own
    quota: float | None                   # CPUs that each place may use, where its set is not its own

    def cpus(self, rank: int) -> list[int]:
        """The CPUs of a place. A place after the nodes, such as a coordinator, has those of node 0."""
        return list(self.sets[rank if rank < len(self.sets) else 0])


def shared(cell: Cell, cpus: Iterable[int]) -> Share:
    """CPU sets that do not overlap where there are enough CPUs; else all CPUs for all, each with an equal quota."""
    every = tuple(sorted(cpus))
    if cell.nodes * cell.cpus <= len(every):
        return Share(tuple(every[node * cell.cpus:(node + 1) * cell.cpus] for node in range(cell.nodes)), None)
    if cell.nodes == 1:
        return Share((every,), None)
    return Share((every,) * cell.nodes, min(float(cell.cpus), round(len(every) / cell.nodes, 2)))


def reporters(places: Sequence[Place]) -> tuple[str, ...]:
    """The names of the places that send events and end by themselves."""
    return tuple(place.name for place in places if place.reports)


def servers(places: Sequence[Place]) -> tuple[str, ...]:
    """The names of the places that serve until they are stopped."""
    return tuple(place.name for place in places if not place.reports)
