"""Pages and schemas that are made by code: each can be made, its links hold, its schema is one."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from runner import paths
from tools import pages


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the command writes."""
    folder = tmp_path_factory.mktemp("docs")
    pages.write(folder)
    return folder


def test_each_has_a_text_and_links_that_hold(docs: Path) -> None:
    for name in pages.PAGES:
        links = re.findall(r"\]\(([^)\s#]+)", (docs / name).read_text())
        beside = ((paths.ROOT / "docs" / name).parent / link for link in links if "://" not in link)
        assert (docs / name).stat().st_size > 1000
        assert [] == [path for path in beside if not path.exists()]


def test_schemas_are_schemas(docs: Path) -> None:
    for path in docs.glob("*.json"):
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))
