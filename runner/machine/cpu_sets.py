"""How the places of a run share this machine's CPUs, whatever launches them. Pure.

A place gets whole cores, on one NUMA node where a node has enough: one thread a core where there are enough cores, so
that no two threads of the run share one, else all threads of each; all places of a run alike. The kernel puts memory on
the node whose CPU first touches it; no set of memory nodes is forced, since one node's memory would end runs that have
room elsewhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

from runner.grouping import grouped
from runner.machine.topology import Topology
from workloads.spec.cell import Cell

_MOST_NODES = 8        # whose combinations are looked at; beyond, all of them at once


class Share(NamedTuple):
    """The CPUs of each node, in order of rank."""

    sets: tuple[tuple[int, ...], ...]     # all the same where the nodes cannot have their own
    quota: float | None                   # CPUs that each place may use, where its set is not its own
    placement: Mapping[str, Any] = MappingProxyType({})      # cores and NUMA nodes for the record; {}: not known

    def cpus(self, rank: int) -> list[int]:
        """The CPUs of a place. A place after the nodes, such as a coordinator, has those of node 0."""
        return list(self.sets[rank if rank < len(self.sets) else 0])


def shared(cell: Cell, cpus: Iterable[int], topology: Topology | None = None) -> Share:
    """CPU sets that do not overlap where there are enough CPUs; else all CPUs for all, each with an equal quota."""
    every = tuple(sorted(cpus))
    known = topology if topology and all(cpu in topology for cpu in every) else {}
    if cell.nodes * cell.cpus <= len(every):
        sets = _sets(cell, every, known)
        return Share(sets, None, _placement(sets, known))
    quota = min(float(cell.cpus), round(len(every) / cell.nodes, 2)) if cell.nodes > 1 else None
    return Share((every,) * cell.nodes, quota, _placement((every,), known))


def _sets(cell: Cell, every: tuple[int, ...], known: Topology) -> tuple[tuple[int, ...], ...]:
    """A set a node of the cell: of whole cores where all of them can have such, else in the order of the numbers.

    Where the nodes would get unequal numbers of cores, each takes all threads of its cores: all wait for the slowest.
    """
    ways = [_of_whole_cores(cell, every, known, is_full) for is_full in (False, True)] if known else []
    whole = [sets for sets in ways if sets]
    alike = [sets for sets in whole if len({len({known[cpu] for cpu in each}) for each in sets}) == 1]
    in_order = tuple(every[node * cell.cpus:(node + 1) * cell.cpus] for node in range(cell.nodes))
    return (*alike, *whole, in_order)[0]


def _of_whole_cores(cell: Cell, every: tuple[int, ...], known: Topology, is_full: bool) -> tuple[tuple[int, ...], ...]:
    """A set a node of the cell, no core in two of them; () where too few cores are left. is_full: as _of_cores."""
    left, sets = set(every), []
    for _ in range(cell.nodes):
        own = _of_cores(cell.cpus, left, known, is_full)
        if own is None:
            return ()
        sets.append(own)
        cores = {known[cpu] for cpu in own}
        left -= {cpu for cpu in left if known[cpu] in cores}     # a core's other threads would disturb it
    return tuple(sets)


def _of_cores(count: int, left: set[int], known: Topology, is_full: bool) -> tuple[int, ...] | None:
    """That many CPUs of whole cores, on as few NUMA nodes as there can be; None where too few cores are left.

    is_full: all threads of each core, also where there are enough cores for one of each.
    """
    nodes = sorted({known[cpu].node for cpu in left})
    # each node by itself, then any two, and so on
    for size in range(1, len(nodes) + 1) if len(nodes) <= _MOST_NODES else (1, len(nodes)):
        cores = [list(grouped((cpu for cpu in sorted(left) if known[cpu].node in chosen), known.__getitem__).values())
                 for chosen in combinations(nodes, size)]
        firsts = [] if is_full else [[threads[0] for threads in each] for each in cores]
        for cpus in (*firsts, *([cpu for threads in each for cpu in threads] for each in cores)):
            if count <= len(cpus):
                return tuple(sorted(cpus[:count]))
    return None


def _placement(sets: Sequence[tuple[int, ...]], known: Topology) -> Mapping[str, Any]:
    """What the record says: cores and NUMA nodes of a place, and whether its cores are its own."""
    if not known:
        return {}
    cores = [{known[cpu] for cpu in each} for each in sets]
    whole = len(set().union(*cores)) == sum(map(len, cores))
    return {"numa_nodes": max(len({spot.node for spot in each}) for each in cores),
            "cores": min(map(len, cores)), "threads": len(sets[0]), "cores_are_own": whole}
