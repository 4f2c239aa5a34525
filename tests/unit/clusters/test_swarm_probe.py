"""The probe of a Swarm's nodes: clocks, reach and data, and what is judged of them."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clusters.swarm import examination
from clusters.swarm import probe as swarm_probe
from clusters.swarm.delivery import deliver
from clusters.swarm.manager import Options
from runner.errors import BenchError, BuildFailed, InputError
from runner.launchers.protocol import Exit
from runner.stacks import images
from tests.clock import FakeClock
from tests.fake_swarm import NODES
from tests.fakes import FakeRunning
from workloads.places import swarm_probe as probe

HERE = {"cpu": "a CPU", "kernel": "6.1", "mtu": 1450, "swap_bytes": 0, "free_bytes": 8 * 2**30, "data": "d",
        "no_new_privileges": True}
BUILT = images.Image(id="sha256:1", tag="evenbench:torch-x", base="b", base_is_default=True, fingerprint="f")


@pytest.fixture
def server() -> Iterator[int]:
    listening = probe.listening(("127.0.0.1", 0))
    threading.Thread(target=probe.serve, args=(listening,), daemon=True).start()
    yield listening.getsockname()[1]
    listening.shutdown(2)
    listening.close()


def answer(ahead: float) -> dict[str, float]:
    return {"ahead_seconds": ahead, "uncertainty_seconds": 0.001}


def said(**changed: Any) -> dict[str, dict[str, Any]]:
    """Two nodes that reach each other, the second's clock 0.25 s ahead."""
    return {"node0": {**HERE, "reached": {"node1": answer(0.25)}},
            "node1": {**HERE, "reached": {"node0": answer(-0.25)}, **changed}}


def reports(**changed: Any) -> dict[str, swarm_probe.NodeReport]:
    return swarm_probe.reports(said(**changed), {"node0": "host1", "node1": "host2"})


def test_a_clock_is_as_far_ahead_as_it_was_over_the_middle_of_the_exchange() -> None:
    assert (4.0, 0.5) == probe.offset(10.0, 14.5, 11.0)


@pytest.mark.parametrize("behind", [0.0, 3600.0])
def test_a_clock_that_is_behind_sees_the_other_ahead_by_so_much(server: int, behind: float) -> None:
    answer = probe.reached("127.0.0.1", time.monotonic() + 5, server, clock=lambda: time.time() - behind)

    assert abs(answer["ahead_seconds"] - behind) <= answer["uncertainty_seconds"] + 1e-3
    assert answer["uncertainty_seconds"] < 1.0


def test_a_peer_that_does_not_answer_is_told_with_the_reason() -> None:
    closed = probe.listening(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    assert "refused" in probe.reached("127.0.0.1", 0.0, port)["error"]


def test_data_is_told_apart_by_names_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"12")
    before = probe.listing(str(tmp_path))
    assert before == probe.listing(str(tmp_path))
    (tmp_path / "a.bin").write_bytes(b"123")
    assert before != probe.listing(str(tmp_path))


def test_a_node_s_clock_is_compared_with_the_first_node_s() -> None:
    by_node = reports()
    assert (None, 0.25) == (by_node["host1"].clock_ahead_seconds, by_node["host2"].clock_ahead_seconds)
    assert 0.001 == by_node["host2"].record()["clock_uncertainty_seconds"]


def test_only_nodes_that_reach_each_other_and_have_equal_data_can_measure() -> None:
    swarm_probe.check(reports(), ["host1", "host2"], "/d")
    with pytest.raises(BenchError, match=r"host2 does not reach host1 .*\(timed out\).*UDP 4789"):
        swarm_probe.check(reports(reached={"node0": {"error": "timed out"}}), ["host1", "host2"], "/d")
    with pytest.raises(BenchError, match="/d: host2 has other files there than host1"):
        swarm_probe.check(reports(data="e"), ["host1", "host2"], "/d")


@pytest.mark.parametrize(("lines", "exit", "said"), [
    ([None], Exit(None), "the probe of node0 said nothing in 60 s"),
    ([], Exit(1, last_words="no module"), "the probe of node0 ended: no module")])
def test_a_probe_that_is_silent_or_dies_ends_in_time_and_is_named(lines: list[Any], exit: Exit, said: str) -> None:
    clock = FakeClock()
    with pytest.raises(BenchError, match=said):
        swarm_probe.lines(FakeRunning(lines, exit, clock), clock)


@pytest.mark.parametrize(("changed", "what", "grade"), [
    ({}, "host2 reach", "good"), ({"reached": {"node0": {"error": "timed out"}}}, "host2 reach", "fails"),
    ({"free_bytes": 2**30}, "host2 memory", "note"), ({"swap_bytes": 2**30}, "host2 swap", "note"),
    ({"mtu": 1280}, "host2 mtu", "note"), ({"mtu": 1450}, "host2 mtu", "good"),
    ({}, "host2 clock", "note"), ({}, "host1 clock", "good"),
    ({"no_new_privileges": False}, "host2 privileges", "fails")])
def test_the_doctor_grades_every_node(changed: dict[str, Any], what: str, grade: str) -> None:
    findings = {finding.what: finding for finding in examination.of_nodes(reports(**changed))}
    assert grade == findings[what].grade, findings[what]


def test_a_near_clock_is_good() -> None:
    near = {**said(), "node0": {**HERE, "reached": {"node1": answer(0.0015)}}}
    findings = examination.of_nodes(swarm_probe.reports(near, {"node0": "host1", "node1": "host2"}))
    [clock] = [finding for finding in findings if finding.what == "host2 clock"]
    assert ("good", "+1.500 ms ± 1.000 ms against host1") == (clock.grade, clock.found)


class Registry:
    """An engine that pushes, as far as deliver uses one."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self.tagged: list[tuple[str, str]] = []
        self.images = SimpleNamespace(get=lambda tag: self, push=lambda name, **how: answers)

    def tag(self, name: str, tag: str) -> None:
        self.tagged.append((name, tag))


def test_an_image_that_a_registry_took_is_had_by_its_digest_and_one_that_refuses_is_quoted() -> None:
    client = Registry([{"status": "Pushed"}, {"aux": {"Tag": "torch-x", "Digest": "sha256:9"}}])
    image = deliver(client, BUILT, Options(registry="r:5000/e"), NODES, lambda text: None)
    assert ("r:5000/e@sha256:9", [("r:5000/e", "torch-x")]) == (image.reference, client.tagged)
    with pytest.raises(BuildFailed, match="the registry r:5000/e did not take the image: denied: no"):
        deliver(Registry([{"error": "denied: no"}]), BUILT, Options(registry="r:5000/e"), NODES, lambda text: None)


def test_without_a_way_an_image_is_taken_to_be_on_the_nodes_by_its_id() -> None:
    assert "sha256:1" == deliver(None, BUILT, Options(), NODES, lambda text: None).reference


def test_an_engine_of_no_known_node_is_refused() -> None:
    with pytest.raises(InputError, match="engine:other: no such node is ready; known: host1, host2, host3"):
        deliver(None, BUILT, Options(engines={"other": "unix:///x"}), NODES, lambda text: None)
