"""The wheel, installed into an empty environment, without the checkout."""

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from runner import paths
from runner.processes import clean_environment
from runner.study import file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what is committed and changed in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, paths.ROOT], check=True)
    (found,) = folder.glob("evenbench-*.whl")
    return found


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """evenbench of an environment that holds the wheel and what it needs, and nothing else."""
    home = tmp_path_factory.mktemp("home") / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    subprocess.run([str(home / "bin/python"), "-m", "pip", "install", "-q", str(wheel)], check=True)
    return home / "bin/evenbench"


def in_its_environment(test: Callable[..., None]) -> Callable[..., None]:
    """A test of the installed wheel: one of them is a session, and all of them share the environment."""
    return pytest.mark.measures(pytest.mark.slow(0)(test))


def run(command: Path, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(command), *words], cwd=folder, capture_output=True, text=True, env=clean_environment())


def test_it_is_small_and_puts_no_name_but_its_own_into_site_packages(wheel: Path) -> None:
    assert wheel.stat().st_size <= 2 * 10**6
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}

    assert {"evenbench"} == {top for top in tops if not top.endswith(".dist-info")}


def test_it_has_every_file_of_its_folders(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "runner", "workloads", "docker", "studies", "data"],
                            cwd=paths.ROOT, check=True, capture_output=True, text=True).stdout.split()
    with zipfile.ZipFile(wheel) as archive:
        assert set() == {name for name in listed if (paths.ROOT / name).is_file()} - {
            name.removeprefix("evenbench/") for name in archive.namelist()}


@in_its_environment
def test_it_has_every_stack_and_study(command: Path, tmp_path: Path) -> None:
    stacks, studies = (json.loads(run(command, tmp_path, "list", what, "--json", "-").stdout)["rows"]
                       for what in ("stacks", "studies"))

    assert {path.parent.name for path in paths.STACKS.glob("*/stack.toml")} <= {each["stack"] for each in stacks}
    known = {each["experiment"].partition("/")[0] for each in studies}
    assert set(file.available(paths.STUDIES)) == known
    planned = run(command, tmp_path, "plan", "krisilias", "--launcher", "venv")
    assert "unknown" not in planned.stderr, planned.stderr


@in_its_environment
def test_a_notebook_loads_a_result_by_the_package_s_name(command: Path, tmp_path: Path) -> None:
    told = subprocess.run([str(command.with_name("python")), "-c", "import evenbench; evenbench.load('none')"],
                          cwd=tmp_path, capture_output=True, text=True, env=clean_environment())
    assert "InputError" in told.stderr, told.stderr


@in_its_environment
def test_a_study_runs_in_an_empty_folder_and_ends_with_its_summary(command: Path, tmp_path: Path) -> None:
    ran = run(command, tmp_path, "run", "quick/train", "--stack", "torch-2.13-cpu", "--launcher", "venv", "--rounds",
              "1", "--set", "seconds=0.3", "--set", "steps=20", "--set", "warm=fixed")

    assert ran.returncode in (0, 4), ran.stderr              # 4: other programs kept its one round from counting
    assert "torch-2.13-cpu" in ran.stdout and list((tmp_path / "results").glob("*/summary.json"))


def built(folder: Path, umask: int) -> dict[str, bytes]:
    """The archives of a clone of what is committed, made under that umask."""
    source = folder / "source"
    commands = (["git", "clone", "-q", str(paths.ROOT), str(source)],
                [sys.executable, "-m", "build", "-q", "-o", str(folder / "dist")])
    for command, where in zip(commands, (folder, source), strict=True):
        subprocess.run(command, cwd=where, check=True, capture_output=True, umask=umask)
    return {path.name: path.read_bytes() for path in (folder / "dist").iterdir()}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    return [built(tmp_path_factory.mktemp("built"), umask) for umask in (0o022, 0o077)]


@pytest.mark.slow(1)
def test_wheel_and_sources_are_the_same_bytes_whoever_builds_them(archives: list[dict[str, bytes]]) -> None:
    first, second = archives

    assert {".gz", ".whl"} == {Path(name).suffix for name in first}
    assert dict.fromkeys(first, True) == {name: content == second.get(name) for name, content in first.items()}


@pytest.mark.slow(1)
def test_a_wheel_says_which_commit_it_is(archives: list[dict[str, bytes]]) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=paths.ROOT, check=True, capture_output=True,
                            text=True).stdout.strip()
    ((name, content),) = ((name, content) for name, content in archives[0].items() if name.endswith(".whl"))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        told = json.loads(archive.read("evenbench/runner/revision.json"))

    assert (commit, False) == (told["commit"], told["changed"])
    assert told["version"] == name.split("-")[1]
