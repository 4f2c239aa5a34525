"""Stacks before a session: environments are made two at once, images one by one; one that cannot be is skipped."""

import threading
from itertools import count
from pathlib import Path

import pytest

from runner import paths
from runner.errors import BuildFailed, DiskFull
from runner.launchers.venv import VenvLauncher
from runner.machine import nvml
from runner.measuring import at_once, building, job
from runner.measuring.bench import Request
from runner.stacks import definition
from tests.clock import FakeClock
from tests.fake_nvml import V100, FakeNvml
from tests.fake_session import job_of
from tests.fakes import FakeLauncher, quiet, study

NO_WHEEL = BuildFailed("no wheel")


class Builder(FakeLauncher):
    """Builds; what fails, and in which threads, each of which waits for another one unless it is the caller's."""

    def __init__(self, builds_at_once: int = 1, **failures: Exception) -> None:
        super().__init__(FakeClock(step=0.001))
        self.builds_at_once, self.failures, self.caller = builds_at_once, failures, threading.get_ident()
        self.threads: set[int] = set()
        self.together = threading.Event()
        self.built: list[str] = []

    def prepare(self, stacks: list[definition.Stack], say: job.Say) -> None:
        self.built += [each.name for each in stacks]
        self.threads.add(threading.get_ident())
        if len(self.threads) == 2:
            self.together.set()
        assert threading.get_ident() == self.caller or self.together.wait(60)
        if error := self.failures.get(stacks[0].name):
            raise error


def test_environments_are_made_two_at_once_and_images_one_by_one() -> None:
    together, one = Builder(VenvLauncher.builds_at_once), Builder(FakeLauncher.builds_at_once)
    for each in (together, one):
        building.prepared(job_of(each, "abc"), quiet)

    assert 2 == len(together.threads) and {one.caller} == one.threads


def test_digits_that_lie_in_a_folder_of_the_user_s_are_not_written_anew(monkeypatch: pytest.MonkeyPatch,
                                                                        tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    building.prepared(job_of(Builder(), "a"), quiet)

    assert not list(tmp_path.rglob("*.bin"))


@pytest.mark.parametrize("count_at_once", [1, 2])
def test_a_full_disk_ends_the_session(count_at_once: int) -> None:
    with pytest.raises(DiskFull):
        building.prepared(job_of(Builder(count_at_once, a=DiskFull("full")), "abc"), quiet)


@pytest.mark.parametrize("count_at_once", [1, 2])
def test_a_stack_that_cannot_be_built_is_skipped_with_the_reason(count_at_once: int) -> None:
    said: list[str] = []
    prepared = building.prepared(job_of(Builder(count_at_once, b=NO_WHEEL), "abc"), said.append)

    assert ["a", "c"] == [planned.cell.stack for planned in prepared.plan.cells]
    assert ["no wheel"] == [skip.reason for skip in prepared.plan.skipped] and ["b: no wheel"] == said


def test_where_none_can_be_built_the_first_reason_is_told() -> None:
    failures = {name: BuildFailed(f"{name} is broken") for name in "abc"}
    with pytest.raises(BuildFailed, match="a is broken"):
        building.prepared(job_of(Builder(2, **failures), "abc"), quiet)


def test_where_a_gpu_s_stack_cannot_be_built_its_cells_run_where_their_scale_has_them(
        monkeypatch: pytest.MonkeyPatch) -> None:
    here, launcher = nvml.observe(FakeNvml(V100[0])), Builder(**{"tf-2.5-gpu": NO_WHEEL})
    monkeypatch.setattr(job.nvml, "observe", lambda: here)
    monkeypatch.setattr(job.choose, "for_stacks", lambda *asked: launcher)
    moved, there = (study("tf-2.5", device=device)._replace(forms={"tf-2.5": ("tf-2.5-gpu",)})
                    for device in ("cpu", "gpu"))
    planned = job.planned_study(moved, Request("s"), quiet, there=lambda: there)
    prepared = building.prepared(planned, quiet)

    assert [("tf-2.5-gpu", "gpu")] == [(each.cell.stack, each.cell.device) for each in planned.plan.cells]
    assert [("tf-2.5", "cpu")] == [(each.cell.stack, each.cell.device) for each in prepared.plan.cells]
    assert ["tf-2.5-gpu", "tf-2.5"] == launcher.built


def test_of_a_user_s_file_the_columns_of_a_stack_that_cannot_be_built_are_left_out(
        monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = Builder(**{"torch-2.13-own": NO_WHEEL})
    monkeypatch.setattr(job.choose, "for_stacks", lambda *asked: launcher)
    file = str(paths.STUDIES / "models" / "torch.py")
    planned = job.planned(Request(file, models=(file,)), quiet)
    prepared = building.prepared(planned, quiet)

    columns = {each.cell.stack for each in planned.plan.cells}
    assert {"onnxruntime", "openvino"} == columns - {each.cell.stack for each in prepared.plan.cells}
    assert {("onnxruntime", "no wheel"), ("openvino", "no wheel")} == {
        (each.cell.stack, each.reason) for each in prepared.plan.skipped if each.reason == "no wheel"}


@pytest.mark.parametrize("count_at_once", [1, 2])
def test_results_come_in_order_and_after_an_error_what_had_not_begun_is_left(count_at_once: int) -> None:
    begun = count()

    def failing(number: int) -> None:
        next(begun)
        raise ValueError(number)

    assert [0, 1, 4, 9] == at_once.each(count_at_once, lambda number: number * number, range(4))
    with pytest.raises(ValueError, match="0"):
        at_once.each(count_at_once, failing, range(100))
    assert next(begun) < 100
