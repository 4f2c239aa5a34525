"""Workers in real containers: what they may do, how they end, and what a killed runner leaves."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docker.models.containers import Container

from runner import leftovers, paths
from runner.launchers.docker import OWNER, DockerLauncher, sweep
from runner.launchers.watchdog import Limits
from runner.machine import host as machine
from runner.results import store
from runner.stacks import images
from runner.stacks.containers import own_stack
from runner.stacks.own import Asked
from tests import freezer
from tests.engine import runs
from tests.engine.runs import SMALL, STACKS, cell, ours, started
from tests.fakes import quiet
from tests.faults.outcome import finished
from tests.lifetimes import eventually

pytestmark = pytest.mark.engine
THIRDS = {"torch-1.7": 0, "tf-2.21": 0, "tf-2.5": 1, "torch-2.13-cpu": 1, "mxnet-1.7": 2, "jax-0.10-cpu": 2}
IMAGES = ("mxnet-1.9", *(pytest.param(name, marks=pytest.mark.slow(third)) for name, third in THIRDS.items()))


def heard(running: Any) -> list[Any]:
    events, ending, _ = runs.followed(running, Limits())
    return [*events, ending]


@pytest.mark.parametrize("name", IMAGES)
def test_every_image_prints_json_lines_and_nothing_else(client: Any, name: str) -> None:
    image = images.build(client, STACKS[name], quiet)
    text = json.dumps(cell(stack=name, input="synthetic")._asdict())
    command = ["docker", "run", "--rm", "--network", "none", image.id, text]
    found = subprocess.run(command, capture_output=True, check=True)
    events = [json.loads(line) for line in found.stdout.splitlines()]
    assert ["start", "warm", "steps", "end"] == [event["event"] for event in events if event["event"] != "compiled"]
    assert "ok" == events[-1]["status"] and 62_006 == events[0]["parameters"]
    assert events[0]["facts"]["version"].startswith(STACKS[name].version.removesuffix("+cpu"))


def test_a_worker_has_the_cpus_the_memory_and_the_data_of_its_cell(client: Any, launcher: DockerLauncher, data: Path
                                                                   ) -> None:
    running = started(launcher, cell(), data, "limits.0.1")
    (container,) = ours(client)
    start, *_, ending = heard(running)
    host, facts = container.attrs["HostConfig"], start["facts"]
    assert 2 * machine.GIB == host["Memory"] == host["MemorySwap"]
    assert str(sorted(os.sched_getaffinity(0))[0]) == host["CpusetCpus"]
    assert ["/tmp"] == list(host["Tmpfs"]) and [f"{data}:/data:ro"] == host["Binds"]
    assert running.place["image"] == container.attrs["Image"]
    assert (1, "digits32", True) == (len(facts["affinity"]), facts["data"]["name"], facts["data"]["stand_in"])
    assert "ok" == ending.word and not ours(client)


def test_a_worker_over_its_memory_limit_ends_as_out_of_memory(launcher: DockerLauncher, data: Path) -> None:
    big = cell(task="vgg16", image=224, classes=1000, batch=64, input="synthetic", memory_bytes=machine.GIB)
    assert "oom" == heard(started(launcher, big, data, "memory.0.1"))[-1].word


@pytest.mark.parametrize(("take", "limits", "word"), [
    (Container.kill, Limits(), "killed"), (freezer.pause, Limits(start=60, stall=3), "timeout")])
def test_a_worker_that_is_taken_away_ends_its_run_with_a_word(
        client: Any, launcher: DockerLauncher, data: Path, take: Any, limits: Limits, word: str) -> None:
    running = started(launcher, cell(steps=100_000), data, "taken.0.1")
    went = runs.followed(running, limits, lambda: take(ours(client)[0]), ("warm",))
    assert word == went.ending.word and not ours(client)


def test_an_image_of_a_user_s_runs_the_mounted_workloads(client: Any, launcher: DockerLauncher, tmp_path: Path) -> None:
    """One of ours stands for it, as if nobody had pinned it."""
    launcher.prepare([STACKS[SMALL]], quiet)
    mine = own_stack(client, Asked("mine", "", images.tag(STACKS[SMALL])), paths.ROOT, ())
    launcher.prepare([mine], quiet)
    running = launcher.start(cell(stack="mine", input="synthetic"), mine, tmp_path, "own.0.1")
    start, *_, ending = heard(running)
    assert ("ok", "", "mxnet", False) == (ending.word, ending.message, mine.framework, running.place["pinned"])
    assert start["facts"]["packages"]["mxnet"].startswith("1.9.1")


def evenbench(*words: str, results: Path) -> list[str]:
    return [sys.executable, "-m", "runner", "run", "quick/train,train-gpt2", "--stack", SMALL, "--rounds", "3", "--set",
            "steps=60", "--results", str(results), *words]


def test_a_killed_runner_s_session_resumes_and_nothing_is_left(client: Any, tmp_path: Path) -> None:
    first = subprocess.Popen(evenbench(results=tmp_path), cwd=paths.ROOT, stderr=subprocess.DEVNULL)
    events = _after_runs(tmp_path, 2)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = finished(store.read(events.parent))
    assert len(before) >= 2
    done = subprocess.run(evenbench(results=tmp_path), cwd=paths.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 4), done.stderr            # 4: other programs kept rounds from counting
    assert "resuming" in done.stderr and [events.parent] == [path.parent for path in tmp_path.glob("*/events.jsonl")]
    again = finished(store.read(events.parent))
    assert 6 <= len(again) == len(set(again)) and before == again[: len(before)]
    assert not ours(client, first.pid)


def test_sigterm_leaves_a_summary_of_what_there_is(client: Any, tmp_path: Path) -> None:
    first = subprocess.Popen(evenbench(results=tmp_path), cwd=paths.ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    events = _after_runs(tmp_path, 1)
    first.send_signal(signal.SIGTERM)
    assert b"LeNet-5" in first.communicate()[0]
    assert 130 == first.returncode
    assert not json.loads((events.parent / "summary.json").read_text())["is_complete"]
    assert not ours(client, first.pid)


def test_what_a_dead_runner_left_is_swept_and_what_a_living_one_has_is_not(client: Any, launcher: DockerLauncher,
                                                                         data: Path) -> None:
    running = started(launcher, cell(steps=100_000), data, "living.0.1")
    image = running.place["image"]
    owner = f"999999999-1-{leftovers.mine().split('-')[2]}"
    dead = client.containers.create(image, labels={OWNER: owner})
    try:
        sweep(client, quiet)
        assert 1 == len(ours(client)) and not client.containers.list(all=True, filters={"id": dead.id})
    finally:
        running.stop()


def _after_runs(results: Path, count: int) -> Path:
    """The events file once so many runs have ended."""
    found = eventually(lambda: [path for path in results.glob("*/events.jsonl")
                                if path.read_bytes().count(b'"event": "ending"') >= count], 300.0)
    assert found, "no run ended in 300 s"
    return found[0]
