"""A data set is a row of the workloads and a row of the catalogue: the examples of CONTRIBUTING."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.datasets import catalogue, choice, library
from runner.datasets.writing import Options, RaggedWriter
from runner.errors import InputError
from workloads.inputs import images, ragged
from workloads.spec.cell import Cell
from workloads.spec.data import datasets, prepared

CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"


def rows() -> Iterator[dict[str, Any]]:
    """The rows that CONTRIBUTING shows: of DATA_SETS, and of KNOWN."""
    section = CONTRIBUTING.read_text().split("## Add a data set")[1].split("\n## ")[0]
    for row in re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL):
        yield eval(f"{{{row}}}", {**vars(datasets), **vars(catalogue)})


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the example's images, once both rows are there: a label and 32 x 32 x 3 bytes each."""
    for table, row in zip((datasets.DATA_SETS, catalogue.KNOWN), rows(), strict=True):
        for name, entry in row.items():
            monkeypatch.setitem(table, name, entry)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name, count in (("train", 4), ("test", 2)):
        (folder / f"{name}.bin").write_bytes(b"".join(bytes([index % 2]) + bytes(3072) for index in range(count)))
    return folder


def test_the_example_of_contributing_is_listed_with_its_licence(mine: Path, tmp_path: Path) -> None:
    (row,) = (row for row in library.for_people(library.listing(tmp_path / "cache")) if row["data"] == "mine")

    assert ("My pictures", "CC0 1.0", "by hand", "missing") == (row["title"], row["licence"], row["size"], row["here"])
    with pytest.raises(InputError, match=r"data mine: copy them from example\.org"):
        library.get("mine", tmp_path / "cache", None)  # type: ignore[arg-type]


def test_the_example_of_contributing_is_read_by_runs_and_a_cut_file_of_it_is_named(mine: Path) -> None:
    chosen = choice.chosen(f"mine={mine}", mine / "cache")
    train = images.read(str(chosen.folder), Cell("torch", "lenet5", "train", data="mine", image=32, batch=4, steps=1))

    assert (mine, "mine") == (chosen.folder, chosen.name)
    assert ((4, 3, 32, 32), [0, 0, 1, 1]) == (train.images.shape, sorted(train.labels.tolist()))
    (mine / "test.bin").write_bytes(bytes(3000))
    with pytest.raises(InputError, match=r"test\.bin: found 3000 bytes, expected a multiple of 3073"):
        library.contents("mine", mine)


def test_a_set_that_must_be_prepared_is_a_row_of_each_table_and_two_functions(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(folder: Path) -> str:
        return f"{len(list(folder.glob('*.txt')))} texts"

    def prepare(source: Path, folder: Path, options: Options, say: Any) -> dict[str, Any]:
        with RaggedWriter(folder, "tokens", np.dtype(np.int32)) as tokens:
            for path in options.first(sorted(source.glob("*.txt"))):
                tokens.append(np.array(list(path.read_bytes()), np.int32))
        return {"counts": {"texts": 1}, "made": {}}

    monkeypatch.setitem(prepared.SEQUENCE_SETS, "letters", prepared.SequenceSet("letters as bytes", ("tokens",)))
    monkeypatch.setitem(catalogue.KNOWN, "letters", catalogue.Known(
        "Letters", "https://example.org", "CC0 1.0", (), 0, by_hand="write some", check=check, prepare=prepare))
    (tmp_path / "a.txt").write_text("ab")
    (tmp_path / "b.txt").write_text("c")

    assert f"{tmp_path}: 2 texts; next: `evenbench data prepare letters --from {tmp_path}`" == library.contents(
        "letters", tmp_path)
    folder = library.prepare("letters", tmp_path, tmp_path / "cache", Options(), lambda text: None)
    tokens = ragged.ragged(str(folder), "tokens")
    assert [[97, 98], [99]] == [tokens[index].tolist() for index in range(len(tokens))]
    assert ("letters", folder) == choice.chosen("letters", tmp_path / "cache")
