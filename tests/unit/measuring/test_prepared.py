"""Stacks before a session: environments are made two at once, images one by one; one that cannot be is skipped."""

import threading
from pathlib import Path

import pytest

from runner.datasets.choice import Data
from runner.errors import BuildFailed, DiskFull
from runner.launchers.protocol import Launcher
from runner.launchers.venv import VenvLauncher
from runner.machine import nvml
from runner.measuring import job
from runner.measuring.request import Request
from runner.planning.plan import Wishes, plan
from runner.stacks import definition
from tests.clock import FakeClock
from tests.fake_nvml import V100, FakeNvml
from tests.fakes import MACHINE, FakeLauncher, good_lines, study
from tests.fakes import stack as made_stack

STACKS = {name: made_stack(name) for name in ("a", "b", "c")}


class Builder:
    """Builds; what fails, and in which threads, each of which waits for another one unless it is the caller's."""

    def __init__(self, **failures: Exception) -> None:
        self.failures, self.caller = failures, threading.get_ident()
        self.threads: set[int] = set()
        self.together = threading.Event()

    def build(self, stacks: list[definition.Stack]) -> None:
        self.threads.add(threading.get_ident())
        if len(self.threads) == 2:
            self.together.set()
        assert threading.get_ident() == self.caller or self.together.wait(60)
        if error := self.failures.get(stacks[0].name):
            raise error


class Environments(VenvLauncher):
    """A launcher of virtual environments that a Builder makes."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(Path("unused"))
        self.builder = builder

    def prepare(self, stacks: list[definition.Stack], say: job.Say) -> None:
        self.builder.build(stacks)


class Images(FakeLauncher):
    """A launcher of images that a Builder makes."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(FakeClock(step=0.001), lambda cell, name: good_lines())
        self.builder = builder

    def prepare(self, stacks: list[definition.Stack], say: job.Say) -> None:
        self.builder.build(stacks)


def job_of(launcher: Launcher) -> job.Job:
    made = plan(study(*STACKS), STACKS, MACHINE, Wishes(rounds=1), lambda each: None)
    asked = Request("s", None, "auto", None, Wishes(rounds=1))
    return job.Job(asked, made, STACKS, launcher, MACHINE, Data("digits32", Path("d")))


def test_environments_are_made_two_at_once_and_images_one_by_one() -> None:
    together, alone = Builder(), Builder()
    job.prepared(job_of(Environments(together)), lambda text: None)
    job.prepared(job_of(Images(alone)), lambda text: None)

    assert 2 == len(together.threads) and {alone.caller} == alone.threads


@pytest.mark.parametrize("launcher", [Environments, Images])
def test_a_full_disk_ends_the_session(launcher: type[Environments | Images]) -> None:
    with pytest.raises(DiskFull):
        job.prepared(job_of(launcher(Builder(a=DiskFull("full")))), lambda text: None)


@pytest.mark.parametrize("launcher", [Environments, Images])
def test_a_stack_that_cannot_be_built_is_skipped_with_the_reason(launcher: type[Environments | Images]) -> None:
    said: list[str] = []
    prepared = job.prepared(job_of(launcher(Builder(b=BuildFailed("no wheel")))), said.append)

    assert ["a", "c"] == [planned.cell.stack for planned in prepared.plan.cells]
    assert ["no wheel"] == [skip.reason for skip in prepared.plan.skipped] and ["b: no wheel"] == said


def test_where_none_can_be_built_the_first_reason_is_told() -> None:
    failures = {name: BuildFailed(f"{name} is broken") for name in STACKS}
    with pytest.raises(BuildFailed, match="a is broken"):
        job.prepared(job_of(Environments(Builder(**failures))), lambda text: None)


class OnGpus(Images):
    """Images, that can be planned for without an engine; remembers what it built."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.built: list[str] = []

    def prepare(self, stacks: list[definition.Stack], say: job.Say) -> None:
        self.built += [each.name for each in stacks]
        super().prepare(stacks, say)


def test_where_a_gpu_s_stack_cannot_be_built_its_cells_run_where_their_scale_has_them(
        monkeypatch: pytest.MonkeyPatch) -> None:
    here = nvml.observe(FakeNvml(V100[0]))
    monkeypatch.setattr(job.nvml, "observe", lambda: here)
    launcher = OnGpus(Builder(**{"tf-2.5-gpu": BuildFailed("no wheel")}))
    monkeypatch.setattr(job.choose, "for_stacks", lambda *asked: launcher)
    moved, there = (study("tf-2.5", device=device)._replace(forms={"tf-2.5": ("tf-2.5-gpu",)})
                    for device in ("cpu", "gpu"))
    planned = job.planned_study(moved, Request("s"), lambda text: None, there=lambda: there)
    prepared = job.prepared(planned, lambda text: None)

    assert [("tf-2.5-gpu", "gpu")] == [(each.cell.stack, each.cell.device) for each in planned.plan.cells]
    assert [("tf-2.5", "cpu")] == [(each.cell.stack, each.cell.device) for each in prepared.plan.cells]
    assert ["tf-2.5-gpu", "tf-2.5"] == launcher.built
