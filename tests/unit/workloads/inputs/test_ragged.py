"""Prepared sequences: what is written is read back, and what is not whole is named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.datasets import writing
from tests.made_sequences import prepared
from workloads.inputs import ragged
from workloads.process.errors import DataError

ARRAYS = [np.array([[1, 2]], np.float32), np.zeros((0, 2), np.float32), np.array([[3, 4], [5, 6]], np.float32)]


def written(folder: Path) -> Path:
    """Three sequences of 1, 0 and 2 frames with facts.json."""
    return Path(prepared(folder, "ljspeech", frames=ARRAYS))


def test_what_was_written_is_read_back_and_facts_list_every_file_with_its_size(tmp_path: Path) -> None:
    read = ragged.ragged(str(written(tmp_path)), "frames")
    assert 3 == len(read) and [1, 0, 2] == read.lengths.tolist()
    assert all((array == found).all() for array, found in zip(ARRAYS, read, strict=True))
    assert (read[-1] == ARRAYS[2]).all()
    files = ragged.facts(str(tmp_path), "ljspeech")["files"]
    assert {name: (tmp_path / name).stat().st_size for name in ("frames.npy", "frames.offsets.npy")} == files


def test_values_cut_short_are_named_by_facts_and_by_the_array(tmp_path: Path) -> None:
    path = written(tmp_path) / "frames.npy"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DataError, match=rf"frames\.npy: found {size - 4} bytes, expected {size}: cut short"):
        ragged.facts(str(tmp_path), "ljspeech")
    with pytest.raises(DataError, match=r"frames\.npy: not a whole array"):
        ragged.ragged(str(tmp_path), "frames")


@pytest.mark.parametrize(("offsets", "message"), [
    (np.array([0, 2, 1, 3]), "never fall"), (np.array([1, 3]), "begin with 0"),
    (np.array([0, 4]), "up to 4, expected 3"), (np.array([0.0, 3.0]), "found float64"), (np.array([0]), "at least 1")])
def test_offsets_that_cannot_be_are_refused(offsets: "np.ndarray", message: str, tmp_path: Path) -> None:
    np.save(written(tmp_path) / "frames.offsets.npy", offsets)
    with pytest.raises(DataError, match=rf"frames\.offsets\.npy: .*{message}"):
        ragged.ragged(str(tmp_path), "frames")


@pytest.mark.parametrize(("broken", "message"), [
    (lambda path: path.write_bytes(path.read_bytes().replace(b"(3, 2)", b"(3L,2)", 1)), ".*Python 2"),
    (lambda path: np.save(path, np.array([{}], dtype=object)), "")], ids=["header of Python 2", "array of objects"])
def test_an_array_that_is_not_whole_is_refused_without_being_unpickled(broken: Any, message: str, tmp_path: Path
                                                                       ) -> None:
    broken(written(tmp_path) / "frames.npy")
    with pytest.raises(DataError, match=r"frames\.npy: not a whole array: " + message):
        ragged.ragged(str(tmp_path), "frames")


@pytest.mark.parametrize(("change", "message"), [
    ({"format": 9}, "found format 9, expected 1"), ({"name": "wmt16"}, 'found name "wmt16", expected "ljspeech"'),
    ({"files": {}}, 'key "files"'), ({"files": {"../x": 1}}, "without folders"),
    ({"files": {"gone.npy": 1}}, r"gone\.npy: No such file"), ({"format": "9" * 9000}, "9"),
    ({"name": "9" * 9000}, "9"), ({"files": {"9" * 9000: 1}}, "9"), ({"files": {"facts.json": 10 ** 4000}}, "0")])
def test_facts_that_do_not_fit_are_refused_and_a_long_value_does_not_fill_the_screen(
        change: dict[str, object], message: str, tmp_path: Path) -> None:
    path = written(tmp_path) / "facts.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DataError, match=message) as caught:
        ragged.facts(str(tmp_path), "ljspeech")
    assert 20 < len(str(caught.value)) < 1000


def test_an_unprepared_folder_is_told_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the prepared wmt16; `evenbench data`"):
        ragged.facts(str(tmp_path), "wmt16")


def test_a_writer_that_failed_leaves_no_facts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="columns"), \
            writing.ragged(tmp_path, "frames", np.dtype(np.float32), columns=2) as append:
        append(np.zeros((1, 3), np.float32))
    assert not (tmp_path / "facts.json").exists()
