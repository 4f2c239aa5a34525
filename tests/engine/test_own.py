"""An image of a user's, for real: one of ours stands for it, as if nobody had pinned it."""

from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.launchers.docker import DockerLauncher
from runner.launchers.watchdog import Ending
from runner.stacks import images
from runner.stacks.containers import own_stack
from runner.stacks.own import Asked
from tests.engine.test_runs import SMALL, STACKS, cell, heard
from tests.fakes import quiet

pytestmark = pytest.mark.engine


def test_an_image_of_the_users_runs_the_mounted_workloads(client: Any, tmp_path: Path) -> None:
    images.build(client, STACKS[SMALL], quiet)
    mine = own_stack(client, Asked("mine", "", images.tag(STACKS[SMALL])), paths.ROOT, ())
    made = DockerLauncher(client)
    made.prepare([mine], quiet)
    running = made.start(cell("mine", input="synthetic"), mine, tmp_path, "own.0.1")
    events = heard(running)

    assert Ending("ok", "") == events[-1]._replace(said={})
    assert ("mxnet", False) == (mine.framework, running.place["pinned"])
    start = next(event for event in events[:-1] if event["event"] == "start")
    assert start["facts"]["packages"]["mxnet"].startswith("1.9.1")
