"""`evenbench list`: tasks in a table, results, and the studies' cells that `evenbench run` measures on this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner import leftovers, paths
from runner.application import listing
from runner.cli import app
from runner.machine import gpus, host, nvml
from runner.planning.plan import Wishes, plan
from runner.stacks import definition
from runner.study import file
from tests import made_rows as made
from tests.fake_nvml import V100, FakeNvml
from workloads.spec import tasks

MOVED = """
[study]
id = "moved"
title = "T"
scales = ["quick", "paper"]
forms = { "torch-1.4" = ["torch-1.7"] }
[[experiment]]
id = "e"
measure = "train"
task = "lenet5"
device = "gpu"
stacks = ["torch-1.4"]
scale.quick = { steps = 5, device = "cpu" }
"""
ONE_GPU = nvml.observe(FakeNvml(V100[0]))


def test_tasks_of_both_kinds_stand_in_one_table() -> None:
    shown = CliRunner().invoke(app, ["list", "tasks"])
    rows = {line.split()[0]: line.split()[-2:] for line in shown.stdout.splitlines()[2:]}

    assert set(rows) >= set(tasks.NAMES)
    assert ["224", "1000"] == rows["resnet50"]
    assert ["-", "-"] == rows["gnmt"]


def test_results_are_listed_with_what_a_killed_runner_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "ssh://another-machine")
    program = "import os; from runner import leftovers; kept = leftovers.temporary_folder(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    words = ["list", "results", "--results", str(tmp_path), "--json", "-"]

    with leftovers.temporary_folder():
        told = CliRunner().invoke(app, words)
    assert "left behind: 1 temporary folder of runners that are gone" in told.stderr
    assert {"schema": 1, "rows": []} == json.loads(told.stdout)
    assert "left behind" not in CliRunner().invoke(app, ["list", "stacks"]).stderr


@pytest.mark.parametrize(("here", "on_gpu"), [(ONE_GPU, True), (gpus.NONE, False)], ids=["a GPU", "no GPU"])
def test_what_a_scale_moves_to_the_cpu_is_done_where_it_ran_on_the_machine_s_device(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: gpus.Gpus, on_gpu: bool) -> None:
    (tmp_path / "moved.toml").write_text(MOVED)
    monkeypatch.setattr(nvml, "observe", lambda: here)
    stacks = definition.read_all(paths.STACKS)
    cells = [each.cell for each in plan(file.read("moved", tmp_path, "quick", on_gpu), stacks, host.observe(), Wishes(),
                                        lambda stack: None, ONE_GPU).cells]
    runs = (record for cell in cells for record in made.run(
        cell, 0, place={**made.PLACE, "fingerprint": stacks[cell.stack].made_of()}))
    made.kept(tmp_path / "results" / "r", made.session(), made.plan(*cells), *runs)
    [row] = listing.studies(tmp_path / "results", None, paths.Places((tmp_path,)))

    assert ("moved/e", "quick", 1, 1, 0) == tuple(
        row[name] for name in ("experiment", "scale", "cells", "done", "missing"))
