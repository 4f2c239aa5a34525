"""The pages of the published studies: what their papers state, and what tests it."""

import pytest

from runner import paths
from runner.cli import study_pages
from runner.study import file
from runner.study.claims import Claim
from runner.study.subjects import Subject

ONE, OTHER = Subject("tf-1"), Subject("torch-1")


def claim(kind: str, **values: object) -> Claim:
    subjects = {} if kind == "order" else {"of": ONE, "to": OTHER}
    return Claim("c", "text", kind, "step", {}, **{**subjects, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", study_pages.published_studies())
def test_a_study_s_page_is_what_its_file_says(name: str) -> None:
    written = (study_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert study_pages.page(file.read(name, paths.STUDIES, "paper")) == written, "python -m runner.cli.study_pages"


@pytest.mark.parametrize(("found", "said"), [
    (claim("faster"), "tf-1 < torch-1"),
    (claim("ratio", about=2.0, within=0.15), "tf-1 / torch-1 about 2, within 0.15"),
    (claim("ratio", at_least=1.0, at_most=1.5), "tf-1 / torch-1 at least 1 and at most 1.5"),
    (claim("equal", within=0.1, over=("batch",), cases=((1,), (2,))),
     "tf-1 / torch-1 is 1, within 0.1; in each of 2 cases"),
    (claim("order", order=(ONE, OTHER), over=("batch",), cases=((1,), (2,)), holds_for="total"),
     "tf-1 < torch-1; in the sum of 2 cases"),
    (claim("trend", along="batch", direction="up", over=("task",), turned_for=({"task": "bert"},)),
     "tf-1 / torch-1 up from each batch to the next; the other way for bert"),
])
def test_where_a_claim_holds_is_said_as_a_comparison(found: Claim, said: str) -> None:
    assert said == study_pages.condition(found)
