"""Which CPUs a run gets on machines with several sockets and threads a core, by trees of the kernel's files."""

from pathlib import Path

from runner.machine.cpu_sets import shared
from runner.machine.topology import Spot, observe
from workloads.spec.cell import Cell


def machine(root: Path, sockets: int, cores: int, threads: int) -> Path:
    """Made files of the kernel: a NUMA node a socket; CPUs numbered as Linux does, a core's second thread behind all
    first ones."""
    count = sockets * cores
    for cpu in range(count * threads):
        socket, core = divmod(cpu % count, cores)
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(f"{socket}\n")
        (folder / "core_id").write_text(f"{core}\n")
    for socket in range(sockets):
        folder = root / f"sys/devices/system/node/node{socket}"
        folder.mkdir(parents=True)
        lists = [f"{thread * count + socket * cores}-{thread * count + (socket + 1) * cores - 1}"
                 for thread in range(threads)]
        (folder / "cpulist").write_text(",".join(lists) + "\n")
    return root


def cell(cpus: int, nodes: int = 1) -> Cell:
    return Cell(stack="s", task="lenet5", measure="train", nodes=nodes, cpus=cpus)


def test_the_place_of_each_cpu_is_read(tmp_path: Path) -> None:
    found = observe(machine(tmp_path, sockets=2, cores=2, threads=2))

    assert {0: Spot(0, 0, 0), 1: Spot(0, 0, 1), 2: Spot(1, 1, 0), 3: Spot(1, 1, 1),
            4: Spot(0, 0, 0), 5: Spot(0, 0, 1), 6: Spot(1, 1, 0), 7: Spot(1, 1, 1)} == found


def test_a_machine_that_does_not_tell_has_no_topology(tmp_path: Path) -> None:
    (machine(tmp_path, 1, 2, 1) / "sys/devices/system/cpu/cpu1/topology/core_id").unlink()

    assert {} == observe(tmp_path)


def test_cpus_are_cores_of_one_node_a_thread_each_where_there_are_enough(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=2, cores=4, threads=2))
    found = shared(cell(4), range(16), known)

    assert [0, 1, 2, 3] == found.cpus(0)
    assert {"numa_nodes": 1, "cores": 4, "threads": 4, "cores_are_own": True} == found.placement


def test_a_node_that_is_partly_taken_from_us_is_left_for_one_with_enough_cores(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=2, cores=4, threads=1))

    assert [4, 5, 6, 7] == shared(cell(4), [2, 3, 4, 5, 6, 7], known).cpus(0)


def test_whole_cores_of_one_node_come_before_cores_of_two(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=2, cores=4, threads=2))
    found = shared(cell(6), range(16), known)

    assert [0, 1, 2, 8, 9, 10] == found.cpus(0)
    assert {"numa_nodes": 1, "cores": 3, "threads": 6, "cores_are_own": True} == found.placement


def test_more_cpus_than_a_node_has_are_of_two(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=2, cores=4, threads=1))

    assert 2 == shared(cell(6), range(8), known).placement["numa_nodes"]


def test_the_places_of_a_run_share_no_core(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=1, cores=4, threads=2))
    found = shared(cell(2, nodes=2), range(8), known)

    assert ([0, 1], [2, 3]) == (found.cpus(0), found.cpus(1))
    assert found.placement["cores_are_own"]


def test_places_of_a_run_lie_on_a_node_each_where_one_has_no_room_for_both(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=2, cores=4, threads=1))
    found = shared(cell(3, nodes=2), range(8), known)

    assert ([0, 1, 2], [4, 5, 6]) == (found.cpus(0), found.cpus(1))


def cores_of_places(root: Path, sockets: int, cores: int, places: int, cpus: int) -> list[int]:
    """How many cores each place of a run gets on a machine of two threads a core."""
    known = observe(machine(root, sockets, cores, threads=2))
    own = shared(cell(cpus, nodes=places), range(sockets * cores * 2), known)
    return [len({known[cpu] for cpu in own.cpus(rank)}) for rank in range(places)]


def test_a_place_takes_free_cores_of_another_node_before_second_threads(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=2, cores=6, threads=2))
    found = shared(cell(4, nodes=2), range(24), known)

    assert ([0, 1, 2, 3], [6, 7, 8, 9]) == (found.cpus(0), found.cpus(1))
    assert {"numa_nodes": 1, "cores": 4, "threads": 4, "cores_are_own": True} == found.placement


def test_where_one_place_of_a_run_must_take_second_threads_all_do(tmp_path: Path) -> None:
    assert [2, 2] == cores_of_places(tmp_path / "one", sockets=1, cores=6, places=2, cpus=4)
    assert [2, 2, 2] == cores_of_places(tmp_path / "two", sockets=2, cores=6, places=3, cpus=4)


def test_places_have_their_own_cores_where_only_all_threads_leave_enough(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=1, cores=4, threads=2))
    found = shared(cell(3, nodes=2), range(8), known)

    assert ([0, 1, 4], [2, 3, 6]) == (found.cpus(0), found.cpus(1))
    assert {"numa_nodes": 1, "cores": 2, "threads": 3, "cores_are_own": True} == found.placement


def test_places_that_must_share_cores_say_so(tmp_path: Path) -> None:
    known = observe(machine(tmp_path, sockets=1, cores=2, threads=2))
    found = shared(cell(1, nodes=4), range(4), known)

    assert [[0], [1], [2], [3]] == [found.cpus(rank) for rank in range(4)]
    assert not found.placement["cores_are_own"]


def test_without_a_topology_cpus_are_in_the_order_of_their_numbers() -> None:
    found = shared(cell(2), [5, 4, 3], {})

    assert ([3, 4], {}) == (found.cpus(0), found.placement)
