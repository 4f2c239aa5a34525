"""An image model of a user's own, from a file in a folder: measured in two frameworks, and checked equal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runner import paths
from runner.results import store
from tests.own_task import TINY

pytestmark = pytest.mark.measures
STACKS = "torch-2.13-cpu,jax-cpu"


def evenbench(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "runner", *words, "--launcher", "venv"], cwd=paths.ROOT,
                          capture_output=True, text=True, check=False)


def test_two_frameworks_compute_the_same_and_a_record_is_measured_again_without_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "tiny.py").write_text(TINY)
    results = str(tmp_path / "results")

    checked = evenbench("check", "tiny", "--tasks", str(folder), "--stack", STACKS, "--results", results, "--json", "-")
    assert 0 == checked.returncode, checked.stderr
    (verdict,) = json.loads(checked.stdout)
    assert verdict["passed"] and verdict["task"].startswith("tiny@")

    ran = evenbench("run", "quick/train", "--set", "task=tiny", "--tasks", str(folder), "--stack", STACKS, "--rounds",
                    "1", "--set", "steps=5", "--set", "warmup=1", "--set", "warm=fixed", "--set", "seconds=0",
                    "--results", results)
    assert 0 == ran.returncode, ran.stderr
    first = store.located("", Path(results))
    (comparison,) = json.loads((first / "summary.json").read_text())["comparisons"]
    assert {1_586} == {result["parameters"] for result in comparison["results"]}
    assert [] == comparison["unproved"]

    again = evenbench("rerun", first.name, "--results", results)
    assert 0 == again.returncode, again.stderr
    (repeated,) = json.loads((store.located("", Path(results)) / "summary.json").read_text())["comparisons"]
    assert comparison["key"] == repeated["key"]
