"""What a runner that is gone has left is known and removed; what a living one has is not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runner import leftovers


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_this_process_lives_and_a_later_one_of_its_number_is_another() -> None:
    ticks = int(Path("/proc/self/stat").read_text().split()[21])
    assert f"{os.getpid()}-{ticks}" == leftovers.mine()
    assert leftovers.is_alive(leftovers.mine())
    assert not leftovers.is_alive(f"{os.getpid()}-{ticks + 1}")


@pytest.mark.parametrize("words", ["", "-", "x-1", "99999999-1", "1", "999999999:1.00"])
def test_words_that_name_no_process_are_of_none_that_lives(words: str) -> None:
    assert not leftovers.is_alive(words)


def test_a_killed_runner_s_folders_are_removed_and_a_living_one_s_are_not(scratch: Path) -> None:
    program = "import os; from runner import leftovers; kept = leftovers.temporary_folder(); os.kill(os.getpid(), 9)"
    left = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(scratch)}, check=False)
    assert -9 == left.returncode
    [dead] = scratch.iterdir()
    others = scratch / "evenbench-lock-torch-1.7.log"
    others.write_text("")
    said: list[str] = []
    with leftovers.temporary_folder() as living:
        leftovers.sweep_folders(said.append)
        assert {living, str(others)} == {str(path) for path in scratch.iterdir()}
    assert [f"removing {dead}, left by a runner that is gone"] == said
