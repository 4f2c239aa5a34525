"""Places and roles of the modes, and what each framework finds in its environment."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from workloads import cluster
from workloads.spec.cell import Cell, CellError
from workloads.spec.cluster import MODES, impossible, kind, own_mode, places

NODES = "node0,node1,node2"
LOCAL = "127.0.0.1:23000,127.0.0.1:23010,127.0.0.1:23020"


def joined(framework: str, parallel: str, rank: int, nodes: str = NODES) -> cluster.Cluster:
    cell = Cell(stack="s", task="lenet5", measure="train", nodes=3, parallel=parallel)
    return cluster.read(cell, framework, {"EVENBENCH_NODES": nodes, "EVENBENCH_RANK": str(rank)})


def test_all_reduce_has_a_worker_a_node() -> None:
    found = places("pytorch", "allreduce", 3)
    assert [("node0", "worker", (), True), ("node1", "worker", (), True), ("node2", "worker", (), True)] == list(found)


def test_mxnet_has_a_server_beside_each_worker_and_one_scheduler() -> None:
    assert [("scheduler", "server"), ("server",)] == [place.helpers for place in places("mxnet", "ps-sync", 2)]


def test_tensorflow_s_coordinator_has_a_place_of_its_own_and_reports_alone() -> None:
    found = places("tensorflow", "ps-async", 2)
    assert ["node0", "node1", "coordinator"] == [place.name for place in found]
    assert [False, False, True] == [place.reports for place in found]


@pytest.mark.parametrize(("framework", "asked", "found"), [
    ("pytorch", "sync", "allreduce"), ("mxnet", "sync", "ps-sync"), ("tensorflow", "async", "ps-async"),
    ("mxnet", "allreduce", "allreduce")])
def test_sync_and_async_become_the_framework_s_own_mode(framework: str, asked: str, found: str) -> None:
    assert found == own_mode(framework, asked)


def test_what_a_framework_cannot_do_is_said() -> None:
    assert "pytorch has no parallel async: it has allreduce" == impossible("pytorch", "async", 3)
    assert impossible("mxnet", "allreduce", 3) and impossible("pytorch", "none", 3)
    assert impossible("pytorch", "none", 1) is None and all(impossible(*mode, 3) is None for mode in MODES)


def test_modes_are_compared_by_whether_they_are_synchronous() -> None:
    assert ["none", "sync", "sync", "async", "sync"] == [kind(name) for name in
                                                        ("none", "allreduce", "ps-sync", "ps-async", "sync")]


def test_pytorch_finds_its_master_and_rank() -> None:
    found = cluster.variables(joined("pytorch", "allreduce", 2, LOCAL), "worker")
    assert {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "23001", "RANK": "2", "WORLD_SIZE": "3"} == found


@pytest.mark.parametrize(("parallel", "rank", "role", "expected"), [
    ("allreduce", 1, "worker", {"cluster": {"worker": ["node0:22221", "node1:22221", "node2:22221"]},
                                "task": {"type": "worker", "index": 1}}),
    ("ps-async", 2, "server", {"type": "ps", "index": 2}),
    ("ps-async", 3, "coordinator", {"type": "chief", "index": 0}),
])
def test_tensorflow_finds_the_cluster_and_its_task(parallel: str, rank: int, role: str, expected: Any) -> None:
    nodes = NODES if parallel == "allreduce" else NODES + ",coordinator"
    found = json.loads(cluster.variables(joined("tensorflow", parallel, rank, nodes), role)["TF_CONFIG"])
    assert expected in (found, found["task"])
    assert parallel == "allreduce" or {"ps", "worker", "chief"} == set(found["cluster"])


def test_mxnet_finds_the_scheduler_s_address() -> None:
    found = cluster.variables(joined("mxnet", "ps-async", 1, LOCAL), "server")
    assert ("127.0.0.1", "23002", "server") == (found["DMLC_PS_ROOT_URI"], found["DMLC_PS_ROOT_PORT"],
                                                found["DMLC_ROLE"])
    assert ("3", "3", "127.0.0.1") == (found["DMLC_NUM_WORKER"], found["DMLC_NUM_SERVER"], found["DMLC_NODE_HOST"])


@pytest.mark.parametrize(("nodes", "rank"), [("node0,node1", "0"), ("", "0"), (NODES, "3"), (NODES, "x"), (NODES, "")])
def test_an_environment_that_does_not_fit_is_refused(nodes: str, rank: str) -> None:
    cell = Cell(stack="s", task="lenet5", measure="train", nodes=3, parallel="allreduce")
    with pytest.raises(CellError, match="EVENBENCH_NODES"):
        cluster.read(cell, "pytorch", {"EVENBENCH_NODES": nodes, "EVENBENCH_RANK": rank})


def test_a_host_that_never_comes_up_is_given_up() -> None:
    times = iter(range(0, 1000, 10))
    with pytest.raises(OSError):
        cluster.resolved("no-such-host.invalid", clock=lambda: next(times), wait=lambda seconds: None)


def test_a_helper_ends_with_the_process_that_started_it() -> None:
    program = ("import os, subprocess; from workloads.cluster import end_with_parent as end; "
               "print(subprocess.Popen(['sleep', '60'], preexec_fn=end).pid, flush=True); os.kill(os.getpid(), 9)")
    found = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=False)
    assert -9 == found.returncode
    assert has_ended(int(found.stdout))


def has_ended(pid: int) -> bool:
    for _ in range(100):
        try:
            if ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True                      # nobody has asked how it went
        except OSError:
            return True
        time.sleep(0.02)
    return False
