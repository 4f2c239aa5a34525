"""What a stranger's study or result could be made for: names that lead elsewhere, formulas, files that never end."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from runner import paths, strict_toml
from runner.analysis import stats
from runner.application.read import measured_in
from runner.datasets import choice
from runner.errors import BenchError, InputError
from runner.measuring import job, rerun, session_record
from runner.measuring.bench import Request
from runner.planning.plan import Wishes, plan
from runner.report.writers import export
from runner.results import sessions, store
from runner.results.reader import measurements
from runner.results.sessions import Session
from runner.stacks import definition
from runner.study import file as study
from tests import fakes, made_report, made_rows, studies
from tests.made_files import files

STACKS = definition.read_all(paths.STACKS)
EVIL_IDS = ("../../outside", "/outside", "a/b", "..", "a\\0b", "a\\nb", "\\u202e", "x" * 65, "")
STUDY = '[study]\nid = "s"\ntitle = "S"\n[[experiment]]\nid = "e"\nmeasure = "train"\ntask = "lenet5"\nstacks = ["a"]\n'


@pytest.mark.parametrize("name", EVIL_IDS)
def test_a_study_s_id_that_is_no_plain_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r'key "id"|not TOML'):
        studies.parse(STUDY.replace('"s"', f'"{name}"'))


@pytest.mark.parametrize("table", ["study", "cells"])
def test_half_a_surrogate_in_an_unknown_key_is_told_in_utf_8(table: str) -> None:
    tables = strict_toml.document(STUDY.encode(), "s.toml")
    tables.setdefault(table, {})["\ud800"] = 1
    with pytest.raises(InputError, match=r'key "\\ud800" is unknown'):
        study.from_document(tables, "s.toml")


@pytest.mark.parametrize("name", ["../../outside", "/outside", "a\0b", "\ud800", "x" * 500, "\x1b[2J"])
def test_a_rerun_stays_in_the_results_whatever_the_record_calls_its_study(name: str, tmp_path: Path) -> None:
    found = Session(first={"study": name}, plan=made_rows.plan(made_rows.cell("torch-1.7")))
    wanted = rerun.plan_again(found, STACKS, None, 1)
    asked = Request("x", results=tmp_path)
    folder = session_record.new_folder(job.Job(asked, wanted, STACKS, fakes.FakeLauncher(None), fakes.MACHINE,
                                    choice.Data("digits32", tmp_path)))

    assert tmp_path == folder.parent and folder.name.isascii() and len(folder.name) < 100
    folder.mkdir()


@pytest.mark.parametrize(("text", "message"), [
    (STUDY + "steps = 0x" + "f" * 6000, "more than 64 bits"), (STUDY + "steps = " + "9" * 6000, "not TOML"),
    (STUDY + "x = " + "[" * 50_000, "not TOML"), (".".join("a" * 3000) + " = 1", "more than 64 parts"),
    *[(STUDY + text, "found a key of more than 64 parts")
      for text in ("a." * 100_000 + "a = 1", "[" + "a." * 65 + "a]", "b = {" + "a." * 65 + "a=1}")],
    (STUDY + "#" * 2**18, "expected at most 262144"), (STUDY + f"nodes = {2**61}", "at most 1000"),
    (STUDY + "grid = { batch = [" + "1, " * 200 + "1], steps = [" + "1, " * 200 + "1] }", "at most 20000"),
    (STUDY + "k" * 90_000 + " = 1", r'key "kkk.* … .* is unknown|key "kkk'),
], ids=lambda text: str(len(text)))
def test_a_study_that_would_fill_the_memory_or_the_screen_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        studies.parse(text)
    assert 2000 > len(str(caught.value))


def test_an_error_is_one_line_of_a_length_that_a_terminal_holds() -> None:
    error = BenchError("first\n" + "a" * 10_000 + " run `make images`")
    assert 1600 > len(str(error)) and "\n" not in str(error)
    assert str(error).startswith("first\\naaa") and str(error).endswith("run `make images`")


def test_rounds_without_end_are_not_run_again_and_a_cell_under_its_own_key_alone() -> None:
    cell = made_rows.cell("torch-1.7")
    with pytest.raises(InputError, match="rounds: found 1000000000000, expected 1 to 200000"):
        rerun.plan_again(Session(first={}, plan=made_rows.plan(cell, rounds=10**12)), STACKS, None, 1)
    record = made_rows.plan(cell)
    record["cells"][0]["key"] = "../../x"
    [planned] = rerun.plan_again(Session(first={}, plan=record), STACKS, None, 1).cells
    assert planned.key.isalnum() and cell == planned.cell


def test_very_many_runs_have_an_interval_too() -> None:
    found = stats.interval([100.0 * 1.01 ** (index % 7) for index in range(7000)])
    assert found and found.low < 100.0 * 1.01 ** 3 < found.high and found.high / found.low < 1.002


@pytest.mark.parametrize("formula", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "|calc", "%x"])
def test_raw_samples_hold_no_formula_and_no_code_of_a_terminal(formula: str, tmp_path: Path) -> None:
    evil = f"{formula}\x1b]0;x\x07\u202e\ud800"
    session = made_report.records(session={"id": evil, "study": evil}, cells={made_rows.cell(evil): [1.0]})
    path = tmp_path / "samples.csv"
    export.to_csv(measurements(session), path)
    with path.open(newline="", encoding="utf-8") as file:
        texts = [value for row in csv.DictReader(file) for value in row.values()]

    assert any(formula.strip() in text for text in texts)
    assert all(text.isprintable() for text in texts)
    assert not [text for text in texts if text.startswith(("=", "+", "-", "@", "|", "%", "\t"))]


RECORDS: list[Any] = [
    {"event": "plan", "cells": {}, "skipped": []}, {"event": "plan", "cells": [1], "skipped": []},
    {"event": "plan", "cells": [{"key": [], "cell": {"stack": "a"}}], "skipped": []},
    {"event": "plan", "cells": [{"key": "a", "cell": {"stack": {}}}], "skipped": []},
    {"event": "begin", "run": {}, "key": "a", "round": 0}, {"event": "begin", "run": "a", "key": "a", "round": "0"},
    {"event": "begin", "run": "a", "key": "a", "round": 0, "place": "here"}, {"event": "line", "run": "a", "line": 1},
    {"event": "ending", "run": "a", "ending": None}, {"event": "closed"}]


@pytest.mark.parametrize("record", RECORDS, ids=json.dumps)
def test_a_record_of_another_shape_is_refused_by_all_that_read_results(record: Any, tmp_path: Path) -> None:
    session = {"event": "session", "schema": store.SCHEMA}
    folder = files(tmp_path / "r", {store.EVENTS: json.dumps(session) + "\n" + json.dumps(record) + "\n"})

    for read in (rerun.recorded, measured_in):
        with pytest.raises(InputError, match=r"events\.jsonl:(2: \w+| record 2 \(\w+\)): key \"[\w.]+\""):
            read(folder)
    assert sessions.unfinished(tmp_path, "c") is None and sessions.known_seconds(tmp_path) == {}
    assert sessions.listing(tmp_path)[0]["state"].startswith("unreadable: ")


def test_a_stranger_s_published_number_names_a_known_quantity_of_a_cell_s_own_fields() -> None:
    record = plan(studies.read("tian"), {**STACKS}, fakes.MACHINE, Wishes(), lambda stack: None).record()
    accuracy = next(each for each in record["published"] if each["to"] is None)
    for change in ({"quantity": "x"}, {"unit": "x"}, {"where": {"x": [1]}}, {"value": float("nan")},
                   {"of": {"stack": "a", "settings": {"__class__": 1}}}):
        changed = {**record, "published": [{**accuracy, **change}]}
        with pytest.raises(InputError, match="its plan cannot be repeated"):
            rerun.plan_again(Session(first={}, plan=changed), STACKS, None, 1)


def test_a_byte_order_mark_is_read_over_and_utf_16_is_named() -> None:
    assert "s" == studies.parse("\ufeff" + STUDY).id
    with pytest.raises(InputError, match=r"s\.toml: found UTF-16, expected UTF-8: save it as UTF-8"):
        studies.parse(STUDY.encode("utf-16"))
