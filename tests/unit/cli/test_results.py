"""Commands that read results: what they answer where one cannot be read, or where options do not go together."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.cli import app
from runner.errors import InputError
from runner.report import forms
from runner.results import store
from tests import made_report


def stored(folder: Path) -> None:
    """A session of two stacks."""
    with store.Store(folder) as opened:
        for record in made_report.records(made_report.DONE):
            opened.append(record)


def said(*words: object) -> str:
    """The refusal of a command."""
    answer = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(answer.exception, InputError), answer.output
    return str(answer.exception)


def test_a_session_without_a_plan_is_refused_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"event": "session", "schema": 3, "id": "a"}\n')
    assert f"{tmp_path}/events.jsonl: there is no plan" in said("report", tmp_path)


def test_history_tells_of_a_result_that_cannot_be_read_and_shows_the_others(tmp_path: Path) -> None:
    for name in ("a", "b"):
        stored(tmp_path / name)
    (tmp_path / "c").mkdir()
    (tmp_path / "c/events.jsonl").write_text("{\n")
    answer = CliRunner().invoke(app, ["history", str(tmp_path)])
    assert 0 == answer.exit_code
    assert "left out: " in answer.output and "c/events.jsonl:1: not JSON" in answer.output.replace("\n", "")
    assert "History of 2 sessions" in answer.output


def test_a_run_s_words_have_no_other_form(tmp_path: Path) -> None:
    stored(tmp_path / "a")
    assert "found --run and --csv" in said("report", tmp_path / "a", "--run", "all", "--csv")
    assert "--run all` lists them" in said("report", tmp_path / "a", "--run", "nobody")


def test_a_result_from_before_turns_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"event": "session", "schema": 2, "id": "a"}\n')
    text = said("report", tmp_path)
    assert "schema 2 is from before turns, which this evenbench does not read: measure it again" in text
    assert "\n" not in text


def test_a_file_in_no_folder_is_refused_with_the_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no folder .*/gone; make it"):
        forms.write("text", tmp_path / "gone" / "page.html")


@pytest.mark.parametrize("name", [".", "made"])
def test_a_folder_in_place_of_a_file_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for each in ("a", "b"):
        stored(tmp_path / "made" / each)
    assert f"{name}: found a folder, expected the name of a file" in said("report", "made/a", "--csv", "--out", name)
    assert f"{name}: found a folder, expected the name of a file" in said("history", "made", "--out", name)


def test_a_page_that_cannot_be_written_says_out(tmp_path: Path) -> None:
    stored(tmp_path / "a")
    assert "/proc/page.csv: No such file or directory; name another file with --out" in said(
        "report", tmp_path / "a", "--csv", "--out", "/proc/page.csv")
