"""Runs on a Slurm of three nodes, which the lab script beside the engine's starter makes and takes away."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clusters.slurm.launcher import SlurmLauncher
from clusters.slurm.running import SlurmRunning
from runner import paths
from runner.errors import BenchError
from runner.launchers.watchdog import Ending, follow, limits
from runner.machine import host
from runner.results import store
from runner.stacks import definition
from tests.engine import apptainer_lab, labs, runs
from tests.lifetimes import eventually
from workloads.spec.cell import Cell

pytestmark = pytest.mark.slow(1)
STACKS = definition.read_all(paths.STACKS)
TORCH = STACKS["torch-1.7"]                    # a small one, as krisilias has it
IMAGED = STACKS["mxnet-1.7"]                   # the smallest image of krisilias
LONG = {"steps": 2000}                         # it is interrupted long before
LARGE = {"nodes": 1, "parallel": "none", "task": "resnet50", "batch": 64, "image": 224, "memory_bytes": host.GIB // 2}


@pytest.fixture(scope="session", autouse=True)
def needs_an_engine() -> None:
    """No engine is needed here."""


class Lab(NamedTuple):
    """A controller and three nodes of two CPUs, with GPUs that are good for scheduling alone."""

    call: Callable[..., Any]
    cache: Path

    def jobs(self) -> str:
        """Those of anybody."""
        return subprocess.run(["squeue", "-h"], capture_output=True, text=True, check=True).stdout

    def is_clean(self) -> bool:
        """Whether no job, no run's folder and no worker is left."""
        workers = subprocess.run(["pgrep", "-f", "workloads.places.slurm_nod[e]"], capture_output=True, check=False)
        return not self.jobs() and not list((self.cache / "slurm").glob("*")) and not workers.stdout

    def is_whole(self) -> bool:
        """Whether all nodes are idle."""
        idle = subprocess.run(["sinfo", "-h", "-N", "-t", "idle"], capture_output=True, text=True, check=True).stdout
        return 3 == len(idle.splitlines())


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    call, folder = labs.script_of("slurm-lab", "slurmbr", "a Slurm of three nodes", GPUS="2")
    before = os.environ.get("SLURM_CONF")
    home = Path(tempfile.mkdtemp(prefix="evenbench-slurm-test-"))
    cache = home / "evenbench"
    cache.mkdir()
    for kept in ("venvs", "sif", "data"):
        own = paths.cache_folder() / kept
        own.mkdir(parents=True, exist_ok=True)               # a new machine has none yet
        (cache / kept).symlink_to(own)
    try:
        call("up")
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        yield Lab(call, cache)
    finally:
        call("down")
        shutil.rmtree(home)
        shutil.rmtree(folder, ignore_errors=True)
        os.environ.pop("SLURM_CONF")
        os.environ.update({"SLURM_CONF": before} if before else {})


def cell(stack: definition.PinnedStack = TORCH, **values: Any) -> Cell:
    facts = {"task": "lenet5", "measure": "train", "nodes": 3, "cpus": 1, "memory_bytes": 2 * host.GIB, "steps": 6,
             "warmup": 2, "batch": 42, "parallel": stack.mode("sync"), "input": "synthetic"}
    return Cell(stack=stack.name, **{**facts, **values})


def started(lab: Lab, of: Cell, *words: str, module: str = "workloads") -> SlurmRunning:
    made = SlurmLauncher(lab.cache, words)
    stack = STACKS[of.stack]
    made.prepare([stack], print)
    return made.start(of, stack, lab.cache, "k.0.1", module)


def went(lab: Lab, of: Cell, hurt: Callable[[SlurmRunning], Any] | None = None, *words: str) -> Ending:
    """How a run ended that was hurt once it trained."""
    running = started(lab, of, *words)
    return runs.followed(running, limits(of), lambda: hurt and hurt(running)).ending


@pytest.mark.parametrize(("name", "mode"), [
    ("torch-1.7", "sync"), ("tf-2.5", "sync"), ("mxnet-1.7", "sync"), ("tf-2.5", "async")])
def test_three_nodes_train_together(lab: Lab, name: str, mode: str) -> None:
    assert ("ok", "") == went(lab, cell(STACKS[name], parallel=STACKS[name].mode(mode)))[:2]
    assert lab.is_clean()


def test_three_nodes_train_together_in_apptainer_s_images(lab: Lab, tmp_path: Path) -> None:
    of = cell(IMAGED, parallel=IMAGED.mode("sync"))
    with apptainer_lab.installed(tmp_path / "apptainer"):
        running = started(lab, of, "apptainer")
        *_, ending = follow(running, limits(of), time.monotonic)
        learnt, place = running.learnt()["nodes"], running.place
        running.stop()
        assert "oom" == went(lab, cell(IMAGED, **LARGE), None, "apptainer").word
    assert isinstance(ending, Ending) and ("ok", "") == ending[:2]
    assert {"slurm1", "slurm2", "slurm3"} == {node["host"] for node in learnt.values()}
    assert ("slurm", "apptainer") == (place["launcher"], place["isolation"]) and place["image"].startswith("sha256:")
    assert eventually(lab.is_clean, 60.0)


def test_one_node_runs_alone(lab: Lab) -> None:
    running = started(lab, cell(nodes=1, parallel="none"))
    *_, ending = follow(running, limits(cell()), time.monotonic)
    learnt = running.learnt()["nodes"]["node0"]
    running.stop()
    assert isinstance(ending, Ending) and "ok" == ending.word
    assert ("slurm1", 1, True) == (learnt["host"], learnt["cpus"], learnt["bound_by_slurm"])
    assert lab.is_clean()


def test_gpus_are_asked_for_by_gres_and_named_to_the_worker(lab: Lab) -> None:
    of = cell(nodes=2, device="gpu", gpus=2, parallel="allreduce")
    running = started(lab, of, module="workloads.process.inventory")          # there is nothing to compute on
    assert running.exit("node1", 60.0).code is not None
    assert ["0,1", "0,1"] == [node["gpus"] for node in running.learnt()["nodes"].values()]
    running.stop()


@pytest.mark.parametrize(("of", "hurt", "words", "word", "said"), [
    (cell(**LARGE), None, (), "oom", ""),
    (cell(nodes=1, parallel="none", steps=10**6), None, ("time=0:15",), "timeout", "at its time limit"),
    (cell(**LONG), lambda running: subprocess.run(["scancel", running.place["job"]], check=True), (), "killed",
     "was cancelled by somebody else")], ids=["more memory than the limit", "time limit", "cancelled by somebody"])
def test_a_run_that_slurm_ends_has_its_word(lab: Lab, of: Cell, hurt: Callable[[SlurmRunning], Any] | None,
                                            words: tuple[str, ...], word: str, said: str) -> None:
    subprocess.run(["scontrol", "update", "PartitionName=lab", "OverTimeLimit=0"], check=True)
    ending = went(lab, of, hurt, *words)
    assert word == ending.word and said in ending.message, ending
    assert lab.is_clean()


@pytest.mark.parametrize(("nodes", "word"), [(3, "killed"), (1, "ok")])
def test_a_node_that_crashes_ends_the_runs_that_it_has_part_in(lab: Lab, nodes: int, word: str) -> None:
    mode = cell().parallel if nodes > 1 else "none"
    ending = went(lab, cell(nodes=nodes, parallel=mode, steps=2000 if nodes > 1 else 6),
                  lambda running: lab.call("crash", "3"))
    lab.call("start", "3")
    assert eventually(lab.is_whole, 60.0)
    assert ending.word in ((word, "timeout", "error") if nodes > 1 else (word,))
    assert nodes == 1 or "slurm3" in ending.message, ending
    assert eventually(lab.is_clean, 60.0)


def test_a_node_that_is_cut_off_is_named_within_a_minute(lab: Lab) -> None:
    began = time.monotonic()
    ending = went(lab, cell(**LONG), lambda running: lab.call("cut", "2"))
    lab.call("heal", "2")
    assert eventually(lab.is_whole, 90.0)
    assert ending.word in ("timeout", "killed") and "slurm2" in ending.message, ending
    assert time.monotonic() - began < 200
    assert eventually(lab.is_clean, 60.0)


def test_a_run_outlives_the_slurmd_of_a_node(lab: Lab) -> None:
    ending = went(lab, cell(steps=20), lambda running: lab.call("kill", "2"))
    lab.call("start", "2")
    assert eventually(lab.is_whole, 90.0)
    assert ending.word in ("ok", "killed"), ending
    assert eventually(lab.is_clean, 60.0)


def test_a_session_whose_shell_is_gone_ends_its_job_and_makes_the_round_again(lab: Lab, tmp_path: Path) -> None:
    settings = ("parallel=sync", "cpus=1", "memory_bytes=1500000000",
                "seconds=30")                                   # the job outlasts what follows, also on a busy machine
    command = [sys.executable, "-m", "runner", "run", "krisilias/kri-mem", "--scale", "quick", "--launcher", "slurm",
               "--stack", "torch-1.7", *(word for setting in settings for word in ("--set", setting)), "--rounds", "1",
               "--results", str(tmp_path)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(lab.cache.parent)}
    runner = subprocess.Popen(command, env=environment, cwd=paths.ROOT, start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert eventually(lambda: any(record["event"] == "line" and record["line"]["event"] == "warm"
                                  for record in records(tmp_path)), 120.0)
    os.killpg(runner.pid, signal.SIGHUP)
    runner.wait()
    assert "R" in lab.jobs()                                    # the job went on

    ended = subprocess.run(command, env=environment, cwd=paths.ROOT, capture_output=True, text=True, check=False)

    assert 0 == ended.returncode, ended.stderr
    assert "left by a runner that is gone" in ended.stderr
    heard = records(tmp_path)
    assert [2, 1] == [sum(record["event"] == event for record in heard) for event in ("begin", "ending")]
    (folder,) = tmp_path.glob("*-krisilias-*")
    summary = json.loads((folder / "summary.json").read_text())
    assert {"ok": 1} == summary["comparisons"][0]["results"][0]["endings"]
    assert eventually(lab.is_clean, 60.0)


def records(results: Path) -> list[dict[str, Any]]:
    for folder in results.glob("*-krisilias-*"):
        try:
            return list(store.read(folder))
        except BenchError:
            pass
    return []
