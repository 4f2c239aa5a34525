"""From a command to a job: settings, launcher, the fingerprint by which it is resumed, and its record."""

import errno
import fcntl
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from runner import processes
from runner.cli import options
from runner.datasets.choice import Data
from runner.doctor import host
from runner.errors import Busy, EngineUnreachable, InputError
from runner.launchers.venv import VenvLauncher
from runner.machine.host import Machine
from runner.measuring import alone, building, job, session_record
from runner.measuring.bench import Going, Request
from runner.planning.plan import Wishes
from runner.results import sessions, store
from runner.stacks import environments
from runner.stacks.definition import Size, Stack
from tests.clock import FakeClock
from tests.fake_session import PLAIN, STACKS, job_of
from tests.fakes import MACHINE, FakeLauncher, quiet, stack
from tests.made_files import program
from tests.made_rows import kept
from tests.stack_folder import small_stack

pytestmark = pytest.mark.usefixtures("known_interpreters")
LARGER = Machine("a CPU", 4, 8 * 2**30, "6.1", "Debian", "host")


class Launcher(FakeLauncher):
    """A launcher to which stacks are made of what they are told to be."""

    def __init__(self, **made_of: str) -> None:
        super().__init__(FakeClock())
        self.made_of = made_of

    def fingerprint(self, stack: Stack) -> str:
        return self.made_of.get(stack.name, "f")


def asked_for(wishes: Wishes = PLAIN, names: Any = STACKS, launcher: Any = None, **parts: Any) -> job.Job:
    return job_of(launcher or Launcher(), names, wishes, **parts)


# ---- settings

def test_of_a_list_each_value_is_measured() -> None:
    made = asked_for(Wishes(settings=options.settings(["batch=1,8,64", "cpus=1,2"])), ("a",)).plan
    assert [(1, 1), (1, 2), (8, 1), (8, 2), (64, 1), (64, 2)] == [(each.cell.batch, each.cell.cpus)
                                                                for each in made.cells]


def test_switches_are_one_value_which_may_have_commas() -> None:
    assert {"switches": "XLA_FLAGS=--a,--b"} == options.settings(["switches=XLA_FLAGS=--a,--b"])


@pytest.mark.parametrize(("pairs", "message"), [
    ("batch", 'found "batch", expected KEY=VALUE'),
    ("bach=8", '^--set: key "bach" is unknown; known: task, measure, .*; did you mean "batch"[?]$'),
    ("stack=a", "an option of its own, --stack"), ("data=cifar10", "an option of its own, --data"),
    ("batch=many", '--set batch=many: found "many", expected a whole number'),
    ("seconds=soon", '--set seconds=soon: found "soon", expected a number'), ("batch=0", "--set batch=0: .*at least 1"),
    ("switches=layout=nhwc,layout=nchw", '"layout": found "nhwc,layout=nchw", expected one of best, nchw, nhwc$'),
    ("loop=fast", '--set loop=fast: .*found "fast", expected one of native'),
    ("task=resnet51", 'task "resnet51" is unknown; known: lenet5'),
    ("batch=1,x", '^--set batch=1,x: found "x", expected a whole number$'),
    ("batch=1 batch=2", "^--set batch=2: found batch twice, expected it once; batch=A,B measures both$"),
    ("device=cpu,gpu", "^--set device=cpu,gpu: found 2 values, expected one: a session has one device$")])
def test_a_setting_that_cannot_be_is_refused_with_what_was_found_and_expected(pairs: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        options.settings(pairs.split())


# ---- the command

def test_what_is_to_be_built_is_told_with_its_size_and_what_cannot_be_had(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    own = small_stack(tmp_path / "repository").model_copy(update={"size": Size(wheels_bytes=960_000_000)})
    launcher = VenvLauncher(tmp_path / "evenbench")
    asked = asked_for(names=("torch-9",), stacks={"torch-9": own}, launcher=launcher)

    assert ["to build first, with the size on disk: torch-9 1.0 GB",
            "torch-9: torch==9.0 is in no folder: set PIP_FIND_LINKS to a folder that has it, or unset PIP_NO_INDEX"
            ] == building.ahead(asked)

    home = environments.folder(own, tmp_path / "evenbench")
    home.mkdir(parents=True)
    assert 2 == len(building.ahead(asked)) and host.packages({own.name: own}, tmp_path / "evenbench")
    program(home / "bin/python", "")
    assert [] == building.ahead(asked) == host.packages({own.name: own}, tmp_path / "evenbench")


def test_the_same_command_is_the_same_job_whatever_a_stack_is_that_is_not_measured() -> None:
    with_another = asked_for(stacks={**STACKS, "c": stack("c")}, launcher=Launcher(c="changed"))
    assert asked_for().command() == asked_for().command() == with_another.command()


@pytest.mark.parametrize("other", [
    asked_for(Wishes(settings={"batch": 8})), asked_for(Wishes(rounds=7)), asked_for(Wishes(seed=2)),
    asked_for(launcher=Launcher(b="other")), asked_for(machine=LARGER), asked_for(data=Data("digits32", Path("e"))),
    asked_for(facts={"until": 0.02}), asked_for(names=("a",))],
    ids=["batch", "rounds", "seed", "what a stack is made of", "machine", "data", "facts", "stacks"])
def test_what_is_measured_otherwise_is_another_command(other: job.Job) -> None:
    assert asked_for().command() != other.command()


def test_a_session_s_start_hashes_each_stack_once(tmp_path: Path) -> None:
    hashed: list[str] = []

    class Counting(Launcher):
        def fingerprint(self, stack: Stack) -> str:
            hashed.append(stack.name)
            return super().fingerprint(stack)

    made = building.prepared(asked_for(launcher=Counting(), request=Request("s", results=tmp_path)).hashed(), quiet)
    assert session_record.resumable(made, quiet) is None
    session_record.of(made, session_record.new_folder(made), is_resumed=False)
    assert ["a", "b"] == sorted(hashed)


def test_the_record_of_a_session_is_found_by_its_command(tmp_path: Path) -> None:
    made = asked_for(facts={"until": 0.02}, request=Request("s", results=tmp_path))
    with store.Store(session_record.new_folder(made)) as opened:
        opened.append(session_record.of(made, opened.folder, is_resumed=False))
    (record,) = store.read(opened.folder)
    kept = sessions.unfinished(tmp_path, made.command())

    assert kept is not None and kept.folder == opened.folder
    assert (opened.folder.name, "s", "fake", 0.02, False) == tuple(
        record[key] for key in ("id", "study", "launcher", "until", "resumed"))
    assert MACHINE._asdict() == record["machine"]


def test_a_session_whose_image_is_another_one_now_is_not_resumed_and_says_so(tmp_path: Path) -> None:
    made = asked_for(request=Request("s", results=tmp_path))
    key = made.plan.cells[0].key
    with store.Store(tmp_path / "1-s") as opened:
        opened.append(session_record.of(made, opened.folder, is_resumed=False))
        opened.append(made.plan.record())
        opened.append({"event": "begin", "run": "r", "key": key, "round": 0, "place": {"image": "sha256:1"}})
    said: list[str] = []

    def with_image(identity: str) -> sessions.Session | None:
        launcher = Launcher()
        launcher.image = lambda stack: identity           # type: ignore[method-assign]
        return session_record.resumable(made._replace(launcher=launcher), said.append)

    assert with_image("sha256:1") and with_image("") and not said
    assert with_image("sha256:2") is None
    name = made.plan.cells[0].cell.stack
    assert len(said) == 1 and f"{name}: another image" in said[0] and "1-s is not resumed" in said[0]


def test_a_machine_or_stack_that_is_another_one_now_begins_a_new_session_and_says_so_once(tmp_path: Path) -> None:
    made = asked_for(launcher=Launcher(a="then"), request=Request("s", results=tmp_path))
    records = [session_record.of(made, tmp_path / "1-s", is_resumed=False), made.plan.record(), {
        "event": "begin", "run": "r", "key": made.plan.cells[0].key, "round": 0, "place": {"fingerprint": "then"}}]
    kept(tmp_path / "1-s", *records)
    other = made._replace(machine=LARGER._replace(kernel="6.9"), launcher=Launcher(a="now"))
    said: list[str] = []
    assert session_record.resumable(other, said.append) is None
    (line,) = said
    for told in ("kernel was 6.1, is 6.9", "a: stack or workloads have changed", "so 1-s is not resumed"):
        assert told in line

    for asked in (other._replace(plan=made.plan._replace(settings={"batch": 8})), other._replace(facts={
            "rerun_of": "0-s"})):
        assert session_record.resumable(asked, said.append) is None and 1 == len(said)
    kept(tmp_path / "2-s", session_record.of(other, tmp_path / "2-s", is_resumed=False), {
        "event": "closed", "reason": "done"})
    assert session_record.resumable(other, said.append) is None and 1 == len(said)


@pytest.mark.parametrize(("began_with", "options", "outcome"), [
    ("venv", {}, "venv"), ("docker", {}, "to begin a new session without an engine: --launcher venv"),
    ("docker", {"going": Going(is_fresh=True)}, "venv"), ("docker", {"launcher": "venv"}, "venv")])
def test_auto_keeps_to_the_launcher_of_the_session_that_the_same_words_began(
        began_with: str, options: dict[str, Any], outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        ) -> None:
    monkeypatch.setenv("DOCKER_HOST", "nowhere://engine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["evenbench", "run", "quick"])
    with store.Store(tmp_path / "1-quick") as opened:
        opened.append({"event": "session", "schema": store.SCHEMA, "argv": ["run", "quick"], "launcher": began_with})
    request = Request("quick", results=tmp_path, **options)
    try:
        found = job.planned(request, quiet).launcher.name
    except EngineUnreachable as error:
        found = str(error)
    assert found.endswith(outcome)


# ---- what runs beside it

@pytest.mark.parametrize(("facts", "told"), [
    ({}, "workers: LD_PRELOAD, MKL_X; --env NAME passes one on"),
    ({"env": {"MKL_X": "1"}, "rerun_of": "made"}, "workers: LD_PRELOAD; its record has none of them"),
    ({"env": {"MKL_X": "1", "LD_PRELOAD": "x"}}, "")])
def test_a_variable_that_a_rerun_s_record_passes_on_is_not_said_to_be_left_behind(
        monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], told: str) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"], "LD_PRELOAD": "x", "MKL_X": "1"})
    assert told == "".join(job.warnings(asked_for(facts=facts))).removeprefix("set here and not passed on to ")


def test_a_cell_on_cpus_has_nobody_who_watches_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"]})
    made = asked_for()
    assert [] == [watch for each in made.plan.cells if (watch := job.gpu_watch(made, each))]
    assert [] == job.warnings(made)


def test_gpus_that_are_chosen_in_vain_are_warned_of_on_gpus_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"], "CUDA_VISIBLE_DEVICES": "1"})
    made = asked_for()
    on_gpus = tuple(each._replace(cell=each.cell._replace(device="gpu")) for each in made.plan.cells)

    assert [] == job.warnings(made)
    (told,) = job.warnings(made._replace(plan=made.plan._replace(cells=on_gpus)))
    assert told.startswith("CUDA_VISIBLE_DEVICES is set here and not heeded: ")


def test_sessions_keep_each_other_out_whatever_their_caches_and_one_that_waits_begins_when_the_other_has_ended(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, said = tmp_path / "one", tmp_path / "other", list[str]()
    with ExitStack() as first:
        first.enter_context(alone.measuring_alone(one))
        for cache in (one, other):
            with pytest.raises(Busy, match=rf"session \(process {os.getpid()}\) is mea") as refused:
                alone.measuring_alone(cache).__enter__()
            assert 4 == refused.value.exit_code
        monkeypatch.setattr(alone.time, "sleep", lambda seconds: first.close())
        with alone.measuring_alone(other, waits=True, say=said.append):
            assert [f"waiting for another evenbench session (process {os.getpid()})"] == said


def test_where_there_are_no_locks_it_measures_and_says_that_nobody_is_kept_out(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(file: object, how: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", none)
    said: list[str] = []
    with alone.measuring_alone(tmp_path, say=said.append):
        pass
    assert len(said) == 1 and f"{tmp_path}/measuring.lock: its file system has no locks (Function not" in said[0]
    with processes.locked(tmp_path / "builds" / "x.lock"):
        pass


def test_a_lock_of_another_user_that_can_only_be_read_keeps_out_and_is_taken(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "measuring.lock").write_text("process 1")
    opened = Path.open

    def denied(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if path.name == "measuring.lock" and mode != "r":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", denied)
    with alone.measuring_alone(tmp_path):
        monkeypatch.setattr(alone, "MACHINE", f"{alone.MACHINE}-of-another")
        with (pytest.raises(Busy, match=r"another evenbench session \(process 1\)"), alone.measuring_alone(tmp_path)):
            pass
    assert "process 1" == (tmp_path / "measuring.lock").read_text()


def test_a_session_that_was_killed_keeps_nobody_out(tmp_path: Path) -> None:
    program = ("import os, sys; from pathlib import Path; from runner.measuring import alone; "
               "alone.MACHINE = sys.argv[2]; alone.measuring_alone(Path(sys.argv[1])).__enter__(); "
               "os.kill(os.getpid(), 9)")
    words = [sys.executable, "-c", program, str(tmp_path), alone.MACHINE]
    assert -9 == subprocess.run(words, check=False).returncode
    with alone.measuring_alone(tmp_path):
        pass
