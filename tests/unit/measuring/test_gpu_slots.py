"""Cells on different GPUs at once: a machine of two or four GPUs, workers that wait for each other."""

import threading
from pathlib import Path
from typing import Any

import pytest

from runner.errors import InputError, Stopped
from runner.launchers.compose import ComposeLauncher
from runner.launchers.venv import VenvLauncher
from runner.machine import gpus, nvml
from runner.measuring import job
from runner.measuring.bench import Bench
from runner.measuring.session.gpu_slots import free_for
from runner.planning.plan import Wishes, plan
from runner.results import store
from tests import fake_session
from tests.fake_nvml import RTX, V100, FakeNvml
from tests.fake_session import endings, job_of, run
from tests.fakes import MACHINE, good_lines, stack, study
from workloads.spec.cell import Cell

PATIENCE = 5.0
STACKS = {name: stack(name, devices=("cpu", "gpu")) for name in ("a", "b")}
TWO, FOUR = nvml.observe(FakeNvml(*RTX)), nvml.observe(FakeNvml(*V100))


class Seen:
    """Which GPUs each run was given, and how many ran at once."""

    def __init__(self) -> None:
        self.given: list[tuple[str, ...]] = []
        self.now = self.most = 0
        self.lock = threading.Lock()


def bench(folder: Path, found: gpus.Gpus, script: Any, rounds: int = 1, **settings: Any) -> tuple[Bench, Seen]:
    seen = Seen()
    wishes = Wishes(rounds=rounds, settings={"device": "gpu", **settings})
    planned = plan(study(*STACKS), STACKS, MACHINE, wishes, lambda stack: None, found)

    def counted(cell: Cell, name: str) -> list[Any]:
        first, *middle, last = script(cell, name)

        def begin() -> bytes:
            with seen.lock:
                seen.now += 1
                seen.most = max(seen.most, seen.now)
            return first

        def end() -> bytes:
            with seen.lock:
                seen.now -= 1
            return last
        return [begin, *middle, end]

    made = fake_session.bench(folder, counted)

    def given(own: gpus.Gpus) -> Any:
        seen.given.append(tuple(gpu.uuid for gpu in own.gpus))
        return made.launcher

    made.launcher.with_gpus = given  # type: ignore[method-assign]
    return made._replace(plan=planned, stacks=STACKS, side_by_side=found), seen


def meeting(count: int) -> Any:
    """A script whose runs go on only once so many are there."""
    barrier = threading.Barrier(count, timeout=PATIENCE)

    def meet() -> bytes:
        barrier.wait()
        return good_lines()[1]
    return lambda cell, name: [good_lines()[0], meet, *good_lines()[2:]]


@pytest.mark.parametrize(("here", "at_once", "settings", "given"), [
    (TWO, 2, {}, {("GPU-r0",), ("GPU-r1",)}), (TWO, 1, {"gpus": 2}, {("GPU-r0", "GPU-r1")}),
    (FOUR, 2, {"gpus": 2}, {("GPU-v0", "GPU-v1"), ("GPU-v2", "GPU-v3")}),
    (TWO, 1, {"device": "cpu"}, {("GPU-r0", "GPU-r1")})])
def test_cells_run_at_once_where_the_machine_has_gpus_for_them_and_round_by_round(
        tmp_path: Path, here: gpus.Gpus, at_once: int, settings: dict[str, Any], given: set[tuple[str, ...]]) -> None:
    made, seen = bench(tmp_path / "r", here, meeting(at_once), rounds=3, **settings)
    assert run(made)
    records = list(store.read(tmp_path / "r"))
    rounds = [record["run"].split(".")[1] for record in records if record["event"] in ("begin", "ending")]

    assert (given, at_once) == (set(seen.given), seen.most)
    assert rounds == sorted(rounds)
    assert {bool(given)} == {"gpus_in_parallel" in record["place"] for record in records if record["event"] == "begin"}


def test_runs_side_by_side_all_end_as_killed_where_the_user_asks_to_stop(tmp_path: Path) -> None:
    asked, met = threading.Event(), meeting(2)

    def script(cell: Cell, name: str) -> list[Any]:
        def ask() -> bytes:
            asked.set()
            return good_lines()[2]
        return [*met(cell, name)[:2], ask, good_lines()[3]]

    made, _ = bench(tmp_path / "r", TWO, script, rounds=2)
    with pytest.raises(Stopped):
        run(made._replace(is_stopping=asked.is_set))
    assert ["killed", "killed"] == endings(tmp_path / "r")
    assert {"event": "closed", "reason": "interrupted"} == list(store.read(tmp_path / "r"))[-1]


def test_a_cell_gets_gpus_that_are_free_in_the_machine_s_order() -> None:
    wishes = Wishes(settings={"device": "gpu"})
    planned = plan(study(*STACKS), STACKS, MACHINE, wishes, lambda stack: None, TWO).cells[0]
    first, second = TWO.gpus
    assert [(first,), (second,), ()] == [free_for(planned, STACKS["a"], TWO, taken)
                                         for taken in ((), (first,), (second, first))]


def test_the_launcher_gives_a_run_its_own_gpus_alone(tmp_path: Path) -> None:
    launcher = VenvLauncher(tmp_path, TWO)
    own = TWO._replace(gpus=TWO.gpus[1:])
    divided: Any = launcher.with_gpus(own)
    assert (own, TWO) == (divided._gpus, launcher._gpus)


def test_one_gpu_or_a_launcher_that_gives_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--gpus-in-parallel: found 1 GPU, expected two or more"):
        job.check_side_by_side(job_of(VenvLauncher(tmp_path), gpus=TWO._replace(gpus=TWO.gpus[:1])))
    with pytest.raises(InputError, match="--gpus-in-parallel: found launcher compose, expected docker or venv"):
        job.check_side_by_side(job_of(ComposeLauncher(("127.0.0.1", 0)), gpus=TWO))
