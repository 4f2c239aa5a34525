"""A paper by its own numbers: its index, what of it runs here or why not, set-up, data, numbers and claims."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.cli import app
from runner.planning import paper_index
from runner.planning.plan import Plan, Wishes, plan
from runner.report import paper
from runner.stacks.definition import read_all
from tests import made_report, printing
from tests import made_rows as made
from tests.fakes import MACHINE
from tests.studies import read

STACKS = read_all(Path(__file__).parents[3] / "docker")


def planned(name: str, scale: str = "quick") -> Plan:
    return plan(read(name, scale), STACKS, MACHINE, Wishes(), lambda stack: stack.unbuildable)


def index(name: str) -> dict[str, dict[str, str]]:
    return {row["figure"]: row for row in paper_index.rows(planned(name), lambda each: 12.0)}


def test_each_figure_says_what_runs_here_how_long_and_by_which_command_or_why_not() -> None:
    kri, dai = index("krisilias"), index("dai2022")
    assert {*(f"Figure {number}" for number in range(1, 11)), "Section V-G",
            *(f"Table {number}" for number in ["I", "II", "III", "IV", "V"])} == set(kri)
    assert ("Mean Communication Time for each System", "kri-t5", "runs here") == tuple(
        kri["Table V"][key] for key in ("title", "experiment", "here"))
    assert "evenbench run krisilias/kri-t5 --scale quick" == kri["Table V"]["command"]
    assert "3 min" == kri["Table V"]["minutes"]                  # three cells, five rounds of 12 s
    assert "--scale paper has it" in kri["Figure 7"]["here"] and not kri["Figure 7"]["command"]
    assert "a drawing" == kri["Figure 1"]["here"] and "async" in kri["Figure 3"]["here"]
    assert "needs an NVIDIA GPU" in dai["Table 7"]["here"]


@pytest.mark.parametrize("name", ["dai2022", "krisilias", "mahorker", "patel", "tian"])
def test_below_it_stand_set_up_data_assumptions_numbers_and_claims(name: str) -> None:
    whole = read(name)
    text = json.dumps(paper.parts(whole, planned(name), []))
    for word in ("Set-up of the paper", "stand in" if name not in ("patel", "mahorker") else "synthetic", "Assumed",
                 *(number.printed for number in whole.published), *(claim.id for claim in whole.claims),
                 *(told.id for told in whole.told)):
        assert json.dumps(word)[1:-1] in text, word


def test_the_command_needs_no_checkout_s_page_and_refuses_a_study_of_no_paper() -> None:
    shown = CliRunner().invoke(app, ["paper", "patel"])
    assert 0 == shown.exit_code and "Figure 5: Relationship between power" in shown.output
    refused = CliRunner().invoke(app, ["paper", "quick"])
    assert "dai2022, krisilias, mahorker, patel, tian" in str(refused.exception)


def test_a_report_has_the_index_and_the_paper_s_tables_with_ours_in_each_cell() -> None:
    made_plan = planned("krisilias")
    cells = [each for each in made_plan.cells if each.key in made_plan.keys["kri-t5"]]
    told = made.steps([0.5], phases={"load": [0.1], "forward": [0.1], "backward": [0.1], "communication": [0.1]})
    records = [made.session(study="krisilias"), json.loads(json.dumps(made_plan.record())),
               *(record for each in cells for record in made.run(each.cell, 0, told))]
    report = made_report.reported(records)
    lines = {line[0]: line for line in printing.lines(report.claims[0])}
    assert "3 of 3 cells" == lines["Table V"][3] and "0 of 2 cells" == lines["Figure 9"][3]
    assert [*(f"kri-f{number}" for number in range(3, 11)), "kri-t5"] == [each.id for each in report.sections[:9]]
    (line,) = printing.lines(next(each for each in report.sections[8].tables if each.caption.startswith("Table V")))
    assert ("Mean communication time", "1741.81 | 792.0 (exchange phase 396.0)") == line[:2]
    assert "586.65 | " == line[4]                                # asynchronous at quick: not measured
