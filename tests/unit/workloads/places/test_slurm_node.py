"""A node's part of a Slurm job: which places are its own, what it writes, when it gives up."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.clock import FakeClock
from workloads.places import slurm_node

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(("node", "ranks"), [(0, [0, 3]), (1, [1]), (2, [2])])
def test_a_node_has_its_own_place_and_the_first_those_after_the_nodes(node: int, ranks: list[int]) -> None:
    assert ranks == slurm_node.own_places(4, 3, node)


def test_places_are_known_by_their_hosts_and_one_port() -> None:
    assert "a:23010,b:23010,a:23010" == slurm_node.addresses(3, 2, ["a", "b"], 23010)


def ran(folder: Path, module: str, **values: Any) -> dict[str, Any]:
    """What the place's worker left, once its node has run it."""
    order = {"module": module, "cell": {"device": "cpu"}, "data": "/nowhere", "nodes": 1, "places": ["node0"],
             "reporters": ["node0"], "cpus": 1, "memory_bytes": 2**40, "port": 23000, "variables": {}, **values}
    (folder / "order.json").write_text(json.dumps(order))
    subprocess.run([sys.executable, "-m", "workloads.places.slurm_node", str(folder / "order.json"), "host,"], cwd=ROOT,
                   check=False, timeout=60)
    return dict(json.loads((folder / "node0.exit").read_text()))


def test_a_worker_s_lines_and_its_exit_come_to_the_run_s_folder(tmp_path: Path) -> None:
    assert {"code": 0, "last_words": "", "limit_bytes": 2**40, "is_out_of_memory": False} == ran(tmp_path, "this")
    assert b"The Zen of Python" in (tmp_path / "node0.lines").read_bytes()
    told = json.loads((tmp_path / "node0.node").read_text())
    assert (1, "process") == (told["cpus"], told["memory_limited_by"])        # where no group limits memory


def test_a_worker_that_fails_leaves_its_last_words(tmp_path: Path) -> None:
    exit = ran(tmp_path, "no_such_module")
    assert 1 == exit["code"] and "No module named no_such_module" in exit["last_words"]


def test_a_coordinator_s_exit_is_told_while_a_server_on_its_node_still_serves(tmp_path: Path) -> None:
    (tmp_path / "role.py").write_text("import os, signal\n"
                                      "if os.environ['EVENBENCH_RANK'] == '0':\n    signal.pause()\n"
                                      "raise SystemExit(3)\n")
    server = ran(tmp_path, "role", places=["node0", "coordinator"], reporters=["coordinator"],
                 variables={"PYTHONPATH": str(tmp_path)})
    assert 3 == json.loads((tmp_path / "coordinator.exit").read_text())["code"]
    assert (-9, False) == (server["code"], server["is_out_of_memory"])       # ended once nobody needed it


def test_wrong_words_are_told_with_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == slurm_node.main([])
    assert "usage: python -m workloads.places.slurm_node ORDER HOST,HOST..." in capsys.readouterr().err


def place(name: str = "node0", silent: bool = False) -> Any:
    return SimpleNamespace(name=name, is_running=lambda: True, is_silent=lambda now: silent, beat=lambda now: None)


def watched(folder: Path, places: list[Any], reporters: list[str]) -> float:
    """How long a node waits for places that never end by themselves."""
    clock = FakeClock(step=0.0)
    slurm_node.watch(places, reporters, str(folder), clock, clock.advance)
    return clock.now


@pytest.mark.parametrize(("name", "code", "reporters", "least", "most"), [
    ("coordinator", 0, ["coordinator"], 0.5, 0.5),          # a server is ended once all who report have gone
    ("node1", 1, ["node0", "node1"], 90, 92)])              # the time that a runner needs to look
def test_places_outlive_one_that_failed_and_end_where_nobody_reports(
        tmp_path: Path, name: str, code: int, reporters: list[str], least: float, most: float) -> None:
    (tmp_path / f"{name}.exit").write_text(json.dumps({"code": code}))
    assert least <= watched(tmp_path, [place()], reporters) <= most
    assert 0.5 == watched(tmp_path / "gone", [place()], ["node0"])


def test_a_worker_that_says_nothing_for_very_long_is_given_up_where_nobody_follows(tmp_path: Path) -> None:
    (tmp_path / "followed").write_text("7.5")
    assert 1800 < watched(tmp_path, [place(silent=True)], ["node0"]) < 1802


def test_a_silent_worker_is_left_to_the_runner_that_follows(tmp_path: Path) -> None:
    clock = FakeClock(step=0.0)

    def wait(seconds: float) -> None:
        clock.advance(seconds)
        if clock.now < 2700 and clock.now % 30 == 0:
            (tmp_path / "followed").write_text(repr(clock.now))

    slurm_node.watch([place(silent=True)], ["node0"], str(tmp_path), clock, wait)
    assert 2700 + 1800 - 31 < clock.now < 2700 + 1802
