"""The studies of the repository: every figure, claim and number of the papers is there; the schema that they name."""

import json
import re
from typing import Any

import jsonschema
import pytest

from runner.paths import STUDIES
from runner.study import claims, file, published, tables
from runner.study.claims import paper_claim
from runner.study.file import Study
from runner.study.published import parted
from tests.studies import read
from tools import paper_check
from tools.pages.schemas import of_study
from workloads.spec.cell import Cell

# figures and tables of each paper, by the ids of its experiments, and of how many of its claims there are any
FIGURES = {
    "dai2022": ("dai", "t2 t3 f1 t4 f2 f3 f4 t6 t7 t7-gnmt", 20),
    "krisilias": ("kri", "f3 f4 f5 f6 f7 f8 f9 f10 t5 load load-mem", 19),
    "mahorker": ("mah", "t2 f1 f2 f3 f4 f5 f6", 12),
    "patel": ("pat", "f1 f2 f3 f4 f5 dp", 6),
    "tian": ("tian", "f1 f2 f3 f4 f5 f6 f7 f8 f9 51", 10),
}
SCHEMA = jsonschema.Draft202012Validator(of_study())


def cells_of(study: Study) -> list[Cell]:
    return [cell for experiment in study.experiments for cell in file.cells_of(experiment)]


@pytest.mark.parametrize("name", file.available(STUDIES))
def test_every_study_of_the_repository_is_read_valid_by_the_schema_and_names_it(name: str) -> None:
    assert name == read(name).id
    path = file.located(name, STUDIES)
    SCHEMA.validate(file.tables_of(path))
    up = "../" * (1 + (path.name == tables.STUDY))
    assert f"#:schema {up}docs/study.schema.json" == path.read_text().splitlines()[0]


@pytest.mark.parametrize(("place", "change"), [
    ((), {"claims": []}), (("study",), {"name": "x"}), (("study",), {"rounds": 0}),
    (("experiment", 0), {"step": 3}), (("experiment", 0), {"measure": "fly"}), (("experiment", 0), {"steps": 0}),
    (("experiment", 0), {"task": "lenet6"}), (("experiment", 0), {"grid": {"batch": []}}),
    (("experiment", 0), {"scale": {"quick": {"stack": ["a"]}}}), (("claim", 0), {"kind": "best"}),
    (("claim", 0), {"at_least": "x"}), (("claim", 0), {"over": "task"}), (("claim", 0), {"cases": []}),
    (("published", 0), {"unit": "m"}), (("published", 0), {"printed": 1}), (("published", 0), {"of": {"stock": "a"}}),
])
def test_the_schema_marks_a_mistake(place: tuple[Any, ...], change: dict[str, Any]) -> None:
    table: Any = (document := file.tables_of(file.located("krisilias", STUDIES)))
    for name in place:
        table = table[name]
    table.update(change)

    assert not SCHEMA.is_valid(document)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_and_table_is_an_experiment_in_the_index_and_every_claim_is_there(name: str) -> None:
    prefix, figures, count = FIGURES[name]
    study = read(name)

    ids = {experiment.id for experiment in study.experiments if not experiment.title.startswith("Ours")}
    assert {f"{prefix}-{figure}" for figure in figures.split()} == ids <= {place.experiment for place in study.places}
    assert {f"{prefix}-c{number}" for number in range(1, count + 1)} == {paper_claim(each.id) for each in study.claims}
    assert all(each.cases for each in study.claims)
    for each in (*study.claims, *read(name, "quick").claims):
        assert each == claims.from_record(json.loads(json.dumps(each.record())))
    for number in study.published:
        assert number == published.from_record(json.loads(json.dumps(number.record())))
    assert all(re.match(f"{prefix}-", each.id) for each in (*study.experiments, *study.published, *study.claims))


@pytest.mark.parametrize("name", FIGURES)
def test_every_claim_holds_on_the_numbers_that_its_paper_prints_or_says_why_not(name: str) -> None:
    assert [] == [each for each in paper_check.check(read(name)) if each.word == paper_check.DOES_NOT_HOLD]


@pytest.mark.parametrize("name", FIGURES)
def test_every_published_number_is_of_cells_that_the_study_has(name: str) -> None:
    study = read(name)
    every = cells_of(study)

    for number in study.published:
        is_about = number.selection()
        for subject in number.subjects:
            assert any(subject.owns(cell) for cell in filter(is_about, every)), (number.id, str(subject))


@pytest.mark.parametrize("name", FIGURES)
def test_a_quick_study_is_of_small_cells_also_where_its_gpu_cells_are_put_on_a_cpu(name: str) -> None:
    every = cells_of(read(name, "quick"))
    quick = {cell for cell in every if cell.device == "cpu"}
    moved = [cell for cell in every if (cell.gpus, cell.conv) == (1, "default") and cell.measure != "kernels"]

    assert 0 < len(quick) <= 100
    assert all(cell.image <= 96 and cell.steps <= 100 and cell.epochs <= 3 for cell in quick)
    assert all(cell.image <= 96 and cell.steps <= 100 and cell.preset == "small" for cell in moved)


@pytest.mark.parametrize("name", FIGURES)
def test_printed_numbers_stand_in_the_paper_s_own_digits_and_once_in_a_cell_of_its_table(name: str) -> None:
    numbers = read(name).published
    assert all(parted(number.printed) for number in numbers)
    places = [(number.source, number.row, number.column) for number in numbers if number.row]
    assert len(places) == len(set(places)) and all(column for _, _, column in places)
