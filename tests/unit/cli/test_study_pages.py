"""The pages of the published studies: what their papers state, and what tests it."""

import pytest

from runner.cli import study_pages


@pytest.mark.parametrize("name", study_pages.published_studies())
def test_a_study_s_page_is_what_its_file_says(name: str) -> None:
    written = (study_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert study_pages.page(name) == written, "python -m runner.cli.study_pages"
