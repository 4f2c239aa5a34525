"""Pages and schemas that are made by code: each can be made, its links hold, its schema is one."""

import json
import re
from pathlib import Path

import jsonschema

from runner import paths
from tools import pages


def test_the_schema_that_studies_name_is_kept_and_is_today_s() -> None:
    assert pages.PAGES["study.schema.json"]() == (paths.ROOT / "docs/study.schema.json").read_text(), (
        "`python -m tools pages` writes docs/study.schema.json")


def test_each_has_a_text_and_links_that_hold_and_schemas_are_schemas(tmp_path: Path) -> None:
    pages.write(tmp_path)
    for name in pages.PAGES:
        links = re.findall(r"\]\(([^)\s#]+)", (tmp_path / name).read_text())
        beside = ((paths.ROOT / "docs" / name).parent / link for link in links if "://" not in link)
        assert (tmp_path / name).stat().st_size > 1000
        assert [] == [path for path in beside if not path.exists()]
    for path in tmp_path.glob("*.json"):
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))
