"""The Swarm launcher with a scripted manager: what services are asked for, how lines and endings come back."""

import json
import queue
from pathlib import Path
from typing import Any

import pytest
import requests

from clusters.swarm import launcher as swarm_launcher
from clusters.swarm import manager
from clusters.swarm.delivery import Delivered
from clusters.swarm.launcher import SwarmLauncher, placed, services
from clusters.swarm.running import SwarmRunning
from runner import leftovers
from runner.errors import BenchError, EngineUnreachable, ImageMissing, InputError
from runner.launchers.protocol import Exit, Order
from runner.launchers.watchdog import Limits, followed, gone
from runner.planning.plan import Wishes, plan
from runner.stacks import images
from tests.clock import FakeClock
from tests.fake_swarm import (
    COMPLETE,
    GIB,
    NODES,
    RUNS,
    FakeSwarm,
    Script,
    failed,
    node_said,
    places,
    rejected,
)
from tests.fakes import MACHINE, good_lines, stack, study
from workloads.places import swarm_node
from workloads.spec import cluster
from workloads.spec.cell import Cell

IMAGE = f"sha256:{'1' * 64}"
LINES = b"".join(good_lines())
GOOD = Script(LINES, COMPLETE)


def cell(**values: Any) -> Cell:
    facts = {"task": "lenet5", "measure": "train", "nodes": 3, "cpus": 2, "memory_bytes": 4 * GIB,
             "parallel": "allreduce"}
    return Cell(stack="torch-x", **{**facts, **values})


def specs(of: Cell = cell()) -> list[manager.ServiceSpec]:     # noqa: B008 (a Cell cannot be changed)
    order = ordered(of)
    return services(order, placed(order.places, of, NODES), IMAGE)


def ordered(of: Cell) -> Order:
    return Order(of, stack(), Path("/cache/digits"), "k.0.1")


def started(*scripts: Script, is_encrypted: bool = False) -> tuple[FakeSwarm, SwarmRunning]:
    """A run of places that do these, and its manager."""
    client = FakeSwarm({f"node{rank}": script for rank, script in enumerate(scripts)})
    running = SwarmRunning(client, places(len(scripts)), {})
    running.create("k.0.1", specs()[:len(scripts)], is_encrypted)
    return client, running


def test_a_place_s_service_asks_for_what_it_needs_and_no_more() -> None:
    text = json.dumps(cell()._asdict())
    assert manager.template(specs()[1], "net", {"l": "x"}) == {
        "ContainerSpec": {
            "Image": IMAGE, "Command": ["python", "-m", "workloads.places.swarm_node"], "Args": ["workloads", text],
            "Hostname": "node1", "Labels": {"l": "x"}, "Init": True, "ReadOnly": True,
            "Env": ["EVENBENCH_NODES=node0,node1,node2", "EVENBENCH_RANK=1"],
            "CapabilityDrop": ["ALL"], "Privileges": {"NoNewPrivileges": True}, "StopGracePeriod": 0,
            "Mounts": [
                {"Type": "tmpfs", "Target": "/tmp",
                 "TmpfsOptions": {"SizeBytes": 1073741824, "Mode": 0o1777, "Options": [["exec"]]}},
                {"Type": "bind", "Source": "/cache/digits", "Target": "/data", "ReadOnly": True}]},
        "Resources": {"Limits": {"NanoCPUs": 2000000000, "MemoryBytes": 4294967296, "Pids": 4096},
                      "Reservations": {"NanoCPUs": 2000000000, "MemoryBytes": 4294967296}},
        "RestartPolicy": {"Condition": "none"},
        "Placement": {"Constraints": ["node.id==id2"]},
        "Networks": [{"Target": "net", "Aliases": ["node1"]}],
        "LogDriver": {"Name": "json-file"}}


def test_gpus_are_reserved_as_the_node_s_kind_and_several_share_memory_and_pin_as_much_as_they_want() -> None:
    node = manager.nodes([node_said(1, gpus=4)])[0]
    made = [manager.template(manager.ServiceSpec("node0", node, IMAGE, (), "", gpus=count), "net", {})
            for count in (1, 2)]
    one, two = (each["ContainerSpec"] for each in made)

    assert {"GenericResources": [{"DiscreteResourceSpec": {"Kind": "NVIDIA-GPU", "Value": 2}}]} == made[1][
        "Resources"]["Reservations"]
    assert ["/tmp"] == [mount["Target"] for mount in one["Mounts"]] and "Ulimits" not in one
    shared = two["Mounts"][-1]
    assert ("/dev/shm", 2**30) == (shared["Target"], shared["TmpfsOptions"]["SizeBytes"])
    assert [{"Name": "memlock", "Soft": -1, "Hard": -1}] == two["Ulimits"]


def test_what_a_gpu_compiled_is_kept_in_a_volume_of_its_node_that_everybody_may_write_to() -> None:
    one = cell(nodes=1, parallel="none", device="gpu", gpus=1)
    on = manager.nodes([node_said(1, gpus=1)])
    spec, = services(ordered(one), list(on), IMAGE)
    made = manager.template(spec, "net", {})["ContainerSpec"]
    assert {"Type": "volume", "Source": "evenbench-kernels-torch-x", "Target": "/var/tmp"} in made["Mounts"]
    assert ["EVENBENCH_KERNELS=/var/tmp"] == made["Env"]


@pytest.mark.parametrize(("of", "nodes", "said"), [
    (cell(nodes=1, parallel="none", device="gpu", gpus=2), manager.nodes([node_said(1, gpus=1)]),
     r"host1 offers 1 GPUs .* asks for 2"),
    (cell(), NODES[:2], "needs 3 nodes, and the Swarm has 2 ready and active"),
    (cell(cpus=8), NODES, r"host1 has 4 CPUs and 17.2 GB, and the cell asks for 8 and 4.3 GB")])
def test_nodes_that_are_too_few_or_too_small_are_named(of: Cell, nodes: Any, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        placed(places(of.nodes), of, nodes)


@pytest.mark.parametrize(("is_encrypted", "options"), [(False, None), (True, {"encrypted": "true"})])
def test_a_run_s_network_has_no_way_out_and_names_are_addresses(is_encrypted: bool, options: Any) -> None:
    client, running = started(GOOD, GOOD, GOOD, is_encrypted=is_encrypted)
    [network] = client.nets.values()
    assert ("overlay", True, True, options) == tuple(
        network["how"][key] for key in ("driver", "internal", "attachable", "options"))
    assert all({"Mode": "dnsrr"} == made["endpoint"] for made in client.made.values())
    running.stop()


def test_a_coordinator_shares_the_first_node_and_reserves_nothing() -> None:
    of = cell(parallel="ps-async")
    order = Order(of, stack(framework="tensorflow"), Path("/d"), "k.0.1")
    made = services(order, placed(order.places, of, NODES), IMAGE)
    assert [("host1", True), ("host2", True), ("host3", True), ("host1", False)] == [
        (each.node.name, each.is_reserved) for each in made]


def heard(running: SwarmRunning) -> tuple[str, list[str]]:
    """How a run ended, and the events of its first place."""
    events, ending = followed(running, Limits(), FakeClock(0.001))
    return ending.word, [event["event"] for event in events if event.get("place", "node0") == "node0"]


WELL = "ok", ["start", "warm", "steps"]


def test_all_places_train_and_nothing_is_left() -> None:
    client, running = started(GOOD, GOOD, GOOD)
    running.await_start()
    assert WELL == heard(running)
    running.stop()
    assert ({}, {}) == (client.made, client.nets)


def test_a_place_on_a_node_that_is_lost_is_in_trouble_and_stop_waits_for_other_containers_alone() -> None:
    client, running = started(*[Script(b"", RUNS)] * 3)
    client.said[1] = node_said(2, state="down")
    client.leaving = ["id1", "id3", "id1", "id2", "id2", "id2"]
    assert {"node1": "is on host2, which is cut off from the Swarm or gone"} == running.trouble()
    running.stop()
    assert ["id2", "id2"] == client.leaving[-2:] and 3 == len(client.leaving)


def test_lines_that_the_manager_had_not_passed_on_at_a_task_s_end_are_read_from_its_log() -> None:
    _, running = started(Script(LINES[:70], COMPLETE, written=LINES))
    running.await_start()
    assert WELL == heard(running)


@pytest.mark.parametrize(("status", "seconds", "word", "last_words"), [
    (failed(137), 5.0, "killed", "last words"), (failed(cluster.OUT_OF_MEMORY), 5.0, "oom", "last words"),
    (failed(3), 5.0, "died", "last words"), (RUNS, 0.0, None, "")])
def test_an_ending_comes_from_the_exit_code_of_a_task_that_is_over(status: Any, seconds: float, word: str | None,
                                                                   last_words: str) -> None:
    _, running = started(Script(b"", status, errors=b"last\nwords\n"))
    exit = running.exit("node0", seconds)
    running.stop()
    assert last_words == exit.last_words
    assert word == gone(exit).word if word else exit == Exit(None)


@pytest.mark.parametrize(("why", "error", "said"), [
    ("No such image: sha256:11", ImageMissing,
     r"host2 lacks the image sha256:11: .* swarm:engine:host2=URL.* swarm:registry="),
    ('invalid mount config for type "bind": bind source path does not exist: /cache/digits',
     BenchError, "host2 lacks the data: /cache/digits must be there"),
    ("no suitable node (insufficient resources on 3 nodes)", BenchError,
     r"host2 did not start .*insufficient resources")])
def test_a_place_that_cannot_start_says_why_and_what_mends_it(why: str, error: type[BenchError], said: str) -> None:
    client, running = started(Script(b"", RUNS), Script(b"", rejected(why)), Script(b"", RUNS))
    with pytest.raises(error, match=said):
        running.await_start()
    running.stop()
    assert ({}, {}) == (client.made, client.nets)


def test_a_manager_that_is_gone_is_told_as_an_engine_that_does_not_answer() -> None:
    client = FakeSwarm(said=[node_said(1)])

    def gone(*words: Any, **how: Any) -> None:
        raise requests.ConnectionError("Connection aborted.")

    client.networks.create = gone
    with pytest.raises(EngineUnreachable, match=r"the Swarm did not take a service: Connection aborted\."):
        SwarmLauncher(client).probed(Delivered(images.Image(IMAGE, "t", "b", True, "f"), IMAGE), None, NODES)


def test_what_a_dead_runner_of_this_host_left_is_swept_and_nothing_else() -> None:
    client, told = FakeSwarm(), []
    client.api.networks = lambda filters: list(client.nets.values())      # type: ignore[attr-defined]
    alive = leftovers.mine()
    place = alive.split("-")[2]
    for name, owner in (("dead", f"999999999-1-{place}"), ("ours", alive), ("theirs", "999999999-1-elsewhere")):
        client.made[name] = {"ID": name, "Spec": {"Name": name, "Labels": {manager.OWNER: owner}},
                             "lines": queue.Queue()}
        client.nets[name] = {"Id": name, "Labels": {manager.OWNER: owner}}
    swarm_launcher.sweep(client, told.append)
    assert ["swarm: removing dead, left by a runner that is gone"] == told
    assert {"ours", "theirs"} == set(client.made) == set(client.nets)


def test_only_nodes_that_are_ready_and_active_take_part() -> None:
    said = [node_said(1, availability="drain"), node_said(2), node_said(3, state="down")]
    assert ["host2"] == [node.name for node in SwarmLauncher(FakeSwarm(said=said)).nodes]
    with pytest.raises(EngineUnreachable, match="no node of the Swarm is ready and active"):
        SwarmLauncher(FakeSwarm(said=said[:1]))


def test_nodes_on_machines_of_their_own_get_all_of_them() -> None:
    made = study("torch-x", parallel="allreduce", nodes=3)
    shares = {}
    for hosts in (1, 2, 3):
        planned = plan(made, {"torch-x": stack()}, MACHINE._replace(cpus=6), Wishes(),
                     lambda stack: None, hosts=hosts)
        shares[hosts] = (planned.cells[0].cell.cpus, planned.cells[0].cell.memory_bytes)
    assert {1: (2, 2 * GIB), 2: (3, 3 * GIB), 3: (6, 6 * GIB)} == shares


def test_plans_are_made_for_the_smallest_node() -> None:
    said = [node_said(1), node_said(2)]
    said[1]["Description"]["Resources"] = {"NanoCPUs": 2 * 10**9, "MemoryBytes": 32 * GIB}
    launcher = SwarmLauncher(FakeSwarm(said=said))
    assert (2, 16 * GIB, 2) == (*launcher.machine(MACHINE)[1:3], launcher.hosts)


def test_the_words_of_the_option_become_options() -> None:
    options = manager.options(["encrypted", "engine:a=ssh://a", "registry=r:5000/e"])
    assert (True, "r:5000/e", {"a": "ssh://a"}) == options


@pytest.mark.parametrize("word", ["engine:=x", "engine:a", "registry=", "fast", "encrypted=no"])
def test_another_word_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="expected one of encrypted, registry=HOST/NAME, engine:NODE=URL"):
        manager.options([word])


@pytest.mark.parametrize(("code", "kills", "left"), [
    (0, 0, 0), (2, 0, 2), (-9, 0, 137), (-9, 1, cluster.OUT_OF_MEMORY), (-11, 0, 139), (1, 1, 1)])
def test_a_place_leaves_as_its_worker_did_or_says_that_memory_ran_out(code: int, kills: int, left: int) -> None:
    assert left == swarm_node.exit_code(code, kills)


def test_a_stream_that_ends_under_a_running_place_is_taken_up_where_it_ended() -> None:
    client, running = started(Script(LINES[:70], RUNS))
    [made] = client.made.values()
    made["lines"].put(None)                    # the manager ends it
    made["lines"].put(LINES)                   # and then has all from the beginning
    client.scripts["node0"] = GOOD
    made["lines"].put(None)
    assert WELL == heard(running)
