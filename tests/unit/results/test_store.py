"""The store: appended, readable after anything, refused where it is broken."""

import os
import shutil
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.results import error_output, manifest, sessions, store
from runner.stacks import definition
from runner.study import file as study
from tests.made_rows import kept

SESSION = {"event": "session", "schema": store.SCHEMA, "command": "c"}


def made(folder: Path, *records: dict[str, object]) -> Path:
    return kept(folder, SESSION, *records)


def test_a_torn_last_line_is_left_out_and_cut_off_before_the_next_append(tmp_path: Path) -> None:
    made(tmp_path, {"event": "closed", "reason": "interrupted"})
    (tmp_path / manifest.NAME).unlink()                       # a killed writer leaves none
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"event": "beg')
    assert ["session", "closed"] == [record["event"] for record in store.read(tmp_path)]
    made(tmp_path)
    assert ["session", "closed", "session"] == [record["event"] for record in store.read(tmp_path)]


@pytest.mark.parametrize("line", [b"nonsense\n", b"[1, 2]\n", b'{"no": "event"}\n', b"\xff\n"])
def test_a_broken_line_is_named_by_file_and_number(tmp_path: Path, line: bytes) -> None:
    made(tmp_path)
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(line)
    with pytest.raises(InputError, match=r"events\.jsonl:2: "):
        list(store.read(tmp_path))


def test_a_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="choose another folder with --results"):
        store.Store(tmp_path / "file" / "r")


def test_somebody_s_broken_result_does_not_hinder_a_new_session(tmp_path: Path) -> None:
    (tmp_path / "zzz").mkdir()
    (tmp_path / "zzz" / "events.jsonl").write_text("garbage\n")
    made(tmp_path / "r")
    kept = sessions.unfinished(tmp_path, "c")
    assert kept and tmp_path / "r" == kept.folder


def test_half_a_surrogate_pair_that_a_broken_file_name_left_is_read(tmp_path: Path) -> None:
    made(tmp_path, {"event": "closed", "reason": "\udc80"})
    assert "\udc80" == list(store.read(tmp_path))[1]["reason"]


def finished(run: str, seconds: float) -> tuple[dict[str, object], ...]:
    begin: store.Record = {"event": "begin", "run": run, "key": run[0], "round": 0}
    return begin, {"event": "ending", "run": run, "ending": "ok", "seconds": seconds}


def test_a_cell_takes_as_long_as_its_runs_of_the_last_session_did(tmp_path: Path) -> None:
    made(tmp_path / "1", *finished("a.0.1", 90.0), *finished("b.0.1", 30.0))
    made(tmp_path / "2", *finished("a.0.1", 20.0), *finished("a.1.1", 34.0))

    assert {"a": 27.0, "b": 30.0} == sessions.known_seconds(tmp_path)


def test_a_session_is_read_once_as_long_as_it_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("1", "2", "3"):
        made(tmp_path / name, *finished("a.0", 20.0), {"event": "closed", "reason": "done"})
    opened, opening = list[Path](), Path.open
    monkeypatch.setattr(Path, "open", lambda path, *mode, **more: opened.append(path) or opening(path, *mode, **more))
    for _ in range(2):
        assert {"a": 20.0} == sessions.known_seconds(tmp_path)
        assert sessions.unfinished(tmp_path, "c") is None and 3 == len(sessions.listing(tmp_path))
    assert 3 == len(opened)
    made(tmp_path / "2", *finished("b.0", 30.0))
    assert {"a": 20.0, "b": 30.0} == sessions.known_seconds(tmp_path)


def test_a_session_that_goes_on_is_unfinished(tmp_path: Path) -> None:
    made(tmp_path / "r", {"event": "closed", "reason": "done"}, SESSION)
    assert sessions.unfinished(tmp_path, "c") is not None
    assert ["unfinished"] == [row["state"] for row in sessions.listing(tmp_path)]


def test_a_session_that_was_changed_since_it_was_written_does_not_go_on(tmp_path: Path) -> None:
    made(tmp_path, {"event": "closed", "reason": "interrupted"})
    path = tmp_path / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"interrupted", b"incomplete!"))
    with pytest.raises(InputError, match=r"events\.jsonl: changed since its session wrote it .*--fresh"):
        store.Store(tmp_path)
    assert (tmp_path / manifest.NAME).exists()


def test_two_sessions_do_not_write_one_folder(tmp_path: Path) -> None:
    with store.Store(tmp_path), pytest.raises(InputError, match="another evenbench session is writing it"):
        store.Store(tmp_path)


@pytest.mark.parametrize("is_renamed", [False, True])
def test_a_folder_that_goes_away_ends_the_session_at_the_next_run_and_is_named(is_renamed: bool, tmp_path: Path
                                                                               ) -> None:
    folder = tmp_path / "r"
    opened = store.Store(folder)
    opened.append(SESSION)
    if is_renamed:
        folder.rename(tmp_path / "away")
    else:
        shutil.rmtree(folder)
    begin = {"event": "begin", "run": "k.0.1", "key": "k", "round": 0, "place": None}
    with pytest.raises(InputError, match="removed or renamed while the session ran: put it back"):
        opened.append(begin)
    with pytest.raises(InputError, match="r: No such file or directory"):
        opened.close()


def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events.jsonl")
    with pytest.raises(InputError, match="found no plain file"):
        list(store.read(tmp_path))
    os.mkfifo(tmp_path / "stderr.jsonl")
    assert [] == list(error_output.read(tmp_path))
    for name in ("a/stack.toml", "s.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="no stack here"):
        definition.read_all(tmp_path)
    assert [] == study.available(tmp_path)


def test_a_damaged_line_of_an_interrupted_session_is_told_and_no_new_one_begins(tmp_path: Path) -> None:
    made(tmp_path / "r", {"event": "closed", "reason": "interrupted"})
    with (tmp_path / "r" / "events.jsonl").open("ab") as file:
        file.write(b"damaged\n")
    with pytest.raises(InputError, match=r"events\.jsonl:3: .*cannot go on: mend that line, rem"):
        sessions.unfinished(tmp_path, "c")
    assert sessions.unfinished(tmp_path, "another") is None
    with (tmp_path / "r" / "events.jsonl").open("ab") as file:
        file.write(b'{"event": "closed", "reason": "done"}\n')
    assert sessions.unfinished(tmp_path, "c") is None          # it was done, and damaged later


def test_a_file_that_holds_two_sessions_is_refused_and_a_resumed_one_is_not(tmp_path: Path) -> None:
    made(tmp_path, {**SESSION, "id": "a"}, {**SESSION, "id": "a"})
    assert 3 == len(list(store.read(tmp_path)))
    made(tmp_path, {**SESSION, "id": "b"})

    with pytest.raises(InputError, match=r"events\.jsonl:5: found a second session, b, after a"):
        list(store.read(tmp_path))


@pytest.mark.parametrize("name", ["events.jsonl", error_output.NAME])
def test_nothing_is_written_through_a_link(name: str, tmp_path: Path) -> None:
    folder, theirs = tmp_path / "r", tmp_path / "theirs"
    folder.mkdir()
    theirs.write_text("a line\nno end")
    (folder / name).symlink_to(theirs)

    with pytest.raises(InputError, match=f"{name}: it is a link, and nothing is written through links"):
        made(folder, {"event": error_output.EVENT, "run": "r", "place": "", "text": "said"})
    assert "a line\nno end" == theirs.read_text()


def test_results_whose_parent_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--results .*there is no folder .*/gone"):
        store.check_usable(tmp_path / "gone" / "results")
    assert not (tmp_path / "gone").exists()
    store.check_usable(tmp_path / "results")
    assert (tmp_path / "results").is_dir()
