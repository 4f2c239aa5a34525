"""The Slurm launcher with scripted commands: what jobs are asked for, how lines and endings come back."""

import json
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clusters.slurm import commands, running
from clusters.slurm.commands import GONE, Job, Options, Slurm, SlurmUnreachable, Submission
from clusters.slurm.launcher import SlurmLauncher
from clusters.slurm.running import SlurmRunning
from runner import leftovers
from runner.errors import BenchError, DiskFull, InputError
from runner.launchers import choose
from runner.launchers.protocol import Exit
from runner.launchers.watchdog import Limits, followed, gone
from runner.machine import gpus
from runner.paths import STACKS
from runner.stacks import environments
from runner.stacks.definition import read_all
from tests.clock import FakeClock
from tests.fake_slurm import FakeSlurm, shown, wrote
from tests.fakes import MACHINE, good_lines
from workloads.spec.cell import Cell
from workloads.spec.cluster import Place

GIB = 2**30
LINES = b"".join(good_lines())
STACK = read_all(STACKS)["torch-2.13-cpu"]
KILLED = '{"code": -9, "last_words": "Terminated"}'


NO_PROCESS = f"1-1-{leftovers.mine().split('-')[2]}"


def cell(**values: Any) -> Cell:
    facts = {"task": "lenet5", "measure": "train", "nodes": 3, "cpus": 2, "memory_bytes": 4 * GIB,
             "parallel": "allreduce"}
    return Cell(stack="torch-x", **{**facts, **values})


CELL, ONE = cell(), cell(nodes=1, parallel="none")


def places(count: int) -> list[Place]:
    return [Place(f"node{rank}", "worker", (), True) for rank in range(count)]


class Lab:
    """A scripted Slurm, the folder that its nodes share, and the runs that were started."""

    def __init__(self, cache: Path) -> None:
        self.cache, self.slurm, self.made = cache, FakeSlurm(), list[SlurmRunning]()

    def launcher(self, *words: str) -> SlurmLauncher:
        return SlurmLauncher(self.cache, words, Slurm(self.slurm))

    def started(self, of: Cell = CELL, by: SlurmLauncher | None = None, **how: Any) -> SlurmRunning:
        self.made.append((by or self.launcher()).start(of, STACK, self.cache, "k.0.1", **how))
        return self.made[-1]

    def asked(self, of: Cell = CELL, **how: Any) -> tuple[list[str], dict[str, Any], Path]:
        """The words of sbatch, the order and the folder of a run, which is stopped."""
        made = self.started(of, **how)
        order = json.loads((self.folder(made) / "order.json").read_text())
        made.stop()
        return self.slurm.of("sbatch")[-1], order, self.folder(made)

    def folder(self, made: SlurmRunning) -> Path:
        return self.cache / "slurm" / str(made.place["folder"])

    def job(self, state: str, places: Sequence[Place], **how: Any) -> SlurmRunning:
        """Job 7 in this state."""
        self.slurm.jobs["7"] = shown(state, **how)
        self.made.append(SlurmRunning(Slurm(self.slurm), self.cache, "7", places, {}))
        return self.made[-1]

    def swept(self) -> list[str]:
        """What another session says when it prepares."""
        said: list[str] = []
        self.launcher().prepare([], said.append)
        return said


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """With a shared folder that shows everything at once."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))      # which prepare sweeps
    for name in ("_LOOK_SECONDS", "_LINES_SECONDS", "_LATE_SECONDS", "_BEAT_SECONDS"):
        monkeypatch.setattr(running, name, 0.001)
    monkeypatch.setattr(running, "_GONE_SECONDS", 0.0)
    monkeypatch.setattr(environments, "ready", lambda stack, cache, say: Path("/venvs/x/bin/python"))
    made = Lab(tmp_path)
    yield made
    for each in made.made:
        each.stop()


@pytest.fixture
def left(lab: Lab) -> SlurmRunning:
    """A run of one place that its runner left."""
    return lab.started(ONE)


# ---- what is asked for

def test_a_job_asks_for_a_task_a_node_with_the_cell_s_limits_and_for_nodes_of_its_own(lab: Lab) -> None:
    words, order, folder = lab.asked(padding=3)
    assert {"--nodes=3", "--ntasks-per-node=1", "--cpus-per-task=2", "--mem=4096M", "--no-requeue", "--exclusive",
            f"--job-name={folder.name}", f"--output={folder}/job.out"} <= set(words)
    assert not any(word.startswith(("--gres", "--partition", "--time", "--nodelist")) for word in words)
    assert (["node0", "node1", "node2"], 3, "workloads") == (order["places"], order["nodes"], order["module"])
    assert (2, 4 * GIB, {"EVENBENCH_PADDING": "xxx"}) == (order["cpus"], order["memory_bytes"], order["variables"])
    assert CELL._asdict() == order["cell"] and 23000 <= order["port"] < 31000


def test_the_words_of_the_option_go_to_sbatch(lab: Lab) -> None:
    words, *_ = lab.asked(by=lab.launcher("partition=lab", "time=1:30:00", "shared", "nodelist=slurm[1", "2]"))
    assert {"--partition=lab", "--time=1:30:00", "--nodelist=slurm[1,2]"} <= set(words) and "--exclusive" not in words


@pytest.mark.parametrize("word", ["partition=", "partition=a b", "speed=9", "encrypted", "time=1;rm"])
def test_another_word_is_refused(word: str) -> None:
    with pytest.raises(InputError, match=r"--launcher slurm: found .*, expected one of partition=, account="):
        commands.options([word])


def test_the_step_names_its_cpus_and_gpus_and_what_every_node_runs() -> None:
    asked = cell(nodes=2, cpus=8, memory_bytes=3 * GIB + 1, device="gpu", gpus=4)
    order = Submission(Path("/home/u/r"), Path("/repo"), ["/venv/bin/python"], asked)
    text = commands.script(order)
    assert text.startswith("#!/bin/sh\n")
    assert ("exec srun --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --mem=3073M --gres=gpu:4 --ntasks=2 --exact "
            "--cpu-bind=cores ") in text
    assert '/venv/bin/python -m workloads.places.slurm_node /home/u/r/order.json "$hosts"\n' in text
    assert "--gres=gpu:4" in commands.submission(order, Options())


def test_a_cell_on_gpus_asks_for_them_and_what_they_compiled_is_kept_in_the_cache_that_nodes_share(lab: Lab) -> None:
    words, order, _ = lab.asked(cell(nodes=2, device="gpu", gpus=2))
    kept = lab.cache / "kernels" / STACK.name
    assert "--gres=gpu:2" in words and {"EVENBENCH_KERNELS": str(kept)} == order["variables"]
    assert 0o777 == kept.stat().st_mode & 0o777


def nodelists(lab: Lab) -> list[str | None]:
    return [next((word for word in words if word.startswith("--nodelist")), None) for words in lab.slurm.of("sbatch")]


def start_and_stop(lab: Lab, by: SlurmLauncher, of: Cell) -> None:
    made = lab.started(of, by)
    while made.is_waiting():
        made.next_line(0.001)
    made.stop()


def test_the_jobs_of_a_session_ask_for_the_nodes_of_its_first(lab: Lab) -> None:
    by = lab.launcher()
    for of in (CELL, CELL, ONE):
        start_and_stop(lab, by, of)
    assert [None, "--nodelist=slurm1,slurm2,slurm3", "--nodelist=slurm1"] == nodelists(lab)


def test_nodes_that_are_down_are_not_asked_for_again(lab: Lab) -> None:
    by = lab.launcher()
    for _ in range(2):
        start_and_stop(lab, by, CELL)
        lab.slurm.sinfo = lab.slurm.sinfo.replace("slurm2|mixed", "slurm2|down*")
    assert [None, None] == nodelists(lab)


# ---- what cannot be

def test_without_slurm_s_commands_it_says_where_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=r"--launcher slurm: found no sbatch, srun, .*login node"):
        choose.for_stacks("slurm", print, gpus.NONE, ())


def test_a_partition_that_is_none_or_not_named_is_refused_and_a_silent_controller_told(lab: Lab) -> None:
    with pytest.raises(InputError, match='--launcher slurm: found "partition=fast", expected one of big, lab'):
        lab.launcher("partition=fast")
    lab.slurm.sinfo = lab.slurm.sinfo.replace("lab*", "lab")
    with pytest.raises(InputError, match=r"no default partition: choose .* slurm:partition=, of big, lab"):
        lab.launcher()
    lab.slurm.answers = False
    with pytest.raises(SlurmUnreachable, match=r"Unable to contact slurm controller.*: look at `scontrol ping`"):
        lab.launcher()


@pytest.mark.parametrize(("values", "message"), [
    ({"nodes": 5}, "the cell needs 5 nodes, and partition lab has 3"),
    ({"cpus": 4}, "2 nodes of partition lab have 4 CPUs and 4.3 GB, as the cell asks, and the largest has 4 and 16.8"),
    ({"device": "gpu", "gpus": 2}, "partition lab has no 3 nodes with 2 GPUs as generic resources")])
def test_a_cell_that_no_nodes_can_run_is_refused_before_anything_starts(lab: Lab, values: dict[str, Any], message: str
                                                                        ) -> None:
    with pytest.raises(InputError, match=message):
        lab.launcher().check([CELL, cell(**values)])
    with pytest.raises(BenchError, match=message):
        lab.started(cell(**values))


def test_a_job_that_slurm_refuses_says_why_and_leaves_nothing(lab: Lab) -> None:
    lab.slurm.refusal = ("sbatch: error: Memory specification can not be satisfied\n"
                         "sbatch: error: Batch job submission failed: Requested node configuration is not available\n")
    with pytest.raises(BenchError, match=r"^Slurm did not take the job: Requested node .* is not available$"):
        lab.started()
    assert [] == list((lab.cache / "slurm").iterdir())
    (words,) = lab.slurm.of("scancel")
    assert words[1].startswith("--name=evenbench-k-0-1-")       # it may have been taken, and the answer lost


class FullDisk(FakeSlurm):
    """A cluster whose shared disk is full once it has taken a job."""

    def _sbatch(self, words: list[str]) -> tuple[int, str, str]:
        output = next(word.partition("=")[2] for word in words if word.startswith("--output="))
        (Path(output).parent / "job").symlink_to("/dev/full")
        return super()._sbatch(words)


def test_a_job_whose_number_cannot_be_kept_is_ended_and_the_full_disk_told(lab: Lab) -> None:
    lab.slurm = FullDisk()
    with pytest.raises(DiskFull, match=f"^{lab.cache}/slurm/evenbench-k-0-1-.*: No space left on device"):
        lab.started()
    assert [["scancel", "7", "--quiet"]] == lab.slurm.of("scancel")
    assert [] == list((lab.cache / "slurm").iterdir())


def test_plans_are_made_for_the_smallest_node_and_a_node_a_machine(lab: Lab) -> None:
    made = lab.launcher()
    assert (3, 2, 7000 * 2**20) == (made.hosts, made.machine(MACHINE).cpus, made.machine(MACHINE).memory_bytes)
    assert {"partition": "lab", "nodes": 3, "version": "22.05.8"}.items() <= made.record()["slurm"].items()


# ---- lines and endings

def test_lines_come_from_the_files_of_the_places_and_what_they_learnt_of_their_nodes_is_recorded(lab: Lab) -> None:
    made = lab.started()
    for place in made.reporters:
        wrote(lab.folder(made), place, LINES)
    node = {"host": "slurm1", "memory_limited_by": "group"}
    assert {"nodes": {"node0": node, "node1": node, "node2": node}} == made.learnt()
    events, ending = followed(made, Limits(), FakeClock(step=0.0))
    assert "ok" == ending.word
    assert [3, 3, 3] == [sum(event["place"] == place for event in events) for place in made.reporters]
    assert [] == list((lab.cache / "slurm").iterdir())           # nothing is left


def test_a_job_in_the_queue_says_once_what_it_waits_for(lab: Lab) -> None:
    heard, said = threading.Event(), list[str]()
    lab.slurm.jobs["7"] = shown("PENDING", nodes="", reason="Resources")
    made = SlurmRunning(Slurm(lab.slurm), lab.cache, "7", places(1), {},
                        lambda text: (said.append(text), heard.set())[0])
    assert heard.wait(30) and made.is_waiting()
    made.stop()
    assert ["slurm: job 7 waits: Resources"] == said


@pytest.mark.parametrize(("state", "left", "word", "message"), [
    # a place that left no word went as the job did
    ("TIMEOUT", "", "timeout", "Slurm ended job 7 at its time limit: give a run more with --launcher slurm:time="),
    ("NODE_FAIL", "", "killed", r"Slurm lost a node of job 7 \(NODE_FAIL\): slurm2"),
    ("CANCELLED", "", "killed", "job 7 was cancelled by somebody else"),
    ("PREEMPTED", "", "killed", r"Slurm took job 7 from its nodes \(PREEMPTED\)"),
    ("OUT_OF_MEMORY", "", "oom", "the worker hit its memory limit and was killed"),
    ("FAILED", "", "died", "exit code 1 without an end event; last words: job 7: FAILED, exit code 9:0: srun: no"),
    # a worker that a signal ended went as Slurm says, and one that its control group killed as the group does
    *((state, KILLED, word, "") for state, word in (
        ("CANCELLED", "killed"), ("TIMEOUT", "timeout"), ("NODE_FAIL", "killed"), ("OUT_OF_MEMORY", "oom"),
        ("RUNNING", "killed"))),
    ("RUNNING", '{"code": -9, "last_words": "", "is_out_of_memory": true}', "oom", "")])
def test_a_place_went_as_it_says_or_as_the_job_did(lab: Lab, state: str, left: str, word: str, message: str) -> None:
    (lab.cache / "job.out").write_text("srun:\n no")
    wrote(lab.cache, "node0", good_lines()[0], exit=left)
    lab.slurm.sinfo = lab.slurm.sinfo.replace("slurm2|mixed", "slurm2|down*")
    _, ending = followed(lab.job(state, places(1), exit="9:0"), Limits(), FakeClock(step=0.0))

    assert word == ending.word
    assert re.match(message, ending.message), ending.message


def test_a_job_whose_folder_no_node_sees_was_not_started(lab: Lab) -> None:
    made = lab.job("FAILED", places(1), exit="2:0")
    ending = gone(made.exit("node0", 60.0))
    assert "not_started" == ending.word
    assert f"node0 wrote nothing to {lab.cache}, which every node must see at this path" in ending.message


def test_a_job_that_slurm_has_forgotten_is_looked_up_in_the_accounts(lab: Lab) -> None:
    lab.slurm.accounted["9"] = "CANCELLED by 0|0:15|slurm1|evenbench-k\n"
    assert Job("CANCELLED", "CANCELLED by 0", "slurm1", "0:15", "evenbench-k") == Slurm(lab.slurm).job("9")
    assert GONE == Slurm(lab.slurm).job("10")


def test_a_controller_that_is_away_for_a_while_ends_no_run(lab: Lab) -> None:
    lab.slurm.answers = False
    made = lab.job("RUNNING", places(1))
    assert Exit(None) == made.exit("node0", 0.01)
    assert {"node0": "cannot be seen: Slurm's controller does not answer"} == made.trouble()
    made.stop()
    assert lab.cache.exists()                                    # the next sweep looks after it


def test_a_place_on_a_node_that_slurm_lost_is_named(lab: Lab) -> None:
    lab.slurm.sinfo = lab.slurm.sinfo.replace("slurm2|mixed", "slurm2|allocated*")
    others = Place("coordinator", "coordinator", (), True), Place("node2", "server", (), False)
    made = lab.job("RUNNING", (*places(2), *others))
    assert {"node1": "is on slurm2, which Slurm cannot reach (allocated*)"} == made.trouble()


def test_a_silent_node_is_named_before_slurm_notices_and_when_the_job_has_left_the_others(lab: Lab) -> None:
    wrote(lab.cache, "node0", b"", '{"code": 1}')
    for place in ("node0", "node2"):
        (lab.cache / f"{place}.beat").write_text("1.5")
    made = lab.job("RUNNING", places(3))
    silent = {"node2": "is on slurm3, which has fallen silent"}

    assert silent == made.trouble()
    for nodes in ("slurm3", ""):                                # as Slurm shows a job that completes
        lab.slurm.jobs["7"] = shown("COMPLETING", nodes)
        assert silent == made.trouble()


def test_who_follows_a_run_says_so_again_and_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made = lab.started()
    sign = lab.folder(made) / "followed"
    assert not sign.exists()                         # before its beginning is in the record
    monkeypatch.setattr(running, "_SIGN_SECONDS", 0.0)
    made.next_line(0.0)
    first = sign.read_text()
    made.next_line(0.0)
    assert first != sign.read_text()


# ---- runs that a dead runner left

def orphaned(lab: Lab) -> Path:
    """The folder of a run that its runner followed until it was killed."""
    left = lab.started(ONE)
    left.next_line(0.0)
    (lab.folder(left) / "owner").write_text(NO_PROCESS)
    return lab.folder(left)


ENDED = "slurm: ending job 7, left by a runner that is gone"


def test_a_job_of_a_dead_runner_that_no_record_names_is_ended(lab: Lab, left: SlurmRunning) -> None:
    (lab.folder(left) / "owner").write_text(NO_PROCESS)
    assert [ENDED] == lab.swept()
    assert 1 == len(lab.slurm.of("scancel")) and not lab.folder(left).exists()


def test_a_followed_job_of_a_dead_runner_is_ended_too(lab: Lab) -> None:
    folder = orphaned(lab)
    assert [ENDED] == lab.swept()
    assert 1 == len(lab.slurm.of("scancel")) and not folder.exists()


def test_an_order_that_a_full_disk_cut_off_stops_no_session(lab: Lab) -> None:
    folder = orphaned(lab)
    (folder / "order.json").write_text('{"cell"')
    assert [ENDED] == lab.swept() and not folder.exists()


def test_what_dead_runners_left_is_looked_for_once_however_many_stacks_are_prepared(lab: Lab) -> None:
    said: list[str] = []
    orphaned(lab)
    made = lab.launcher()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda stack: made.prepare([], said.append), "ab"))
    assert 1 == len(said)


def test_jobs_of_living_runners_and_of_other_hosts_are_left_alone(lab: Lab, left: SlurmRunning) -> None:
    for owner in (leftovers.mine(), f"{os.getpid()}-1-another-place"):
        (lab.folder(left) / "owner").write_text(owner)
        assert [] == lab.swept()
    assert [] == lab.slurm.of("scancel") and lab.folder(left).exists()
