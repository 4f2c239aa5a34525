import json
import stat
from pathlib import Path

import pytest

from runner import paths
from runner.errors import DiskFull, InterpreterMissing
from runner.stacks import environments
from runner.stacks.definition import Size
from tests.made_files import files, program
from tests.stack_folder import small_stack


def interpreter(path: Path, version: str) -> Path:
    """A program that answers as the interpreter of a version does."""
    told = json.dumps([[int(part) for part in version.split(".")], str(path)])
    return program(path, f"printf 'a site that greets \\377\\n\\nevenbench {told}\\nand takes leave\\n'")


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine whose interpreters all lie below tmp_path."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + ":/usr/bin:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))
    return tmp_path


def test_the_newest_interpreter_of_a_version_is_found_wherever_it_lies(bare, monkeypatch):
    on_path = interpreter(bare / "bin/python3.6", "3.6.9")
    interpreter(bare / "uv/cpython-3.6.7-linux-x86_64-gnu/bin/python3.6", "3.6.7")
    newest = interpreter(bare / "pyenv/versions/3.6.15/bin/python3.6", "3.6.15")
    assert environments.find_interpreter("3.6") == ("3.6.15", newest)

    newest.write_text("#!/bin/sh\nexit 127\n")                # one that does not start is passed over
    assert environments.find_interpreter("3.6") == ("3.6.9", on_path)
    monkeypatch.setenv("PYENV_ROOT", f"/{'x' * 300}")          # no file system has such a name: OSError, root's too
    assert environments.find_interpreter("3.6") == ("3.6.9", on_path)


def test_a_program_that_is_another_version_than_its_name_says_is_passed_over(bare):
    interpreter(bare / "bin/python3.6", "3.12.1")

    with pytest.raises(InterpreterMissing, match=r"no Python 3\.6 .*: run `pyenv install 3\.6`"):
        environments.find_interpreter("3.6")


def test_a_disk_that_is_too_small_is_said_before_anything_is_made(tmp_path):
    too_big = small_stack(tmp_path).model_copy(update={"size": Size(wheels_bytes=10 ** 18)})

    with pytest.raises(DiskFull, match=r"torch-9: .* needs 1600000000\.0 GB in .*, .* GB are free"):
        environments.ready(too_big, tmp_path / "cache")

    assert not environments.folder(too_big, tmp_path / "cache").exists()


def test_an_environment_whose_files_change_is_another_one_and_compiled_ones_count_for_nothing(tmp_path: Path) -> None:
    before = environments.content(files(tmp_path, {"lib/a.py": "x = 1"}))

    files(tmp_path, {"lib/__pycache__/a.pyc": ""})
    assert before == environments.content(tmp_path)
    (tmp_path / "lib" / "a.py").write_text("x = 12")
    assert before != environments.content(tmp_path)


def test_what_is_ours_can_be_read_by_a_container_s_user_whatever_the_umask_was(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "images").write_text("")
    (tmp_path / "data" / "images").chmod(0o600)
    (tmp_path / "data" / "link").symlink_to("/etc/shadow")

    paths.let_all_read(tmp_path / "data")

    modes = [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "data", tmp_path / "data" / "images")]
    assert [0o755, 0o644] == modes
