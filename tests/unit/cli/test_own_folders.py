"""The options that name folders of the user's own, on the commands that read studies and stacks."""

import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from runner import paths
from runner.cli import COMMANDS, app
from tests.stack_folder import study_toml

pytestmark = pytest.mark.usefixtures("known_interpreters")
STUDY = study_toml("torch-2.13-cpu")


def test_a_study_of_a_folder_is_planned_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(paths.OWN_STUDIES, "")
    (tmp_path / "mine.toml").write_text(STUDY)
    answer = CliRunner().invoke(app, ["plan", "mine", "--studies", str(tmp_path), "--launcher", "venv", "--json", "-"])

    assert 0 == answer.exit_code, answer.output
    assert str(tmp_path) == os.environ[paths.OWN_STUDIES]
    assert '"lenet5"' in answer.output


@pytest.mark.parametrize("command", ["run", "plan", "rerun", "gate", "list", "check", "images", "lock"])
def test_commands_of_studies_and_stacks_have_all_three_options(command: str) -> None:
    names = {name for parameter in typer.main.get_command(app).commands[command].params      # type: ignore[attr-defined]
             for name in parameter.opts}

    assert {"--studies", "--stacks"} <= names


@pytest.mark.parametrize("command", COMMANDS)
def test_no_two_options_of_a_command_write_to_one_name(command: str) -> None:
    """Else `--stack NAME` would name a folder."""
    names = [parameter.name for parameter in typer.main.get_command(app).commands[command].params]    # type: ignore[attr-defined]

    assert len(set(names)) == len(names)


def test_shells_can_complete_commands() -> None:
    names = {name for parameter in typer.main.get_command(app).params for name in parameter.opts}

    assert {"--install-completion", "--show-completion"} <= names
