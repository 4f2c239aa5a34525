"""How places share CPUs."""

from runner.machine.cpu_sets import reporters, servers, shared
from workloads.spec.cell import Cell
from workloads.spec.cluster import places


def cell(nodes: int, cpus: int) -> Cell:
    return Cell(stack="s", task="lenet5", measure="train", nodes=nodes, cpus=cpus)


def test_nodes_have_cpus_of_their_own_where_there_are_enough() -> None:
    share = shared(cell(3, 2), [7, 6, 5, 4, 3, 2, 1])
    assert ([1, 2], [3, 4], [5, 6], None) == (share.cpus(0), share.cpus(1), share.cpus(2), share.quota)


def test_a_place_after_the_nodes_has_those_of_the_first() -> None:
    assert [0] == shared(cell(3, 1), range(3)).cpus(3)


def test_too_few_cpus_are_for_all_in_equal_parts() -> None:
    share = shared(cell(3, 1), [0, 1])
    assert ([0, 1], 0.67) == (share.cpus(2), share.quota)


def test_one_node_has_what_the_cell_says_and_no_quota() -> None:
    assert ([4], None) == (shared(cell(1, 1), [5, 4]).cpus(0), shared(cell(1, 1), [5, 4]).quota)
    assert ([4, 5], None) == (shared(cell(1, 8), [5, 4]).cpus(0), shared(cell(1, 8), [5, 4]).quota)


def test_who_reports_and_who_serves() -> None:
    nodes = places("tensorflow", "ps-async", 2)
    assert (("coordinator",), ("node0", "node1")) == (reporters(nodes), servers(nodes))
