"""Containers of Apptainer: what they are started with, how they end, and what becomes of their image files."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.errors import BuildFailed, InputError
from runner.launchers import apptainer, choose
from runner.launchers.apptainer import ApptainerLauncher
from runner.launchers.watchdog import Ending, follow, limits
from runner.machine import gpus
from runner.stacks import definition, sif
from tests.fake_apptainer import FakeApptainer, install
from tests.fakes import good_lines
from workloads.places import apptainer_place
from workloads.spec.cell import Cell
from workloads.spec.cluster import OUT_OF_MEMORY

TORCH = definition.read_all(paths.STACKS)["torch-1.7"]
MEMORY = 2 * 10**9
ARCHIVE = "docker-archive:/image.tar"
GOOD = b"".join(good_lines()).decode()
cell = Cell(TORCH.name, "lenet5", "train", cpus=1, memory_bytes=MEMORY, batch=42)._replace


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeApptainer:
    made = install(monkeypatch, tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))      # nobody else's leftovers are swept
    made.says(lines=GOOD, labels={"org.evenbench.fingerprint": TORCH.made_of(), "org.evenbench.base": "b",
                                  "org.evenbench.base-is-default": "true"})
    return made


@pytest.fixture
def launcher(fake: FakeApptainer, tmp_path: Path) -> ApptainerLauncher:
    sif.ready(TORCH, tmp_path, source=ARCHIVE)
    return ApptainerLauncher(cache=tmp_path)


def went(launcher: ApptainerLauncher, of: Cell, padding: int = 0) -> tuple[dict[str, Any], Ending]:
    """The record of a run, and how it ended."""
    running = launcher.start(of, TORCH, Path("/d"), "k.0.1", padding=padding)
    *_, ending = follow(running, limits(of), time.monotonic)
    running.stop()
    return running.place, ending


def value(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def test_a_container_has_its_limits_no_network_and_the_data_alone(launcher: ApptainerLauncher, fake: FakeApptainer
                                                                  ) -> None:
    record, ending = went(launcher, cell(), padding=3)

    [words] = [call for call in fake.calls("exec") if "true" not in call]
    assert "ok" == ending.word
    assert set(apptainer._CONFINED) < set(words)
    assert ("none", str(MEMORY), str(MEMORY)) == tuple(
        value(words, option) for option in ("--network", "--memory", "--memory-swap"))
    assert ["/d:/data:ro", "/sys/fs/cgroup:/mnt/cgroup:ro"] == value(words, "--bind").split(",")
    assert value(words, "--home").endswith(":/tmp") and not Path(value(words, "--home")[:-5]).exists()
    assert "EVENBENCH_PADDING=xxx" == value(words, "--env")
    assert ["python", "-m", "workloads.places.apptainer_place", "/mnt/cgroup", "workloads"] == words[-6:-1]
    assert ("apptainer", "apptainer", "b", True, "group") == tuple(record[key] for key in (
        "launcher", "isolation", "base", "base_is_default", "memory_limited_by"))
    assert record["image"].startswith("sha256:") and "apptainer version 1.4.5" == record["engine"]


def test_without_control_groups_each_process_is_limited_and_that_is_said_once(
        launcher: ApptainerLauncher, fake: FakeApptainer) -> None:
    fake.says(groups="cannot use cgroups - systemd not running")
    said: list[str] = []
    launcher.prepare([TORCH], said.append)

    records = [went(launcher, cell())[0] for _ in range(2)]

    assert ["process"] * 2 == [record["memory_limited_by"] for record in records]
    assert ["apptainer: no control groups here (cannot use cgroups - systemd not running): each process's memory is "
            "limited instead"] == said
    words = fake.calls("exec")[-1]
    assert "--memory" not in words and "/d:/data:ro" == value(words, "--bind")


def test_places_of_one_run_tell_each_other_by_the_host_s_network(launcher: ApptainerLauncher, fake: FakeApptainer
                                                                 ) -> None:
    went(launcher, cell(nodes=2, parallel=TORCH.mode("sync")))

    calls = [call for call in fake.calls("exec") if "true" not in call]
    assert 2 == len(calls) and not any("--net" in words for words in calls)
    assert {"EVENBENCH_RANK=0", "EVENBENCH_RANK=1"} == {word for words in calls for word in words if "RANK" in word}


@pytest.mark.parametrize(("code", "word"), [(OUT_OF_MEMORY, "oom"), (137, "killed"), (255, "died")])
def test_an_exit_code_says_how_a_worker_went(launcher: ApptainerLauncher, fake: FakeApptainer, code: int, word: str
                                             ) -> None:
    fake.says(lines=GOOD.splitlines(keepends=True)[0], exit=code)
    assert word == went(launcher, cell())[1].word


def test_the_machine_must_have_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    made = choose.for_stacks("apptainer", print, gpus.NONE, [TORCH])
    assert "no apptainer or singularity on PATH: install Apptainer 1.1 or newer (docs/apptainer.md)" == made.missing(
        TORCH)


@pytest.mark.parametrize("source", ["docker://r/evenbench:torch-1.7", "docker-daemon:evenbench:torch-1.7", "x.sif"])
def test_an_image_is_pulled_by_its_digest(fake: FakeApptainer, tmp_path: Path, source: str) -> None:
    with pytest.raises(InputError, match=r'--from: found ".*", expected docker://NAME@sha256:DIGEST, docker-archive:'):
        sif.ready(TORCH, tmp_path, source=source)
    assert not fake.calls("build")


def test_an_image_of_another_stack_or_checkout_is_refused_and_gone(fake: FakeApptainer, tmp_path: Path) -> None:
    fake.says(labels={"org.evenbench.fingerprint": "0" * 64})
    with pytest.raises(InputError, match=r"found fingerprint 0{12}, expected \w{12} of stack torch-1\.7"):
        sif.ready(TORCH, tmp_path, source=ARCHIVE)
    assert [] == list((tmp_path / "sif").glob("**/*.sif"))


def test_a_build_that_fails_leaves_nothing_that_looks_whole(fake: FakeApptainer, tmp_path: Path) -> None:
    fake.says(build=1)
    with pytest.raises(BuildFailed, match=r"torch-1\.7: exit status 1 \(log: "):
        sif.ready(TORCH, tmp_path, source=ARCHIVE)
    fake.says(build=0)
    assert sif.path(TORCH, tmp_path) == sif.ready(TORCH, tmp_path, source=ARCHIVE).path
    sif.ready(TORCH, tmp_path, source=ARCHIVE)
    assert 2 == len(fake.calls("build"))                         # what is there is not made again


def test_pruning_keeps_the_files_of_the_stacks_as_they_are(fake: FakeApptainer, tmp_path: Path) -> None:
    file = sif.ready(TORCH, tmp_path, source=ARCHIVE).path
    old = file.with_name("torch-1.7-000000000000.sif")
    old.touch()
    said: list[str] = []
    sif.prune([TORCH], tmp_path, said.append)
    assert (True, False, [f"{old.name}: removed"]) == (file.exists(), old.exists(), said)


@pytest.mark.parametrize(("kills", "signalled", "code"), [(1, True, OUT_OF_MEMORY), (0, True, 137), (1, False, 3)])
def test_a_worker_that_was_killed_for_memory_leaves_with_a_code_of_its_own(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kills: int, signalled: bool, code: int) -> None:
    group = apptainer_place.control_groups.memory_group(root=str(tmp_path))
    Path(group).mkdir(parents=True, exist_ok=True)
    Path(group, "memory.events").write_text(f"oom_kill {kills}\n")
    (tmp_path / "worker.py").write_text(f"import os, sys\nos.kill(os.getpid(), {int(signal.SIGKILL)})\n" if signalled
                                        else "import sys\nsys.exit(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    assert code == apptainer_place.main([str(tmp_path), "worker"])


def test_a_worker_ends_with_the_pipe_of_its_runner(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text("import time\ntime.sleep(60)\n")
    place = subprocess.Popen([sys.executable, "-m", "workloads.places.apptainer_place", str(tmp_path), "worker"],
                             stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": f"{paths.ROOT}:{tmp_path}"})
    with pytest.raises(subprocess.TimeoutExpired):
        place.wait(0.5)
    place.stdin.close()
    assert 137 == place.wait(10)


def test_the_place_says_how_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == apptainer_place.main(["/groups"])
    assert "usage: " in capsys.readouterr().err
