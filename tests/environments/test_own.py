"""Environments of a user's, measured for real: the ones of our locks stand for them, as if nobody had pinned them."""

import json
import subprocess
import sys
from pathlib import Path

from runner import paths
from runner.results import store
from runner.stacks import definition, environments

STACKS = definition.read_all(paths.STACKS)


def test_two_environments_are_measured_beside_each_other_and_marked(tmp_path: Path) -> None:
    pythons = {name: environments.ready(STACKS[name], paths.cache_folder()) for name in ("mxnet-1.9", "torch-2.13-cpu")}
    words = [f"{name.partition('-')[0]}={python}" for name, python in pythons.items()]
    command = [sys.executable, "-m", "runner", "run", "quick/train", "--rounds", "1", "--set", "steps=5",
               "--set", "warmup=1", "--results", str(tmp_path), "--stack", ",".join(words)]
    subprocess.run(command, cwd=paths.ROOT, check=True, capture_output=True)
    summary = json.loads((store.located("", tmp_path) / "summary.json").read_text())

    assert {"mxnet", "torch"} == {column["stack"] for column in summary["columns"]}
    results = [result for comparison in summary["comparisons"] for result in comparison["results"]]
    assert 2 == len(results) and all("not_pinned" in result["flags"] for result in results)
