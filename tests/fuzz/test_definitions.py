"""Studies, stacks and cells of strangers: read, or refused in one line. tests/conftest.py says how often."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.paths import STACKS, STUDIES
from runner.stacks import definition
from runner.study import file, tables
from tests import studies
from tests.fuzz.mutations import bytes_of, document_of, read_or_refused
from tests.made_files import files
from workloads.spec import cell

SMALL = (STUDIES / "quick.toml").read_bytes(), (STUDIES / "learning.toml").read_bytes()
LARGE = STUDIES / "tian" / tables.STUDY
STACK_FILES = [path.read_bytes() for path in sorted(STACKS.glob("*/stack.toml"))]
CELL = cell.Cell("torch-1.7", "lenet5", "train")._asdict()


@given(st.data())
def test_a_study_s_file(data: st.DataObject) -> None:
    content = data.draw(bytes_of(data.draw(st.sampled_from(SMALL))))
    assert isinstance(read_or_refused(lambda: studies.parse(content)), file.Study | None)


@given(st.data())
def test_a_study_s_tables(data: st.DataObject) -> None:
    whole = {**tomllib.loads(LARGE.read_text()), **tables.beside(LARGE)}
    small = {**{name: whole[name] for name in ("study", "subjects", "cells")}, "experiment": whole["experiment"][:4],
             "published": whole["published"][:2],
             "claim": whole["claim"][:2], "index": whole["index"][:4]}
    document = data.draw(document_of(small))
    assert isinstance(read_or_refused(lambda: file.from_document(document, "s.toml")), file.Study | None)


@given(content=st.sampled_from(STACK_FILES).flatmap(bytes_of))
def test_a_stack_s_file(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = files(tmp_path_factory.getbasetemp() / "stack-of-a-stranger", {"stack.toml": content})
    assert isinstance(read_or_refused(lambda: definition.read(folder)), definition.Stack | None)


@given(bytes_of(json.dumps(CELL).encode()), document_of(CELL))
def test_a_cell_s_text_and_its_values(content: bytes, values: object) -> None:
    for read in (lambda: cell.loads(content.decode(errors="surrogateescape")), lambda: cell.parse(values)):
        try:
            assert isinstance(read(), cell.Cell)
        except cell.CellError as error:
            assert str(error)
