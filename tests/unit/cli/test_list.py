"""`evenbench list` shows every task, images and sequences in one table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner import leftovers
from runner.cli import app
from workloads.spec import tasks


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
    assert "left behind: 1 temporary folder of runners that are gone" in told.stderr and "[]" == told.stdout.strip()
    assert "left behind" not in CliRunner().invoke(app, ["list", "stacks"]).stderr
