"""`evenbench blame` and the GitHub action to their ends, in environments of packages that were made for it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.stacks import mixing
from tests import own_environment

pytestmark = [pytest.mark.measures, pytest.mark.slow(1)]
EVENBENCH = [sys.executable, "-m", "runner"]
STEP = """
import harmless0, slowly

def setup():
    return 5_000

def step(count):
    return slowly.work(count)
"""
SLEEP = """
import time
import slowly

def setup(length):
    return (1 + 0.6 * length if slowly.SHARE == 1 else 2.4 + 0.2 * length) / 1000

def step(seconds):
    time.sleep(seconds)
"""
WORK = """
SHARE = {share}

def work(count):
    total = 0
    for index in range(int(count * {share})):
        total += index % 7
    return 1
"""


def environment(folder: Path, version: str, share: float) -> Path:
    """One with numpy, one package that does so much, and two that do nothing."""
    numpy = mixing.read(Path(sys.executable)).packages["numpy"]
    mixing.made(folder, Path(sys.executable), [numpy])
    for name in ("slowly", "harmless0", "harmless1"):
        own_environment.install(folder, name, version)
    (file,) = folder.glob("lib/python3*/site-packages/slowly/__init__.py")
    file.write_text(WORK.format(share=share))
    return folder


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return environment(tmp_path / "old", "1.0", 1), environment(tmp_path / "new", "2.0", 2)


def evenbench(*words: str | Path, cache: Path) -> dict[str, Any]:
    """What the command says as JSON."""
    ended = subprocess.run([*EVENBENCH, *words, "--set", "seconds=0.1", "--launcher", "venv", "--wait", "--json", "-"],
                           env={**os.environ, "XDG_CACHE_HOME": str(cache), "PIP_NO_INDEX": "1"},
                           capture_output=True, text=True, check=False)
    assert 0 == ended.returncode, ended.stderr
    return dict(json.loads(ended.stdout))


def test_the_package_that_slows_a_step_is_named_and_proved_twice(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(STEP)
    words, cache = ["blame", *pair, "--model", tmp_path / "mine.py", "--results", tmp_path / "a"], tmp_path / "cache"

    told, again = evenbench(*words, cache=cache), evenbench(*words, "--minutes", "9", cache=cache)

    assert "slowly 1.0 -> 2.0: the reason why new is slower." == told["conclusion"]
    (reason,) = told["reasons"]
    assert reason["is_proved"] and 0.4 < reason["into_old_alone"]["ratio"] < 0.6 < 0.9 < reason["out_of_new"]["ratio"]
    assert ["harmless0", "slowly"] == told["loaded"]
    assert (told["reasons"], 0) == (again["reasons"], again["environments"])           # all of it was known
    assert not [*cache.glob("**/bin/python")]


def test_a_sweep_says_from_which_value_on_the_other_environment_is_faster(pair: tuple[Path, Path], tmp_path: Path
                                                                          ) -> None:
    (tmp_path / "mine.py").write_text(SLEEP)
    words = ["run", tmp_path / "mine.py", "--stack", f"old={pair[0]}", "--stack", f"new={pair[1]}", "--sweep",
             "length=1..5", "--results", tmp_path / "results"]

    told, again = (evenbench(*words, cache=tmp_path / "cache") for _ in range(2))

    assert told == again and [1, 3, 4, 5] == [each["value"] for each in told["points"]]
    assert (4, [3, 4]) == (told["crossing"], told["between"])
    (page,) = (tmp_path / "results").glob("*/crossing.html")
    assert told["conclusion"] in page.read_text()


def steps() -> list[str]:
    """The shell scripts of action.yml's steps."""
    text = (paths.ROOT / "action.yml").read_text()
    return [re.sub(r"^ {8}", "", each, flags=re.MULTILINE)
            for each in re.findall(r"^      run: \|\n((?: {8}.*\n|\n)+)", text, re.MULTILINE)]


def test_the_steps_of_the_action_run_as_they_stand(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(STEP)
    (tmp_path / "evenbench" / "bin").mkdir(parents=True)
    (tmp_path / "evenbench" / "bin" / "evenbench").symlink_to(Path(sys.prefix) / "bin" / "evenbench")
    install, gate = steps()
    variables = {**os.environ, "RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
                 "GITHUB_OUTPUT": str(tmp_path / "output"), "FILE": str(tmp_path / "mine.py"), "BASE": str(pair[0]),
                 "HEAD": str(pair[1]), "WITHIN": "5%", "MINUTES": "3"}

    ended = subprocess.run(["bash", "-e", "-c", gate], env=variables, capture_output=True, text=True, check=False)

    assert 1 == ended.returncode, ended.stderr
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert "slower than allowed" == outputs["answer"]
    assert "head is slower than base" in (tmp_path / "summary").read_text()
    (ratio,) = json.loads(Path(outputs["benchmark"]).read_text())
    assert 0.4 < ratio["value"] < 0.6 and "<failure" in Path(outputs["junit"]).read_text()
    assert '"$RUNNER_TEMP/evenbench/bin/pip" install' in install
