"""Workers in real containers of Apptainer: what they may do, how they end, and what a killed runner leaves."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from runner import paths
from runner.launchers.apptainer import ApptainerLauncher
from runner.launchers.process_groups import ProcessRunning
from runner.launchers.watchdog import Ending, limits
from runner.machine import host
from runner.results import store
from tests.engine import apptainer_lab, runs
from tests.lifetimes import eventually
from workloads.spec.cell import Cell

pytestmark = pytest.mark.slow(2)
STACK = runs.STACKS[runs.SMALL]
cell = runs.cell(steps=6, warmup=2, batch=42, input="synthetic")._replace
GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    with apptainer_lab.installed(tmp_path_factory.mktemp("apptainer")) as found:
        yield found


@pytest.fixture(params=[False, True], ids=["groups", "no groups"])
def launcher(settings: Path | None, request: pytest.FixtureRequest) -> ApptainerLauncher:
    """One with control groups, and one without: this machine's systemd does not run."""
    if settings is None or os.geteuid() != 0:
        pytest.skip("the machine's own Apptainer has settings of its own")
    apptainer_lab.set_groups(settings, is_systemd=request.param)
    made = ApptainerLauncher(cache=paths.cache_folder())
    made.prepare([STACK], print)
    return made


def went(launcher: ApptainerLauncher, of: Cell, seen: Callable[[ProcessRunning], Any] = lambda running: None) -> Ending:
    """How a run ended that was looked at, or hurt, once it trained."""
    running = launcher.start(of, STACK, Path("/tmp"), "k.0.1")
    return runs.followed(running, limits(of), lambda: seen(running)).ending


def workers() -> list[psutil.Process]:
    """The processes in containers that descend from this one; other sessions of the host are none of ours."""
    return [each for each in psutil.Process().children(recursive=True) if is_worker(each)]


def is_worker(process: psutil.Process) -> bool:
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return " -m workloads" in words and "train" in words


def left() -> list[str]:
    """What no run may leave: processes, control groups, temporary folders of ours."""
    return [*(f"{each.pid}" for each in workers()), *map(str, GROUPS.glob("**/apptainer/*/")),
            *map(str, Path("/tmp").glob(f"evenbench-{os.getpid()}-*"))]


def test_a_worker_may_write_nowhere_and_has_nobody_s_rights(launcher: ApptainerLauncher) -> None:
    told: list[str] = []

    def look(running: ProcessRunning) -> None:
        worker = workers()[-1]
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{worker.pid}/status").read_text().splitlines())
        told.extend([status["CapEff"], status["CapBnd"], status["NoNewPrivs"]])
        assert 1 == len(worker.cpu_affinity())
        networks = Path(f"/proc/{worker.pid}/net/dev").read_text().splitlines()[2:]
        assert ["lo"] == [line.split(":")[0].strip() for line in networks]
        mounts = [line.split() for line in Path(f"/proc/{worker.pid}/mounts").read_text().splitlines()]
        assert {"/": "ro", "/data": "ro"} == {where: options.split(",")[0] for _, where, _, options, *_ in mounts
                                              if where in ("/", "/data")}
        assert "/root" not in {where for _, where, *_ in mounts}
        has_group = "apptainer" in Path(f"/proc/{worker.pid}/cgroup").read_text()
        assert has_group == ("group" == running.place["memory_limited_by"])

    assert ("ok", "") == went(launcher, cell(steps=300), look)[:2]
    assert ["0" * 16, "0" * 16, "1"] == told
    assert [] == left()


def test_three_nodes_train_together(launcher: ApptainerLauncher) -> None:
    assert ("ok", "") == went(launcher, cell(nodes=3, parallel=STACK.mode("sync")))[:2]
    assert [] == left()


def test_more_memory_than_the_limit_is_out_of_memory(launcher: ApptainerLauncher) -> None:
    assert "oom" == went(launcher, cell(task="resnet50", batch=64, image=224, memory_bytes=host.GIB // 2)).word
    assert [] == left()


def test_a_worker_that_is_killed_is_killed(launcher: ApptainerLauncher) -> None:
    assert "killed" == went(launcher, cell(steps=10**6), lambda running: workers()[-1].kill()).word
    assert [] == left()


def test_a_session_runs_to_its_summary_and_a_killed_one_leaves_no_worker(launcher: ApptainerLauncher, tmp_path: Path
                                                                         ) -> None:
    command = [sys.executable, "-m", "runner", "run", "quick/train", "--stack", STACK.name, "--launcher", "apptainer",
               "--rounds", "1", "--results", str(tmp_path)]
    runner = subprocess.Popen(command, cwd=paths.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    held = eventually(workers, 120.0)       # Apptainer's own, which end soon, count as well
    assert held
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert [] == psutil.wait_procs(held, 10)[1]

    ended = subprocess.run(command, cwd=paths.ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode in (0, 4), ended.stderr          # 4: other programs kept its one round from counting
    (folder,) = tmp_path.glob("*-quick-*")
    [*_, ending, _] = store.read(folder)
    assert ("ending", "ok") == (ending["event"], ending["ending"])
