"""Where a run's arrays lie: drawn anew for every run, by every launcher."""

from pathlib import Path
from typing import Any

from runner.launchers import docker
from runner.launchers.protocol import Order
from runner.machine.cpu_sets import shared
from tests.fakes import stack
from workloads.spec import placement, turns
from workloads.spec.cell import Cell

CELL = Cell(stack="torch", task="lenet5", measure="train", cpus=1)
PADDED = {placement.VARIABLE: "xxx"}


def sizes(environment: dict[str, str], seed: int) -> list[int]:
    return list(map(len, placement.blocks_of(environment, seed)))


def test_blocks_follow_from_the_padding_and_the_seed_alone() -> None:
    assert sizes(PADDED, 1) == sizes({**PADDED, "HOME": "/"}, 1)
    assert 3 == len({tuple(drawn) for drawn in (sizes(PADDED, 1), sizes(PADDED, 2), sizes({}, 1))})
    assert 20 == len(sizes({}, 1)) and max(sizes({}, 1)) < placement.MOST


def settings(nodes: int, padding: int, passed: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    cell = CELL._replace(nodes=nodes, parallel="none" if nodes == 1 else "allreduce")
    order = Order(cell, stack(env=passed), Path("/d"), "r.0.1", padding=padding, listens=True)
    environment = docker.settings(order, 0, shared(cell, {0, 1}))["environment"]
    assert "1" == environment.pop(turns.VARIABLE)
    return dict(environment)


def test_a_container_has_the_padding_beside_what_it_is_told_of_others() -> None:
    assert PADDED == settings(1, 3)
    assert {} == settings(1, 0)
    assert {"EVENBENCH_NODES", "EVENBENCH_RANK", placement.VARIABLE} == settings(2, 3).keys()


def test_what_the_user_passes_on_comes_with_its_names() -> None:
    passed = (("LD_PRELOAD", "/x.so"), ("OMP_WAIT_POLICY", "PASSIVE"))
    expected = {"LD_PRELOAD": "/x.so", "OMP_WAIT_POLICY": "PASSIVE", "EVENBENCH_ENV": "LD_PRELOAD OMP_WAIT_POLICY"}
    assert {**PADDED, **expected} == settings(1, 3, passed)
    assert expected == placement.variables(0, passed)
