"""Every command where home, cache, results or TMPDIR cannot be used: one line with path, reason and remedy, or none."""

import os
import pwd
import re
import sys
import tomllib
from pathlib import Path
from typing import NoReturn

import pytest
import requests

from runner import cli, errors, paths, processes
from runner.datasets import choice
from runner.errors import InputError
from runner.stacks import engine, environments

COMMANDS = ("help agents", "run quick --launcher venv", "plan quick", "rerun x", "why x", "init torch x.py",
            "gate --base torch-2.0 --head torch-2.13-cpu --launcher venv", "report x", "compare x y", "history",
            "blame a b --model x.py",
            "export x --csv y.csv", "curves x", "list stacks", "list results", "paper tian",
            "check --launcher venv", "images", "manifests quick --nodes 3", "data")
UNUSABLE = "/proc/none"           # no folder can be made there, by root neither


def nameless(user: int) -> NoReturn:
    raise KeyError(f"getpwuid(): uid not found: {user}")


@pytest.fixture(params=["no home", "HOME=/proc", "XDG_CACHE_HOME", "TMPDIR", "results"])
def surroundings(request: pytest.FixtureRequest, known_interpreters: None, monkeypatch: pytest.MonkeyPatch,
                 tmp_path: Path) -> str:
    """What cannot be used; nothing is built or measured in any of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "ready", stop)
    monkeypatch.setattr(engine, "connect", stop)
    if request.param == "results":
        (tmp_path / "results").write_text("a file")
    elif request.param in ("XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(request.param, UNUSABLE)
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", "/proc/no")
        if request.param == "no home":
            monkeypatch.delenv("HOME")
            monkeypatch.setattr(pwd, "getpwuid", nameless)
    return str(request.param)


def stop(*arguments: object) -> NoReturn:
    raise InputError("nothing is built in this test")


def test_all_commands_are_walked_but_those_that_ask_other_machines() -> None:
    assert {"doctor", "lock"} == {*cli.COMMANDS} - {command.split()[0] for command in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_ends_with_a_line_and_no_traceback(command: str, surroundings: str, monkeypatch: pytest.MonkeyPatch,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["evenbench", *command.split()])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("evenbench: ")]

    assert ended.value.code in (0, 1, 2)
    assert (2 == ended.value.code) == bool(lines)
    assert all("Errno" not in line for line in lines)


ABOVE_CACHE = str(paths.cache_folder().parent)


@pytest.mark.parametrize(("error", "line"), [
    (PermissionError(13, "Permission denied", "/x/y"), "^/x/y: Permission denied; name another place"),
    (OSError(30, "Read-only file system", "{cache}/venvs/a"), "^{cache}/venvs/a: Read-only .*; set XDG_CACHE_HOME to"),
    (FileNotFoundError(2, "No such file", ABOVE_CACHE), f"^{ABOVE_CACHE}: No such file; set XDG_CACHE_HOME to"),
    (OSError(28, "No space left", "{cache}/data"), "^{cache}/data: No space .*, or set XDG_CACHE_HOME to .* disk$"),
    (OSError(28, "No space left on device", "/x/y"), "^/x/y: No space .*; make room there, or name another place"),
    (FileNotFoundError(2, "No usable temporary directory found in /tmp"), "^No usable .* in /tmp: set TMPDIR to"),
    (OSError(28, "No space left on device"), "^what is printed cannot be written: No space left"),
    (PermissionError(13, "Permission denied", b"/x/\xff"), "^/x/\udcff: Permission denied; name another place"),
    (ConnectionResetError(104, "Connection reset by peer"), None),
    (requests.ReadTimeout("Read timed out."), r"engine does not answer .*\(Read timed out\.\): look at `docker info`"),
    (FileNotFoundError(2, "No such file or directory", str(paths.ROOT / "runner" / "gone.py")), None)])
def test_what_cannot_be_used_is_told_with_the_remedy_and_a_bug_is_not(error: OSError, line: str | None) -> None:
    cache = str(paths.cache_folder())
    if isinstance(error.filename, str):
        error.filename = error.filename.format(cache=cache)
    told = paths.unusable(error)
    assert re.search(line.format(cache=cache), str(told)) if line else told is None


@pytest.mark.parametrize("command", ["run quick", "check lenet5"])
def test_results_that_cannot_be_written_are_told_before_anything_is_built(
        command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(environments, "ready", stop)
    monkeypatch.setattr(sys, "argv", ["evenbench", *command.split(), "--launcher", "venv", "--results", UNUSABLE])
    with pytest.raises(SystemExit):
        cli.main()
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"evenbench: {UNUSABLE}: ") and last.endswith("; choose another folder with --results")


def test_a_folder_that_can_only_be_read_is_told_by_its_own_name() -> None:
    with pytest.raises(OSError, match=r"'/proc/self/task'$"):
        paths.usable(Path("/proc/self/task"))


def test_packages_that_a_message_tells_to_install_are_those_of_the_extras() -> None:
    extras = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(errors.EXTRAS) == set(extras["data"])


def test_a_full_disk_under_a_log_is_told_with_the_log(tmp_path: Path) -> None:
    (log := tmp_path / "log").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as told:
        processes.run(["true"], log)
    assert str(log) == told.value.filename


def test_a_disk_that_is_full_under_the_digits_is_told_with_their_folder_and_nothing_is_left(
        tmp_path: Path, small_files: None) -> None:
    with pytest.raises(OSError, match="No space left") as told:
        choice.digits32(tmp_path, lambda text: None)
    assert str(choice.digits32_folder(tmp_path)) == told.value.filename
    assert ["digits32-10000-drawn.lock"] == [path.name for path in (tmp_path / "data").iterdir()]


def test_a_user_without_a_home_needs_the_cache_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nameless)
    with pytest.raises(InputError, match=rf"HOME is not set, and user {os.getuid()} has no name here: set XDG_CACHE_H"):
        paths.cache_folder()
    with pytest.raises(InputError, match=r"~/venv: no home folder is known for it: name the whole path"):
        paths.named("~/venv")
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", tmp_path.name)                     # workers start in another folder
    assert tmp_path / "evenbench" == paths.usable(paths.cache_folder())
    assert str(tmp_path / "evenbench") == processes.clean_environment()["HOME"]         # pip asks for one
