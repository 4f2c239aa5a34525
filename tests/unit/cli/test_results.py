"""Commands that read results: what they answer where one cannot be read, or where options do not go together."""

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.cli import app
from runner.errors import InputError
from tests import made_report

pytestmark = pytest.mark.usefixtures("known_interpreters")


def said(*words: object) -> str:
    """The refusal of a command."""
    answer = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(answer.exception, InputError), answer.output
    return str(answer.exception)


@pytest.mark.parametrize(("schema", "refusal"), [
    (3, "/events.jsonl: there is no plan"),
    (2, "schema 2 is from before turns, which this evenbench does not read: measure it again")])
def test_a_session_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, schema: int, refusal: str) -> None:
    (tmp_path / "events.jsonl").write_text(f'{{"event": "session", "schema": {schema}, "id": "a"}}\n')
    text = said("report", tmp_path)
    assert refusal in text and "\n" not in text


@pytest.mark.parametrize(("words", "refusal"), [
    ("report made/a --run nobody", "--run all` lists them"),
    ("report made/a --html gone/page.html",
     "--html gone/page.html: there is no folder gone; make it, or name another"),
    ("report made/a --csv .", ".: found a folder, expected the name of a file"),
    ("history made --html made", "made: found a folder, expected the name of a file"),
    ("report made/a --csv /proc/page.csv",
     "/proc/page.csv: No such file or directory; name another file, or another folder with --results")])
def test_a_run_or_a_file_that_cannot_be_is_refused(words: str, refusal: str, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for each in ("a", "b"):
        made_report.stored(tmp_path / "made" / each)
    assert refusal in said(*words.split())


def test_history_tells_of_a_result_that_cannot_be_read_and_shows_the_others(tmp_path: Path) -> None:
    for name in ("a", "b"):
        made_report.stored(tmp_path / name)
    (tmp_path / "c").mkdir()
    (tmp_path / "c/events.jsonl").write_text("{\n")
    answer = CliRunner().invoke(app, ["history", str(tmp_path)])
    assert 0 == answer.exit_code
    assert "left out: " in answer.output and "c/events.jsonl:1: not JSON" in answer.output.replace("\n", "")
    assert "History of 2 sessions" in answer.output


def test_a_link_and_a_device_are_written_to_and_not_taken_away(tmp_path: Path) -> None:
    """As /dev/stdout and /dev/null are, where root may replace them."""
    made_report.stored(tmp_path / "a")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "out").open("wb") as out:
        reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=out)
    for name in ("link", "pipe"):
        assert 0 == CliRunner().invoke(app, ["report", str(tmp_path / "a"), "--json", str(tmp_path / name)]).exit_code
    assert 0 == reader.wait(10)

    assert (tmp_path / "link").is_symlink() and (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "file").read_text() == (tmp_path / "out").read_text() != ""


@pytest.mark.parametrize(("words", "title"), [
    ("list results --results .", "result"), ("list", "stack"), ("report a", "stack"), ("report a --run all", "run"),
    ("compare a b", "stack"), ("history .", "stack"), ("check-study patel", "study"), ("verify a", None),
    ("plan quick --launcher venv", "stack"), ("data list", "data")])
def test_every_command_with_a_table_gives_it_in_three_forms(words: str, title: str | None, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        made_report.stored(tmp_path / name)
    made = CliRunner().invoke(app, [*words.split(), "--csv", "x.csv", "--markdown", "x.md", "--json", "-"])
    assert json.loads(made.stdout) is not None
    if title:                                           # of a whole folder that is verified there is no row
        assert title in next(csv.reader(io.StringIO(Path("x.csv").read_text())))
        assert "\n| --- |" in Path("x.md").read_text()
    assert not (tmp_path / "a" / "report.html").exists()            # standard output is all that was asked for


def test_a_form_in_a_file_leaves_the_table_on_the_terminal(tmp_path: Path) -> None:
    made_report.stored(tmp_path / "a")
    shown = CliRunner().invoke(app, ["list", "results", "--results", str(tmp_path), "--csv", str(tmp_path / "x.csv")])
    assert "result" in shown.stdout and f"written: {tmp_path}/x.csv" in shown.stderr
    assert (tmp_path / "x.csv").read_text().startswith("result,study,launcher,runs,ok,state\na,")
