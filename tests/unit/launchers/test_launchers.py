"""A launcher is one file and an entry: what the entry decides, and the example of CONTRIBUTING."""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner.cli import app
from runner.cli.options import LauncherName
from runner.errors import EngineUnreachable, InputError
from runner.launchers import choose, table
from runner.launchers.venv import VenvLauncher
from runner.machine import gpus
from runner.stacks import engine
from tests.clock import FakeClock
from tests.fakes import FakeLauncher, no_engine

CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"
STUDY = """[study]
id = "tiny"
title = "T"
rounds = 1
[[experiment]]
id = "e"
measure = "train"
task = "lenet5"
stacks = ["torch-2.13-cpu", "tf-2.21"]
"""


class LsfLauncher(FakeLauncher):
    name = "lsf"

    def __init__(self) -> None:
        super().__init__(FakeClock(step=0.001))


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, **launchers: str) -> None:
    """Lay out a package of these launchers as pip does, and read the table again."""
    about = folder / "evenbench_lsf-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: evenbench-lsf\nVersion: 1.0\n")
    lines = [f"[{table.GROUP}]", *(f"{name} = {where}" for name, where in launchers.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(folder)
    for name, entry in table.installed().items():
        monkeypatch.setitem(table.LAUNCHERS, name, entry)


def test_the_example_of_contributing_runs_a_session_to_its_summary_and_resumes_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = CONTRIBUTING.read_text().split("## Add a launcher")[1].split("\n## ")[0]
    (example,) = re.findall(r"```toml\n(.*?)```", section, flags=re.DOTALL)
    installed(tmp_path / "site", monkeypatch, **tomllib.loads(example)["project"]["entry-points"][table.GROUP])
    monkeypatch.setitem(sys.modules, "evenbench_lsf", sys.modules[__name__])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tiny.toml").write_text(STUDY)
    words = ["run", str(tmp_path / "tiny.toml"), "--launcher", "lsf", "--results", str(tmp_path / "results")]

    ended = CliRunner().invoke(app, words)

    assert 0 == ended.exit_code, ended.output
    (folder,) = (tmp_path / "results").glob("*-tiny-*")
    summary = json.loads((folder / "summary.json").read_text())
    assert ("lsf", True) == (summary["launcher"], summary["is_complete"])
    assert [{"ok": 1}] * 2 == [result["endings"] for result in summary["comparisons"][0]["results"]]

    (folder / "SHA256SUMS").unlink()
    lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    first = next(index for index, line in enumerate(lines, 1) if json.loads(line)["event"] == "ending")
    (folder / "events.jsonl").write_text("".join(lines[:first]))
    assert f"resuming {folder}: 1 run finished\n" in CliRunner().invoke(app, words).stderr


def test_a_package_takes_the_name_of_no_launcher_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = dict(table.LAUNCHERS)
    installed(tmp_path, monkeypatch, docker="evenbench_lsf:LsfLauncher")
    assert ours == table.LAUNCHERS


def test_a_package_s_launcher_that_cannot_be_loaded_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                                        ) -> None:
    installed(tmp_path, monkeypatch, lsf="evenbench_lsf:LsfLauncher")
    with pytest.raises(InputError, match=r"^launcher evenbench_lsf:LsfLauncher cannot be loaded \(No module named "
                                         r"'evenbench_lsf'\): update or uninstall its package$"):
        choose.for_stacks("lsf", print, gpus.NONE, ())


def test_the_help_of_the_option_names_every_launcher() -> None:
    (option,) = LauncherName.__metadata__
    assert all(re.search(rf"\b{name}\b", option.help) for name in (table.AUTO, *table.LAUNCHERS))


def test_every_launcher_is_found_by_the_name_that_its_records_have() -> None:
    assert {entry.load().name: entry for entry in table.LAUNCHERS.values()} == table.LAUNCHERS


def test_without_an_engine_environments_are_measured_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise no_engine()

    monkeypatch.setattr(engine, "connect", absent)
    said: list[str] = []

    assert isinstance(choose.for_stacks("auto", said.append, gpus.NONE, ()), VenvLauncher)
    assert ["the engine went away. Measuring in virtual environments on this host instead; the results are marked so."
            ] == said
    with pytest.raises(EngineUnreachable):
        choose.for_stacks("docker", said.append, gpus.NONE, ())


@pytest.mark.parametrize(("name", "message"), [
    ("fly", 'found "fly", expected one of auto, docker, venv, '),
    *((f"{name}:words", f'found "{name}:words", expected {name} without options')
      for name in ("docker", "venv"))])
def test_a_launcher_that_is_not_in_the_table_or_has_no_options_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=f"--launcher: {message}"):
        choose.for_stacks(name, print, gpus.NONE, ())


@pytest.mark.parametrize(("recorded", "name"), [
    ("venv", "venv"), ("inside", "inside"), ("slurm", "auto"), ("docker", "auto"),
    ("fly", "auto"), (None, "auto"), (["venv"], "auto")])
def test_a_record_is_repeated_with_its_launcher_where_that_is_known(recorded: object, name: str) -> None:
    assert name == choose.again(recorded)
