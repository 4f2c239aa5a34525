"""What runs wrote on standard error: bounded, kept beside the events, and shown without being obeyed."""

import json
from pathlib import Path

from typer.testing import CliRunner

from runner.cli import app
from runner.launchers.protocol import Exit
from runner.report import run_listing
from runner.results import error_output, store
from runner.results.error_output import HEAD_BYTES, TAIL_BYTES, ErrorOutput
from runner.results.reader import measurements
from tests.fake_session import bench, run
from tests.fakes import good_lines


def test_all_of_it_is_kept_up_to_the_bound_and_last_words_are_the_end_in_one_line(tmp_path: Path) -> None:
    output = ErrorOutput()
    output.add(b"one\ntwo  ")
    output.add(b"three\n")

    assert (b"one\ntwo  three\n", b"", 0) == output.written()
    assert ("two three", "one two three") == (output.last_words(9), output.last_words(400))
    assert [] == list(error_output.read(tmp_path))                        # a result without such a file has none


def test_of_a_flood_the_beginning_and_the_end_are_kept() -> None:
    output = ErrorOutput()
    output.add(b"first" + b"x" * 10_000_000)
    output.add(b"last")
    written = output.written()

    assert written.head.startswith(b"first") and HEAD_BYTES == len(written.head)
    assert written.tail.endswith(b"xlast") and TAIL_BYTES <= len(written.tail) < TAIL_BYTES + 2**13
    assert 10_000_009 == len(written.head) + len(written.tail) + written.dropped


def kept(folder: Path, words: str = "a \x1b]0;warning\x07") -> Path:
    """A session the runs of whose second stack write that on standard error."""
    run(bench(folder, lambda cell, run: (good_lines(), Exit(0, last_words=words if cell.stack == "b" else ""))))
    return folder


def test_a_session_keeps_what_each_run_wrote_beside_its_events_and_in_their_manifest(tmp_path: Path) -> None:
    folder = kept(tmp_path / "r")
    texts = list(error_output.read(folder))

    assert [("node0", "a \x1b]0;warning\x07")] * 3 == [(each.place, each.text) for each in texts]
    assert all(b"\x1b" not in line for line in (folder / error_output.NAME).read_bytes().splitlines())
    assert error_output.NAME in (folder / "SHA256SUMS").read_text()


def test_a_letter_across_the_bound_of_the_beginning_stays_whole(tmp_path: Path) -> None:
    written = "x" * (HEAD_BYTES - 1) + "\u00e9."
    found = error_output.read(kept(tmp_path / "r", written))

    assert {(written, "", 0)} == {(each.text, each.end, each.dropped) for each in found}


def test_a_run_s_line_on_standard_error_is_shown_by_its_name_and_its_cell_s_key(tmp_path: Path) -> None:
    folder = kept(tmp_path / "r")
    measured, texts = measurements(store.read(folder)), list(error_output.read(folder))
    everything = run_listing.runs(measured, texts, "")
    name = next(row["run"] for row in everything.rows if row["stack"] == "b")
    noisy = run_listing.runs(measured, texts, name)

    assert (6, 1) == (len(everything.rows), len(noisy.rows)) and not everything.parts
    assert 3 == len(run_listing.runs(measured, texts, name.partition(".")[0]).rows)
    assert "    a \x1b]0;warning\x07" in noisy.parts


def test_the_command_prints_what_a_run_wrote_and_no_code_of_a_terminal(tmp_path: Path) -> None:
    folder = kept(tmp_path / "results" / "r")
    run = next(error_output.read(folder)).run
    text = CliRunner().invoke(app, ["report", "r", "--results", str(tmp_path / "results"), "--run", run]).stdout

    assert "a \\x1b]0;warning\\x07" in text and "\x1b" not in text and f"{run}: b, " in text


def test_a_torn_or_strange_line_is_passed_over(tmp_path: Path) -> None:
    whole = {"run": "a.0.1", "place": "", "text": "t"}
    lines = [json.dumps(whole), "[1]", '{"run": 1}', json.dumps({**whole, "end": 3, "dropped": "x"}), '{"run": "a.0']
    (tmp_path / error_output.NAME).write_text("\n".join(lines))

    assert [whole] == [each.model_dump(exclude_defaults=True) for each in error_output.read(tmp_path)]
