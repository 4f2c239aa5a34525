"""Environments of a user's, measured for real: the ones of our locks stand for them, as if nobody had pinned them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.results import store
from runner.stacks import definition, environments

pytestmark = pytest.mark.measures
STACKS = definition.read_all(paths.STACKS)


def measured(results: Path, *words: str) -> Any:
    """The summary of a short run in such environments."""
    command = [sys.executable, "-m", "runner", "run", "quick/train", "--rounds", "1", "--set", "steps=5",
               "--set", "warmup=1", "--results", str(results), "--stack", ",".join(words)]
    ran = subprocess.run(command, cwd=paths.ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode in (0, 4), ran.stderr              # 4: other programs kept its one round from counting
    return json.loads((store.located("latest", results) / "summary.json").read_text())


@pytest.mark.slow(2)
def test_of_an_environment_with_two_frameworks_each_word_measures_its_own(tmp_path: Path) -> None:
    pythons = [environments.ready(STACKS[name], paths.cache_folder()) for name in ("jax-0.10-cpu", "torch-2.13-cpu")]
    subprocess.run([pythons[0], "-m", "venv", "--without-pip", tmp_path / "both"], check=True)
    (site,) = (tmp_path / "both").glob("lib/python3*/site-packages")
    (site / "both.pth").write_text("".join(f"{next(python.parents[1].glob('lib/python3*/site-packages'))}\n"
                                           for python in pythons))
    words = [f"{name}={tmp_path / 'both'}#{name}" for name in ("torch", "jax")]

    columns = measured(tmp_path / "results", *words)["columns"]

    assert {"torch": "pytorch", "jax": "jax"} == {column["stack"]: column["framework"] for column in columns}


def test_two_environments_are_measured_beside_each_other_and_marked(tmp_path: Path) -> None:
    pythons = {name: environments.ready(STACKS[name], paths.cache_folder()) for name in ("mxnet-1.9", "torch-2.13-cpu")}
    summary = measured(tmp_path, *(f"{name.partition('-')[0]}={python}" for name, python in pythons.items()))

    assert {"mxnet", "torch"} == {column["stack"] for column in summary["columns"]}
    results = [result for comparison in summary["comparisons"] for result in comparison["results"]]
    assert 2 == len(results) and all("not_pinned" in result["flags"] for result in results)
