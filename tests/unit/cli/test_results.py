"""Commands that read results: what they answer where one cannot be read, or where options do not go together."""

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.cli import app
from runner.errors import InputError
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


def test_a_run_that_is_not_there_is_refused_with_the_command_that_lists_them(tmp_path: Path) -> None:
    stored(tmp_path / "a")
    assert "--run all` lists them" in said("report", tmp_path / "a", "--run", "nobody")


def test_a_result_from_before_turns_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"event": "session", "schema": 2, "id": "a"}\n')
    text = said("report", tmp_path)
    assert "schema 2 is from before turns, which this evenbench does not read: measure it again" in text
    assert "\n" not in text


def test_a_file_in_no_folder_is_refused_with_the_folder(tmp_path: Path) -> None:
    stored(tmp_path / "a")
    text = said("report", tmp_path / "a", "--html", tmp_path / "gone" / "page.html")
    assert f"--html {tmp_path}/gone/page.html: there is no folder {tmp_path}/gone; make it, or name another" in text


@pytest.mark.parametrize("name", [".", "made"])
def test_a_folder_in_place_of_a_file_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for each in ("a", "b"):
        stored(tmp_path / "made" / each)
    assert f"{name}: found a folder, expected the name of a file" in said("report", "made/a", "--csv", name)
    assert f"{name}: found a folder, expected the name of a file" in said("history", "made", "--html", name)


def test_a_file_that_cannot_be_written_says_what_else_to_name(tmp_path: Path) -> None:
    stored(tmp_path / "a")
    assert "/proc/page.csv: No such file or directory; name another file, or another folder with --results" in said(
        "report", tmp_path / "a", "--csv", "/proc/page.csv")


def rows_of(*words: object) -> dict[str, str]:
    """What a command gives in each form, on standard output."""
    return {form: CliRunner().invoke(app, [*map(str, words), f"--{form}", "-"]).stdout
            for form in ("csv", "markdown", "json")}


def test_every_command_with_a_table_gives_it_in_three_forms(tmp_path: Path) -> None:
    for name in ("a", "b"):
        stored(tmp_path / name)
    for words, title in ((("list", "results", "--results", tmp_path), "result"), (("list",), "stack"),
                         (("report", tmp_path / "a"), "stack"), (("report", tmp_path / "a", "--run", "all"), "run"),
                         (("compare", tmp_path / "a", tmp_path / "b"), "stack"), (("history", tmp_path), "stack"),
                         (("check-study", "patel"), "study"), (("verify", tmp_path / "a"), ""),
                         (("plan", "quick", "--launcher", "venv"), "stack"), (("data", "list"), "data")):
        made = rows_of(*words)
        if words[0] != "verify":                       # of a whole folder there is no row
            assert title in next(csv.reader(io.StringIO(made["csv"])))
            assert "\n| --- |" in made["markdown"]
        assert json.loads(made["json"]) is not None
    assert not (tmp_path / "a" / "report.html").exists()            # standard output is all that was asked for


def test_a_form_in_a_file_leaves_the_table_on_the_terminal(tmp_path: Path) -> None:
    stored(tmp_path / "a")
    shown = CliRunner().invoke(app, ["list", "results", "--results", str(tmp_path), "--csv", str(tmp_path / "x.csv")])
    assert "result" in shown.stdout and f"written: {tmp_path}/x.csv" in shown.stderr
    assert (tmp_path / "x.csv").read_text().startswith("result,study,launcher,runs,ok,state\na,")
