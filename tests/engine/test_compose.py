"""compose.yaml as its users run it: `docker compose up` with few steps, under a project's name of our own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from docker.models.containers import Container

from runner.paths import ROOT, STACKS
from runner.results import store
from runner.stacks import definition, engine, images
from tests import freezer
from tests.fakes import quiet
from tests.lifetimes import eventually

pytestmark = [pytest.mark.engine, pytest.mark.slow(0)]
PROJECT = "evenbench-test"
NODES = {"node0", "node1", "node2"}
VARIABLES = ("STACK", "PARALLEL", "TASK", "BATCH", "STEPS", "ROUNDS", "NODE_CPUS", "NODE_CPU_QUOTA", "NODE_MEMORY",
             "STALL", "DATA", "DATA_FOLDER", "RESULTS")
SYSTEMS = ("tf-2.5", "torch-1.7", "mxnet-1.7")
Compose = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    client = engine.connect()
    for name in (*SYSTEMS, definition.RUNNER):
        known = definition.read_runner(STACKS) if name == definition.RUNNER else definition.read(STACKS / name)
        images.build(client, known, quiet)
    client.close()


def opened(results: Path, *words: str, **values: Any) -> "subprocess.Popen[str]":
    """`docker compose WORDS` with these variables, and without what a shell may have set for compose."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    asked = {"RESULTS": results, "STACK": "torch-1.7", "STEPS": 20, "ROUNDS": 1, **values}
    return subprocess.Popen(["docker", "compose", "-p", PROJECT, *words], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env={**kept, **{name: str(asked[name]) for name in asked}})


@pytest.fixture
def compose(tmp_path: Path) -> Iterator[Compose]:
    """(exit code, output) of `docker compose WORDS`; results are in tmp_path, and nothing is left."""
    def run(*words: str, **values: Any) -> tuple[int, str]:
        with opened(tmp_path, *words, **values) as process:
            output = process.communicate()[0]
        return process.returncode, output

    yield run
    assert 0 == run("down", "--volumes")[0]


def of(kind: str, results: Path) -> list[dict[str, Any]]:
    [events] = results.glob("*/events.jsonl")
    return [record for record in store.read(events.parent) if record["event"] == kind]


def test_up_trains_on_three_nodes_keeps_the_results_and_ends_with_0(compose: Compose, tmp_path: Path) -> None:
    code, output = compose("up")
    assert 0 == code, output
    assert "LeNet-5 (tanh, 62 k parameters), training" in output and "results: results/" in output
    assert "node0-1  |" not in output
    [begun], [ended] = of("begin", tmp_path), of("ending", tmp_path)
    assert ("container", NODES) == (begun["place"]["isolation"], set(begun["place"]["nodes"]))
    assert ("ok", NODES) == (ended["ending"], set(ended["places"]))
    assert list(tmp_path.glob("*/summary.json"))


def test_up_without_a_stack_compares_the_three_systems_on_their_own_nodes(compose: Compose, tmp_path: Path) -> None:
    code, output = compose("up", STACK="")
    assert 0 == code, output
    assert set(SYSTEMS) == {each["place"]["image"].partition(":")[2] for each in of("begin", tmp_path)}
    assert [("ok", NODES)] * 3 == [(each["ending"], set(each["places"])) for each in of("ending", tmp_path)]
    assert all(f"  {name}" in output for name in SYSTEMS)


def test_results_belong_to_whom_their_folder_belongs_to(compose: Compose, tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    code, output = compose("up")
    assert 0 == code, output
    assert {12345} == {path.stat().st_uid for path in tmp_path.rglob("*")}


def test_ctrl_c_ends_a_session_whose_results_are_another_user_s_and_keeps_it(tmp_path: Path, compose: Compose) -> None:
    os.chown(tmp_path, 12345, 12345)
    with training(tmp_path) as process:
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=120)[0]
    assert ["interrupted"] == [each["reason"] for each in of("closed", tmp_path)], output
    assert ["killed"] == [each["ending"] for each in of("ending", tmp_path)]


@pytest.mark.parametrize(("values", "said"), [
    ({"PARALLEL": "sideways"}, 'found "sideways", expected one of'),
    ({"TASK": "vgg16", "NODE_MEMORY": "300m"}, "oom"),
])
def test_up_ends_with_failure_where_a_run_did(compose: Compose, values: dict[str, str], said: str) -> None:
    code, output = compose("up", **values)
    assert 0 != code and said in output


@pytest.mark.parametrize(("take", "ending", "said"), [
    (Container.kill, "killed", "node1: "),
    (freezer.pause, "timeout", "node1 does not answer"),
])
def test_a_node_that_is_taken_away_ends_the_run_and_is_named(
        compose: Compose, client: Any, tmp_path: Path, take: Callable[[Container], None], ending: str,
        said: str) -> None:
    with training(tmp_path, STALL=8) as process:
        began = time.monotonic()
        take(client.containers.get(f"{PROJECT}-node1-1"))
        output = process.communicate(timeout=120)[0]
    assert 0 != process.returncode and time.monotonic() - began < 23       # STALL, then the engine's part
    [ended] = of("ending", tmp_path)
    assert ending == ended["ending"] and said in ended["message"], output
    compose("unpause", "node1")


@contextmanager
def training(results: Path, **values: Any) -> Iterator["subprocess.Popen[str]"]:
    """`docker compose up`, which trains and goes on until something is done to it."""
    with opened(results, "up", STEPS=1_000_000, **values) as process:
        try:
            assert eventually(lambda: has_steps(results), 120.0), "no steps within 120 s"
            yield process
        finally:
            process.kill()


def has_steps(results: Path) -> bool:
    lines = of("line", results) if list(results.glob("*/events.jsonl")) else []
    return any("steps" == each["line"]["event"] for each in lines)
