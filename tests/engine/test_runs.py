"""Workers in real containers: what they may do and how they end; tests/faults has how they and runners are killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import leftovers, paths
from runner.launchers.docker import OWNER, DockerLauncher, sweep
from runner.launchers.watchdog import Limits
from runner.machine import host as machine
from runner.stacks import images
from runner.stacks.containers import own_stack
from runner.stacks.own import Asked
from tests.engine import runs
from tests.engine.runs import SMALL, STACKS, cell, ours, started
from tests.fakes import quiet
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


def test_an_image_of_a_user_s_runs_the_mounted_workloads(client: Any, launcher: DockerLauncher, tmp_path: Path) -> None:
    """One of ours stands for it, as if nobody had pinned it."""
    launcher.prepare([STACKS[SMALL]], quiet)
    mine = own_stack(client, Asked("mine", "", images.tag(STACKS[SMALL])), paths.ROOT, ())
    launcher.prepare([mine], quiet)
    running = launcher.start(cell(stack="mine", input="synthetic"), mine, tmp_path, "own.0.1")
    start, *_, ending = heard(running)
    assert ("ok", "", "mxnet", False) == (ending.word, ending.message, mine.framework, running.place["pinned"])
    assert start["facts"]["packages"]["mxnet"].startswith("1.9.1")


def test_sigterm_leaves_a_summary_of_what_there_is(client: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "runner", "run", "quick/train,train-gpt2", "--stack", SMALL, "--rounds", "3",
               "--set", "steps=60", "--results", str(tmp_path)]
    first = subprocess.Popen(command, cwd=paths.ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert eventually(lambda: [path for path in tmp_path.glob("*/events.jsonl")
                               if b'"event": "ending"' in path.read_bytes()], 300.0), "no run ended in 300 s"
    first.send_signal(signal.SIGTERM)
    assert b"LeNet-5" in first.communicate()[0]
    assert 130 == first.returncode
    [summary] = tmp_path.glob("*/summary.json")
    assert not json.loads(summary.read_text())["is_complete"]
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
