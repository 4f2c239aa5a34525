"""The schema of study files: what it takes and what it refuses."""

import copy
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from runner.study import tables
from tools.pages.schemas import of_study

ROOT = Path(__file__).parents[3]
STUDIES = sorted((*(ROOT / "studies").glob("*.toml"), *(ROOT / "studies").glob("*/study.toml")))
SCHEMA = jsonschema.Draft202012Validator(of_study())


@pytest.mark.parametrize("path", STUDIES, ids=str)
def test_every_study_is_valid_and_names_the_schema(path: Path) -> None:
    text = path.read_text()
    SCHEMA.validate({**tomllib.loads(text), **tables.beside(path)})
    up = "../" * (1 + (path.name == tables.STUDY))
    assert f"#:schema {up}docs/study.schema.json" == text.splitlines()[0]


@pytest.mark.parametrize(("place", "change"), [
    ((), {"claims": []}), (("study",), {"name": "x"}), (("study",), {"rounds": 0}),
    (("experiment", 0), {"step": 3}), (("experiment", 0), {"measure": "fly"}), (("experiment", 0), {"steps": 0}),
    (("experiment", 0), {"task": "lenet6"}), (("experiment", 0), {"grid": {"batch": []}}),
    (("experiment", 0), {"scale": {"quick": {"stack": ["a"]}}}), (("claim", 0), {"kind": "best"}),
    (("claim", 0), {"at_least": "x"}), (("claim", 0), {"over": "task"}), (("claim", 0), {"cases": []}),
    (("published", 0), {"unit": "m"}), (("published", 0), {"printed": 1}), (("published", 0), {"of": {"stock": "a"}}),
])
def test_a_mistake_is_marked(place: tuple[Any, ...], change: dict[str, Any]) -> None:
    path = ROOT / "studies" / "krisilias" / tables.STUDY
    document = copy.deepcopy({**tomllib.loads(path.read_text()), **tables.beside(path)})
    table: Any = document
    for name in place:
        table = table[name]
    table.update(change)

    assert not SCHEMA.is_valid(document)
