"""How places share CPUs."""

from collections.abc import Iterable

import pytest

from runner.machine.cpu_sets import shared
from workloads.spec.cell import Cell


def cell(nodes: int, cpus: int) -> Cell:
    return Cell(stack="s", task="lenet5", measure="train", nodes=nodes, cpus=cpus)


@pytest.mark.parametrize(("nodes", "cpus", "usable", "expected", "quota"), [
    (3, 2, [7, 6, 5, 4, 3, 2, 1], [[1, 2], [3, 4], [5, 6]], None), (3, 1, range(3), [[0], [1], [2], [0]], None),
    (3, 1, [0, 1], [[0, 1]] * 3, 0.67), (1, 1, [5, 4], [[4]], None), (1, 8, [5, 4], [[4, 5]], None)])
def test_nodes_have_cpus_of_their_own_where_there_are_enough_and_else_equal_parts_of_all(
        nodes: int, cpus: int, usable: Iterable[int], expected: list[list[int]], quota: float | None) -> None:
    """A place after the nodes has those of the first."""
    share = shared(cell(nodes, cpus), usable)
    assert (expected, quota) == ([share.cpus(rank) for rank in range(len(expected))], share.quota)
