"""Libraries of models beside the data: made once, made anew for another lock, and never half."""

import subprocess
import sys
from pathlib import Path

import pytest

from runner.stacks.definition import Stack
from tests.fakes import quiet
from tests.made_wheel import lock_of_wheel, stack_of_wheels
from tools import peers


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    made = stack_of_wheels(tmp_path, monkeypatch)
    peers.lock(made).write_text(lock_of_wheel(tmp_path / "wheels", "visionary"))
    return made


def test_what_is_locked_can_be_imported_from_a_folder_named_as_the_stack(stack: Stack, tmp_path: Path) -> None:
    home = peers.ready(stack, tmp_path / "cache", quiet)

    assert tmp_path / "cache/peers/torch-9" == home
    program = "import sys; sys.path.append(sys.argv[1]); import visionary; print(visionary.IS_HERE)"
    assert b"True\n" == subprocess.check_output([sys.executable, "-c", program, str(home)])


def test_the_same_lock_is_installed_once_and_another_one_anew(stack: Stack, tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        home = peers.ready(stack, tmp_path / "cache", said.append)
    assert 1 == len(said)

    peers.lock(stack).write_text(lock_of_wheel(tmp_path / "wheels", "other"))
    assert home == peers.ready(stack, tmp_path / "cache", said.append)
    assert home is not None and (home / "other.py").exists() and not (home / "visionary.py").exists()


def test_what_a_killed_install_left_is_no_library(stack: Stack, tmp_path: Path) -> None:
    left = tmp_path / "cache/peers/torch-9"
    left.mkdir(parents=True)
    (left / "visionary.py").write_text("IS_HERE = False\n")

    home = peers.ready(stack, tmp_path / "cache", quiet)

    assert home is not None and "IS_HERE = True\n" == (home / "visionary.py").read_text()


def test_a_stack_without_a_lock_has_none(stack: Stack, tmp_path: Path) -> None:
    peers.lock(stack).unlink()
    assert peers.ready(stack, tmp_path / "cache", quiet) is None
    assert not (tmp_path / "cache").exists()
