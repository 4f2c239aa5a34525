"""Places and roles of the modes, and what each framework finds in its environment."""

import json
from typing import Any

import pytest

from tests.clock import FakeClock
from workloads.measuring import measures
from workloads.places import addresses, cluster
from workloads.spec.cell import Cell, CellError
from workloads.spec.cluster import MODES, impossible, kind, own_mode, places

NODES = "node0,node1,node2"
LOCAL = "127.0.0.1:23000,127.0.0.1:23010,127.0.0.1:23020"


def joined(framework: str, parallel: str, rank: int | str, names: str = NODES, process: int = 0,
           **cell: int) -> cluster.Cluster:
    asked = Cell(**{"stack": "s", "task": "lenet5", "measure": "train", "nodes": 3, "parallel": parallel, **cell})
    environment = {"EVENBENCH_NODES": names, "EVENBENCH_RANK": str(rank)}
    if process:                              # else nothing is said, as where a place has one
        environment["EVENBENCH_PROCESS"] = str(process)
    return cluster.read(asked, framework, environment)


def alone(framework: str, gpus: int) -> cluster.Cluster:
    """The cluster of a cell on one node, whose launcher tells of no others."""
    cell = Cell(stack="s", task="lenet5", measure="train", parallel="sync", gpus=gpus)
    return cluster.read(cell, framework, {})


@pytest.mark.parametrize(("framework", "parallel", "expected"), [
    ("pytorch", "allreduce", [("node0", "worker", (), True), ("node1", "worker", (), True)]),
    ("mxnet", "ps-sync", [("node0", "worker", ("scheduler", "server"), True), ("node1", "worker", ("server",), True)]),
    ("tensorflow", "horovod", [("node0", "worker", ("rendezvous",), True), ("node1", "worker", (), True)])])
def test_each_node_has_a_worker_with_what_serves_it(framework: str, parallel: str, expected: list[Any]) -> None:
    assert expected == list(places(framework, parallel, 2))


def test_tensorflow_s_coordinator_has_a_place_of_its_own_and_reports_alone() -> None:
    found = [(place.name, place.reports) for place in places("tensorflow", "ps-async", 2)]
    assert [("node0", False), ("node1", False), ("coordinator", True)] == found


@pytest.mark.parametrize(("framework", "asked", "own"), [
    ("pytorch", "sync", "allreduce"), ("mxnet", "sync", "ps-sync"), ("tensorflow", "async", "ps-async"),
    ("jax", "sync", "allreduce"), ("mxnet", "allreduce", "allreduce")])
def test_sync_and_async_become_the_framework_s_own_mode(framework: str, asked: str, own: str) -> None:
    assert own == own_mode(framework, asked)


def test_what_a_framework_cannot_do_is_said() -> None:
    assert "pytorch has no parallel async: it has allreduce" == impossible("pytorch", "async", 3)
    assert impossible("mxnet", "allreduce", 3) and impossible("pytorch", "none", 3)
    assert impossible("pytorch", "none", 1) is None and all(impossible(*mode, 1) is None for mode in MODES)
    assert [("tensorflow", "central")] == [mode for mode in MODES if impossible(*mode, 3)]
    assert "parallel central of tensorflow is of one node" == impossible("tensorflow", "central", 3)


def test_modes_are_compared_by_whether_they_are_synchronous() -> None:
    assert ["none", "sync", "sync", "async", "sync", "central"] == [
        kind(name) for name in ("none", "allreduce", "ps-sync", "ps-async", "sync", "central")]


HERE = {"RANK": "2", "SIZE": "3", "LOCAL_RANK": "0", "LOCAL_SIZE": "1", "CROSS_RANK": "2", "CROSS_SIZE": "3",
        "GLOO_RENDEZVOUS_ADDR": "127.0.0.1", "GLOO_RENDEZVOUS_PORT": "23004", "CONTROLLER": "gloo", "HOSTNAME": "node2",
        "GLOO_IFACE": "lo"}


@pytest.mark.parametrize(("framework", "parallel", "rank", "role", "expected"), [
    ("pytorch", "allreduce", 2, "worker", {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "23001", "RANK": "2",
                                           "WORLD_SIZE": "3"}),
    ("jax", "allreduce", 2, "worker", {"JAX_COORDINATOR_ADDRESS": "127.0.0.1:23001"}),
    ("tensorflow", "horovod", 2, "worker", {f"HOROVOD_{name}": value for name, value in HERE.items()}),
    ("mxnet", "ps-async", 1, "server", {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "23002",
                                        "DMLC_ROLE": "server", "DMLC_NUM_WORKER": "3", "DMLC_NUM_SERVER": "3",
                                        "DMLC_NODE_HOST": "127.0.0.1"})])
def test_a_framework_finds_where_the_first_node_serves_and_its_own_rank(
        framework: str, parallel: str, rank: int, role: str, expected: dict[str, str]) -> None:
    found = cluster.variables(joined(framework, parallel, rank, LOCAL), role)
    assert expected == {name: found.get(name) for name in expected}
    assert {} == cluster.variables(alone("jax", 2), "worker")


@pytest.mark.parametrize(("parallel", "rank", "role", "expected"), [
    ("allreduce", 1, "worker", {"cluster": {"worker": ["node0:22221", "node1:22221", "node2:22221"]},
                                "task": {"type": "worker", "index": 1}}),
    ("ps-async", 2, "server", {"type": "ps", "index": 2}),
    ("ps-async", 3, "coordinator", {"type": "chief", "index": 0}),
])
def test_tensorflow_finds_the_cluster_and_its_task(parallel: str, rank: int, role: str, expected: Any) -> None:
    nodes = NODES if parallel == "allreduce" else NODES + ",coordinator"
    variables = json.loads(cluster.variables(joined("tensorflow", parallel, rank, nodes), role)["TF_CONFIG"])
    assert expected in (variables, variables["task"])
    assert parallel == "allreduce" or {"ps", "worker", "chief"} == set(variables["cluster"])


@pytest.mark.parametrize(("nodes", "rank"), [("node0,node1", "0"), ("", "0"), (NODES, "3"), (NODES, "x"), (NODES, "")])
def test_an_environment_that_does_not_fit_is_refused(nodes: str, rank: str) -> None:
    with pytest.raises(CellError, match="EVENBENCH_NODES"):
        joined("pytorch", "allreduce", rank, nodes)


def test_a_host_that_never_comes_up_is_given_up() -> None:
    with pytest.raises(OSError):
        addresses.resolved("no-such-host.invalid", clock=FakeClock(10.0), wait=lambda seconds: None)


def test_pytorch_has_a_process_a_gpu_and_each_a_rank_of_its_own() -> None:
    first = alone("pytorch", 4)
    assert (4, 0, "127.0.0.1") == (first.workers, first.worker, first.addresses[0][0])
    name = ":".join(map(str, first.addresses[0]))
    variables = cluster.variables(joined("pytorch", "sync", 0, name, 2, nodes=1, gpus=4), "worker")
    assert ("2", "4", "lo") == (variables["RANK"], variables["WORLD_SIZE"], variables["NCCL_SOCKET_IFNAME"])
    assert cluster.variables(first, "worker")["MASTER_PORT"] == variables["MASTER_PORT"]


def test_on_many_nodes_ranks_go_on_from_node_to_node() -> None:
    here = joined("pytorch", "sync", 1, LOCAL, 1, gpus=2)
    assert (6, 3) == (here.workers, here.worker)
    assert "lo" == cluster.variables(here, "worker")["GLOO_SOCKET_IFNAME"]       # that has the address
    horovod = cluster.variables(joined("tensorflow", "horovod", 1, LOCAL, 1, gpus=2), "worker")
    assert ["3", "6", "1", "2", "1", "3"] == [horovod[f"HOROVOD_{name}"] for name in (
        "RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")]
    for framework in ("tensorflow", "jax"):                   # one process drives all GPUs of its node
        assert (1, 0) == (alone(framework, 4).workers, alone(framework, 4).worker)


def test_a_process_s_batch_is_that_of_each_gpu_that_it_drives() -> None:
    cell = Cell(stack="s", task="lenet5", measure="train", batch=8, gpus=4)
    assert 32 == measures.of_process(cell, None).batch
    assert 32 == measures.of_process(cell, alone("tensorflow", 4)).batch
    assert 8 == measures.of_process(cell, alone("pytorch", 4)).batch


def test_further_workers_and_helpers_are_started_beside_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(cluster.subprocess, "Popen", lambda command, env, **rest: started.append(
        (command[2:4], command[-1], env["EVENBENCH_PROCESS"], env["EVENBENCH_NODES"])))
    cluster_alone = alone("pytorch", 3)
    cluster.start_helpers(cluster_alone, "{}", "/data")
    name = ":".join(map(str, cluster_alone.addresses[0]))
    assert [(["workloads.places.role", "worker"], "/data", process, name) for process in "12"] == started
