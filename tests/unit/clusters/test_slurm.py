"""The Slurm launcher with scripted commands: what jobs are asked for, how lines and endings come back."""

import json
import os
import re
import tempfile
import threading
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


@pytest.fixture(autouse=True)
def shared_folder_without_delay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))      # which prepare sweeps
    for name in ("_LOOK_SECONDS", "_LINES_SECONDS", "_LATE_SECONDS", "_BEAT_SECONDS"):
        monkeypatch.setattr(running, name, 0.001)
    monkeypatch.setattr(running, "_GONE_SECONDS", 0.0)
    monkeypatch.setattr(environments, "ready", lambda stack, cache, say: Path("/venvs/x/bin/python"))
NO_PROCESS = f"1-1-{leftovers.mine().split('-')[2]}"


def cell(**values: Any) -> Cell:
    facts = {"task": "lenet5", "measure": "train", "nodes": 3, "cpus": 2, "memory_bytes": 4 * GIB,
             "parallel": "allreduce"}
    return Cell(stack="torch-x", **{**facts, **values})


def launcher(cache: Path, slurm: FakeSlurm, *words: str) -> SlurmLauncher:
    return SlurmLauncher(cache, words, Slurm(slurm))


def started(cache: Path, slurm: FakeSlurm, of: Cell = cell(), **how: Any) -> SlurmRunning:    # noqa: B008
    made = how.pop("by", None) or launcher(cache, slurm)
    return made.start(of, STACK, cache, "k.0.1", **how)


def places(count: int) -> list[Place]:
    return [Place(f"node{rank}", "worker", (), True) for rank in range(count)]


def folder_of(made: SlurmRunning, cache: Path) -> Path:
    return cache / "slurm" / str(made.place["folder"])


# ---- what is asked for

def test_a_job_asks_for_a_task_a_node_with_the_cell_s_limits_and_for_nodes_of_its_own(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    made = started(tmp_path, slurm)
    (words,) = slurm.of("sbatch")
    folder = folder_of(made, tmp_path)
    made.stop()
    assert {"--nodes=3", "--ntasks-per-node=1", "--cpus-per-task=2", "--mem=4096M", "--no-requeue", "--exclusive",
            f"--job-name={folder.name}", f"--output={folder}/job.out"} <= set(words)
    assert not any(word.startswith(("--gres", "--partition", "--time", "--nodelist")) for word in words)


def test_the_words_of_the_option_go_to_sbatch(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    made = started(tmp_path, slurm, by=launcher(tmp_path, slurm, "partition=lab", "time=1:30:00", "shared",
                                                "nodelist=slurm[1", "2]"))
    made.stop()
    assert {"--partition=lab", "--time=1:30:00", "--nodelist=slurm[1,2]"} <= set(slurm.of("sbatch")[0])
    assert "--exclusive" not in slurm.of("sbatch")[0]


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


def test_a_cell_on_gpus_asks_for_them_and_what_they_compiled_is_kept_in_the_cache_that_nodes_share(
        tmp_path: Path) -> None:
    slurm = FakeSlurm()
    for of, kept in ((cell(nodes=2, device="gpu", gpus=2), tmp_path / "kernels" / STACK.name), (cell(), None)):
        made = started(tmp_path, slurm, of)
        assert ("--gres=gpu:2" in slurm.of("sbatch")[-1]) is (of.device == "gpu")
        variables = json.loads((folder_of(made, tmp_path) / "order.json").read_text())["variables"]
        made.stop()
        assert variables.get("EVENBENCH_KERNELS") == (str(kept) if kept else None)
        assert kept is None or kept.stat().st_mode & 0o777 == 0o777


def test_the_order_tells_each_node_of_its_places(tmp_path: Path) -> None:
    made = started(tmp_path, FakeSlurm(), padding=3)
    order = json.loads((folder_of(made, tmp_path) / "order.json").read_text())
    made.stop()
    assert (["node0", "node1", "node2"], 3, "workloads") == (order["places"], order["nodes"], order["module"])
    assert (2, 4 * GIB, {"EVENBENCH_PADDING": "xxx"}) == (order["cpus"], order["memory_bytes"], order["variables"])
    assert cell()._asdict() == order["cell"] and 23000 <= order["port"] < 31000


def test_the_jobs_of_a_session_ask_for_the_nodes_of_its_first(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    by = launcher(tmp_path, slurm)
    for nodes in (3, 3, 1):
        made = by.start(cell(nodes=nodes, parallel="allreduce" if nodes > 1 else "none"), STACK, tmp_path, "k.0.1")
        assert not made.is_waiting() or follow_until_seen(made)
        made.stop()
    assert [None, "--nodelist=slurm1,slurm2,slurm3", "--nodelist=slurm1"] == [
        next((word for word in words if word.startswith("--nodelist")), None) for words in slurm.of("sbatch")]


def follow_until_seen(made: SlurmRunning) -> bool:
    while made.is_waiting():
        made.next_line(0.001)
    return True


def test_nodes_that_are_down_are_not_asked_for_again(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    by = launcher(tmp_path, slurm)
    for _ in range(2):
        made = started(tmp_path, slurm, by=by)
        follow_until_seen(made)
        made.stop()
        slurm.sinfo = slurm.sinfo.replace("slurm2|mixed", "slurm2|down*")
    assert not any(word.startswith("--nodelist") for word in slurm.of("sbatch")[1])


# ---- what cannot be

def test_without_slurm_s_commands_it_says_where_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=r"--launcher slurm: found no sbatch, srun, .*login node"):
        choose.for_stacks("slurm", print, gpus.NONE, ())


def test_a_partition_that_is_none_or_not_named_is_refused_and_a_silent_controller_told(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    with pytest.raises(InputError, match='--launcher slurm: found "partition=fast", expected one of big, lab'):
        launcher(tmp_path, slurm, "partition=fast")
    with pytest.raises(InputError, match=r"no default partition: choose .* slurm:partition=, of big, lab"):
        launcher(tmp_path, FakeSlurm(FakeSlurm().sinfo.replace("lab*", "lab")))
    slurm.answers = False
    with pytest.raises(SlurmUnreachable, match=r"Unable to contact slurm controller.*: look at `scontrol ping`"):
        launcher(tmp_path, slurm)


@pytest.mark.parametrize(("values", "message"), [
    ({"nodes": 5}, "the cell needs 5 nodes, and partition lab has 3"),
    ({"cpus": 4}, "2 nodes of partition lab have 4 CPUs and 4.3 GB, as the cell asks, and the largest has 4 and 16.8"),
    ({"device": "gpu", "gpus": 2}, "partition lab has no 3 nodes with 2 GPUs as generic resources")])
def test_a_cell_that_no_nodes_can_run_is_refused_before_anything_starts(tmp_path: Path, values: dict[str, Any],
                                                                        message: str) -> None:
    by = launcher(tmp_path, FakeSlurm())
    with pytest.raises(InputError, match=message):
        by.check([cell(), cell(**values)])
    with pytest.raises(BenchError, match=message):
        by.start(cell(**values), STACK, tmp_path, "k.0.1")


def test_a_job_that_slurm_refuses_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    slurm.refusal = ("sbatch: error: Memory specification can not be satisfied\n"
                     "sbatch: error: Batch job submission failed: Requested node configuration is not available\n")
    with pytest.raises(BenchError, match=r"^Slurm did not take the job: Requested node .* is not available$"):
        started(tmp_path, slurm)
    assert [] == list((tmp_path / "slurm").iterdir())
    (words,) = slurm.of("scancel")
    assert words[1].startswith("--name=evenbench-k-0-1-")       # it may have been taken, and the answer lost


class FullDisk(FakeSlurm):
    """A cluster whose shared disk is full once it has taken a job."""

    def _sbatch(self, words: list[str]) -> tuple[int, str, str]:
        output = next(word.partition("=")[2] for word in words if word.startswith("--output="))
        (Path(output).parent / "job").symlink_to("/dev/full")
        return super()._sbatch(words)


def test_a_job_whose_number_cannot_be_kept_is_ended_and_the_full_disk_told(tmp_path: Path) -> None:
    slurm = FullDisk()
    with pytest.raises(DiskFull, match=f"^{tmp_path}/slurm/evenbench-k-0-1-.*: No space left on device"):
        started(tmp_path, slurm)
    assert [["scancel", "7", "--quiet"]] == slurm.of("scancel")
    assert [] == list((tmp_path / "slurm").iterdir())


def test_plans_are_made_for_the_smallest_node_and_a_node_a_machine(tmp_path: Path) -> None:
    made = launcher(tmp_path, FakeSlurm())
    assert (3, 2, 7000 * 2**20) == (made.hosts, made.machine(MACHINE).cpus, made.machine(MACHINE).memory_bytes)
    assert {"partition": "lab", "nodes": 3, "version": "22.05.8"}.items() <= made.record()["slurm"].items()


# ---- lines and endings

def test_lines_come_from_the_files_of_the_places(tmp_path: Path) -> None:
    made = started(tmp_path, FakeSlurm())
    for place in made.reporters:
        wrote(folder_of(made, tmp_path), place, LINES)
    events, ending = followed(made, Limits(), FakeClock(step=0.0))
    assert "ok" == ending.word
    assert [3, 3, 3] == [sum(event["place"] == place for event in events) for place in made.reporters]
    assert [] == list((tmp_path / "slurm").iterdir())           # nothing is left


def test_what_a_place_learnt_of_its_node_is_recorded(tmp_path: Path) -> None:
    made = started(tmp_path, FakeSlurm())
    wrote(folder_of(made, tmp_path), "node1", b"")
    assert {"nodes": {"node1": {"host": "slurm1", "memory_limited_by": "group"}}} == made.learnt()
    made.stop()


def test_a_job_in_the_queue_says_once_what_it_waits_for(tmp_path: Path) -> None:
    slurm, heard = FakeSlurm(), threading.Event()
    said: list[str] = []
    slurm.jobs["7"] = shown("PENDING", nodes="", reason="Resources")
    made = SlurmRunning(Slurm(slurm), tmp_path, "7", places(1), {},
                        lambda text: (said.append(text), heard.set())[0])
    assert heard.wait(30) and made.is_waiting()
    made.stop()
    assert ["slurm: job 7 waits: Resources"] == said


def of_job(folder: Path, state: str, count: int = 1, sinfo: str = "", **how: Any) -> tuple[SlurmRunning, FakeSlurm]:
    """Job 7, of so many places, in this state."""
    slurm = FakeSlurm(*filter(None, [sinfo]))
    slurm.jobs["7"] = shown(state, **how)
    return SlurmRunning(Slurm(slurm), folder, "7", places(count), {}), slurm


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
def test_a_place_went_as_it_says_or_as_the_job_did(tmp_path: Path, state: str, left: str, word: str, message: str
                                                   ) -> None:
    (tmp_path / "job.out").write_text("srun:\n no")
    wrote(tmp_path, "node0", good_lines()[0], exit=left)
    made, _ = of_job(tmp_path, state, sinfo=FakeSlurm().sinfo.replace("slurm2|mixed", "slurm2|down*"), exit="9:0")
    _, ending = followed(made, Limits(), FakeClock(step=0.0))

    assert word == ending.word
    assert re.match(message, ending.message), ending.message


def test_a_job_whose_folder_no_node_sees_was_not_started(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    slurm.jobs["7"] = shown("FAILED", exit="2:0")
    made = SlurmRunning(Slurm(slurm), tmp_path, "7", places(1), {})
    ending = gone(made.exit("node0", 60.0))
    made.stop()
    assert "not_started" == ending.word
    assert f"node0 wrote nothing to {tmp_path}, which every node must see at this path" in ending.message


def test_a_job_that_slurm_has_forgotten_is_looked_up_in_the_accounts() -> None:
    slurm = FakeSlurm()
    slurm.accounted["9"] = "CANCELLED by 0|0:15|slurm1|evenbench-k\n"
    assert Job("CANCELLED", "CANCELLED by 0", "slurm1", "0:15", "evenbench-k") == Slurm(slurm).job("9")
    assert GONE == Slurm(slurm).job("10")


def test_a_controller_that_is_away_for_a_while_ends_no_run(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    slurm.jobs["7"] = shown("RUNNING")
    slurm.answers = False
    made = SlurmRunning(Slurm(slurm), tmp_path, "7", places(1), {})
    assert Exit(None) == made.exit("node0", 0.01)
    assert {"node0": "cannot be seen: Slurm's controller does not answer"} == made.trouble()
    made.stop()
    assert tmp_path.exists()                                    # the next sweep looks after it


def test_a_place_on_a_node_that_slurm_lost_is_named(tmp_path: Path) -> None:
    slurm = FakeSlurm(FakeSlurm().sinfo.replace("slurm2|mixed", "slurm2|allocated*"))
    slurm.jobs["7"] = shown("RUNNING")
    others = Place("coordinator", "coordinator", (), True), Place("node2", "server", (), False)
    made = SlurmRunning(Slurm(slurm), tmp_path, "7", (*places(2), *others), {})
    assert {"node1": "is on slurm2, which Slurm cannot reach (allocated*)"} == made.trouble()
    made.stop()


def test_a_silent_node_is_named_before_slurm_notices_and_when_the_job_has_left_the_others(tmp_path: Path) -> None:
    wrote(tmp_path, "node0", b"", '{"code": 1}')
    for place in ("node0", "node2"):
        (tmp_path / f"{place}.beat").write_text("1.5")
    made, slurm = of_job(tmp_path, "RUNNING", 3)
    silent = {"node2": "is on slurm3, which has fallen silent"}

    assert silent == made.trouble()
    for nodes in ("slurm3", ""):                                # as Slurm shows a job that completes
        slurm.jobs["7"] = shown("COMPLETING", nodes)
        assert silent == made.trouble()
    made.stop()


def test_who_follows_a_run_says_so_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = started(tmp_path, FakeSlurm())
    sign = folder_of(made, tmp_path) / "followed"
    assert not sign.exists()                         # before its beginning is in the record
    monkeypatch.setattr(running, "_SIGN_SECONDS", 0.0)
    made.next_line(0.0)
    first = sign.read_text()
    made.next_line(0.0)
    assert first != sign.read_text()
    made.stop()


# ---- runs that a dead runner left

@pytest.mark.parametrize("answers", [True, False])
def test_a_job_that_went_on_is_taken_over_with_all_its_lines_whether_slurm_answers_or_not(tmp_path: Path,
                                                                                         answers: bool) -> None:
    slurm = FakeSlurm()
    left = started(tmp_path, slurm, cell(nodes=1, parallel="none"))
    wrote(folder_of(left, tmp_path), "node0", LINES)
    made = launcher(tmp_path, slurm)
    slurm.answers = answers
    taken = made.rejoined(left.place)
    assert taken is not None
    events, ending = followed(taken, Limits(), FakeClock(step=0.0))

    assert (3, "ok") == (len(events), ending.word)


def test_a_run_that_is_taken_over_says_how_long_it_went_on(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    left = started(tmp_path, slurm, cell(nodes=1, parallel="none"))
    order = folder_of(left, tmp_path) / "order.json"
    os.utime(order, (0, order.stat().st_mtime - 3600))
    taken = launcher(tmp_path, slurm).rejoined(left.place)
    assert taken is not None
    taken.stop()
    assert 3600 <= taken.seconds_before < 3660 and 0 == left.seconds_before


@pytest.mark.parametrize(("state", "exit", "is_taken"), [
    ("RUNNING", "", True), ("PENDING", "", True), ("COMPLETED", '{"code": 0}', True), ("NODE_FAIL", "", False),
    ("CANCELLED", "", False)])
def test_what_can_still_give_a_result_is_taken_over_and_the_rest_removed(tmp_path: Path, state: str, exit: str,
                                                                         is_taken: bool) -> None:
    slurm = FakeSlurm()
    left = started(tmp_path, slurm, cell(nodes=1, parallel="none"))
    folder = folder_of(left, tmp_path)
    wrote(folder, "node0", b"", exit)
    slurm.jobs["7"] = shown(state, name=folder.name)
    taken = launcher(tmp_path, slurm).rejoined(left.place)
    assert (is_taken, is_taken) == (taken is not None, folder.exists())
    for each in (left, taken):
        _ = each and each.stop()


def test_a_record_or_a_job_of_somebody_else_is_not_ours_to_end(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    left = started(tmp_path, slurm, cell(nodes=1, parallel="none"))
    slurm.jobs["7"] = shown("RUNNING", name="somebody-s")
    for place in (left.place, {}, {"folder": "../../etc"}, {"folder": "evenbench-x"}, {"folder": 7}):
        assert launcher(tmp_path, slurm).rejoined(place) is None
    assert [] == slurm.of("scancel")


def test_no_second_job_is_begun_while_nobody_says_how_the_first_went(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    left = started(tmp_path, slurm, cell(nodes=1, parallel="none"))
    made = launcher(tmp_path, slurm)
    slurm.answers = False
    with pytest.raises(SlurmUnreachable, match=r"Slurm does not answer for job 7, .* give the same command again"):
        made.rejoined(left.place)
    assert folder_of(left, tmp_path).exists()
    left.stop()


@pytest.mark.parametrize("is_followed", [True, False])
def test_jobs_of_dead_runners_that_no_record_names_are_ended(tmp_path: Path, is_followed: bool) -> None:
    slurm, said = FakeSlurm(), list[str]()
    left = started(tmp_path, slurm, cell(nodes=1, parallel="none"))
    if is_followed:
        left.next_line(0.0)
    (folder_of(left, tmp_path) / "owner").write_text(NO_PROCESS)
    launcher(tmp_path, slurm).prepare([], said.append)
    assert is_followed == folder_of(left, tmp_path).exists()
    assert (0 if is_followed else 1) == len(slurm.of("scancel"))
    assert (["slurm: job 7 of an interrupted session still goes on: the same command takes it over, `scancel 7` ends "
             "it"] if is_followed else ["slurm: ending job 7, left by a runner that is gone"]) == said


def orphaned(cache: Path, slurm: FakeSlurm, measure: str = "train") -> tuple[SlurmRunning, Path]:
    """A run that its runner followed until it was killed, and the run's folder."""
    left = started(cache, slurm, cell(nodes=1, parallel="none", measure=measure))
    left.next_line(0.0)
    (folder_of(left, cache) / "owner").write_text(NO_PROCESS)
    return left, folder_of(left, cache)


def test_a_check_s_job_of_a_dead_runner_is_ended_for_no_command_takes_it_over(tmp_path: Path) -> None:
    slurm, said = FakeSlurm(), list[str]()
    _, folder = orphaned(tmp_path, slurm, "check")
    launcher(tmp_path, slurm).prepare([], said.append)
    assert ["slurm: ending job 7, left by a runner that is gone"] == said
    assert "JobState=CANCELLED" in slurm.jobs["7"] and not folder.exists()


@pytest.mark.parametrize(("days", "is_kept"), [(29, True), (31, False)])
def test_what_a_run_left_is_kept_for_a_month(tmp_path: Path, days: int, is_kept: bool) -> None:
    slurm = FakeSlurm()
    left, folder = orphaned(tmp_path, slurm)
    wrote(folder, "node0", LINES)
    slurm.jobs["7"] = shown("COMPLETED", name=folder.name)
    os.utime(folder / "followed", (0, (folder / "followed").stat().st_mtime - days * 86400))
    launcher(tmp_path, slurm).prepare([], print)
    assert is_kept == folder.exists()
    left.stop()


def test_an_order_that_a_full_disk_cut_off_stops_no_session(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    left, folder = orphaned(tmp_path, slurm)
    (folder / "order.json").write_text('{"cell"')
    launcher(tmp_path, slurm).prepare([], print)
    assert launcher(tmp_path, slurm).rejoined(left.place) is None
    left.stop()


def test_what_dead_runners_left_is_looked_for_once_however_many_stacks_are_prepared(tmp_path: Path) -> None:
    slurm, said = FakeSlurm(), list[str]()
    left, _ = orphaned(tmp_path, slurm)
    made = launcher(tmp_path, slurm)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda stack: made.prepare([], said.append), "ab"))
    left.stop()
    assert 1 == len(said)


def test_jobs_of_living_runners_and_of_other_hosts_are_left_alone(tmp_path: Path) -> None:
    slurm = FakeSlurm()
    left = started(tmp_path, slurm, cell(nodes=1, parallel="none"))
    launcher(tmp_path, slurm).prepare([], print)
    (folder_of(left, tmp_path) / "owner").write_text(f"{os.getpid()}-1-another-place")
    launcher(tmp_path, slurm).prepare([], print)
    assert [] == slurm.of("scancel") and folder_of(left, tmp_path).exists()
