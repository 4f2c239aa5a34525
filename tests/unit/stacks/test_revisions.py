"""Environments of git revisions: what is no revision or no package is refused; one is installed once, and kept."""

import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.stacks import revisions
from tests.made_files import files


def git(folder: Path, *words: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.check_output(["git", *named, *words], cwd=folder, text=True, stderr=subprocess.PIPE).strip()


def committed(folder: Path, name: str) -> Path:
    """The folder, with a revision more that has such a file."""
    files(folder, {name: ""})
    git(folder, "init", "--quiet")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", name)
    return folder


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, which has a revision of one file."""
    folder = committed(tmp_path / "checkout", "a")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("checkout")
def test_what_is_no_revision_or_no_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"git:HEAD: found neither pyproject\.toml .*checkout, expected a package"):
        revisions.installed("git:HEAD", tmp_path / "cache", print)
    for word in ("git:nowhere", "git:--help", "git:"):
        with pytest.raises(InputError, match=f"{word}: found no such revision"):
            revisions.installed(word, tmp_path / "cache", print)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="git:HEAD: found no such revision"):
        revisions.installed("git:HEAD", tmp_path / "cache", print)


def test_a_revision_s_environment_is_made_once(checkout: Path, tmp_path: Path) -> None:
    commit = git(committed(checkout, "pyproject.toml"), "rev-parse", "HEAD")
    made = tmp_path / "cache/git" / "{}-{}.{}".format(commit[:16], *sys.version_info[:2])
    files(made, {"complete": ""})

    assert str(made) == revisions.installed("git:HEAD", tmp_path / "cache", pytest.fail)
