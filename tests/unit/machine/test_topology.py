"""Which CPUs a run gets on machines with several sockets and threads a core, by trees of the kernel's files."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from runner.machine.cpu_sets import shared
from runner.machine.topology import Spot, observe
from tests.made_files import files
from workloads.spec.cell import Cell


def machine(root: Path, sockets: int, cores: int, threads: int) -> Path:
    """Made files of the kernel: a NUMA node a socket; CPUs numbered as Linux does, a core's second thread behind all
    first ones."""
    count = sockets * cores
    texts = {}
    for cpu in range(count * threads):
        socket, core = divmod(cpu % count, cores)
        texts[f"cpu/cpu{cpu}/topology/physical_package_id"] = f"{socket}\n"
        texts[f"cpu/cpu{cpu}/topology/core_id"] = f"{core}\n"
    for first in range(0, count, cores):
        lists = [f"{cpu}-{cpu + cores - 1}" for cpu in range(first, count * threads, count)]
        texts[f"node/node{first // cores}/cpulist"] = ",".join(lists) + "\n"
    files(root / "sys/devices/system", texts)
    return root


def cell(cpus: int, nodes: int = 1) -> Cell:
    return Cell(stack="s", task="lenet5", measure="train", nodes=nodes, cpus=cpus)


def test_the_place_of_each_cpu_is_read_and_a_machine_that_does_not_tell_all_has_no_topology(tmp_path: Path) -> None:
    found = observe(machine(tmp_path, sockets=2, cores=2, threads=2))

    assert {0: Spot(0, 0, 0), 1: Spot(0, 0, 1), 2: Spot(1, 1, 0), 3: Spot(1, 1, 1),
            4: Spot(0, 0, 0), 5: Spot(0, 0, 1), 6: Spot(1, 1, 0), 7: Spot(1, 1, 1)} == found
    (tmp_path / "sys/devices/system/cpu/cpu1/topology/core_id").unlink()
    assert {} == observe(tmp_path)


# (sockets, cores, threads) of a machine; what a cell asks for; the CPUs of each place; what is told of the first
@pytest.mark.parametrize(("sizes", "cpus", "nodes", "usable", "expected", "told"), [
    ((2, 4, 2), 4, 1, range(16), [[0, 1, 2, 3]], (1, 4, 4, True)),          # a thread each where there are enough
    ((2, 4, 1), 4, 1, range(2, 8), [[4, 5, 6, 7]], (1, 4, 4, True)),        # not of a node that is partly taken from us
    ((2, 4, 2), 6, 1, range(16), [[0, 1, 2, 8, 9, 10]], (1, 3, 6, True)),   # whole cores of one before cores of two
    ((2, 4, 1), 6, 1, range(8), [[0, 1, 2, 3, 4, 5]], (2, 6, 6, True)),
    ((1, 4, 2), 2, 2, range(8), [[0, 1], [2, 3]], (1, 2, 2, True)),
    ((2, 4, 1), 3, 2, range(8), [[0, 1, 2], [4, 5, 6]], (1, 3, 3, True)),   # a node each where one has no room for both
    # free cores of another node before second threads
    ((2, 6, 2), 4, 2, range(24), [[0, 1, 2, 3], [6, 7, 8, 9]], (1, 4, 4, True)),
    ((1, 4, 2), 3, 2, range(8), [[0, 1, 4], [2, 3, 6]], (1, 2, 3, True)),
    # where one place of a run must take second threads all do
    ((1, 6, 2), 4, 2, range(12), [[0, 1, 6, 7], [2, 3, 8, 9]], (1, 2, 4, True)),
    ((2, 6, 2), 4, 3, range(24), [[0, 1, 12, 13], [2, 3, 14, 15], [4, 5, 16, 17]], (1, 2, 4, True)),
    ((1, 2, 2), 1, 4, range(4), [[0], [1], [2], [3]], (1, 1, 1, False))])
def test_places_get_cores_of_their_own_of_one_node_where_there_are_enough(
        tmp_path: Path, sizes: tuple[int, int, int], cpus: int, nodes: int, usable: range, expected: list[list[int]],
        told: tuple[int, int, int, bool]) -> None:
    found = shared(cell(cpus, nodes), usable, observe(machine(tmp_path, *sizes)))

    assert expected == [found.cpus(rank) for rank in range(nodes)]
    assert dict(zip(("numa_nodes", "cores", "threads", "cores_are_own"), told, strict=True)) == found.placement


# without a topology
@pytest.mark.parametrize(("nodes", "cpus", "usable", "expected", "quota"), [
    (3, 2, [7, 6, 5, 4, 3, 2, 1], [[1, 2], [3, 4], [5, 6]], None), (3, 1, range(3), [[0], [1], [2], [0]], None),
    (3, 1, [0, 1], [[0, 1]] * 3, 0.67), (1, 1, [5, 4], [[4]], None), (1, 8, [5, 4], [[4, 5]], None)])
def test_nodes_have_cpus_of_their_own_where_there_are_enough_and_else_equal_parts_of_all(
        nodes: int, cpus: int, usable: Iterable[int], expected: list[list[int]], quota: float | None) -> None:
    """A place after the nodes has those of the first."""
    share = shared(cell(cpus, nodes), usable)
    assert (expected, quota, {}) == ([share.cpus(rank) for rank in range(len(expected))], share.quota, share.placement)
