"""A column and a footnote are one row each: what that row decides, and the examples of CONTRIBUTING."""

import html
import re
from pathlib import Path
from typing import Any

import pytest

from runner.analysis import flags, result_numbers
from runner.report import columns
from runner.report.columns import RESULTS
from runner.report.document import Standing
from runner.report.tables import Column, Form, table
from runner.report.writers import markdown, page, spreadsheet
from runner.results.reader import measurements
from tests import made_report
from tests import made_rows as made
from tests.printing import lines, on_screen

CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"
NAMES: tuple[Column[dict[str, Any]], ...] = (
    Column("name", lambda line: line["name"]),
    Column("number", lambda line: line.get("number"), "{:,}".format),
    Column("remark", lambda line: line.get("remark"), forms=Form.PAGE),
)


def example(section: str) -> str:
    """The row that CONTRIBUTING shows there."""
    text = CONTRIBUTING.read_text().split(f"## {section}")[1].split("\n## ")[0]
    (row,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    return str(row)


def test_the_example_of_contributing_is_read_from_a_run_and_makes_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    ((name, number),) = eval(f"{{{example('Add a column')}}}", dict(vars(result_numbers))).items()
    summary, measured, _ = made_report.contents(made_report.records())
    monkeypatch.setitem(result_numbers.NUMBERS, name, number)
    (column,) = columns._numbers(name)
    told = summary.comparisons[0].results[0].model_copy(update={name: 5 * 10**8})

    assert 0 == number.read(measured.rows[0], measured.rows[0].runs[0])
    assert "500 MB" == column.shown(column.value(Standing(summary, summary.comparisons[0], told)), Form.SCREEN)
    assert (name, columns.BESIDE) == (column.name, column.part) and Form.CSV in column.forms


@pytest.mark.parametrize(("told", "screen", "shown"), [
    ([{"name": "x", "number": 1000, "remark": "r"}, {"name": "y"}],
     (("x", "1,000"), ("y", "-")), (("x", "1,000", "r"), ("y", "", ""))),
    ([{"name": "x"}, {"name": ""}], (("x",), ("",)), (("x",), ("",))),         # columns without a value are left out
    ([{"name": "x", "number": 0}], (("x", "0"),), (("x", "0"),))])
def test_a_line_without_a_value_has_a_dash_on_the_terminal_and_nothing_on_the_page(
        told: list[dict[str, Any]], screen: tuple[Any, ...], shown: tuple[Any, ...]) -> None:
    (one,) = table("", NAMES, {"a": told})
    assert (screen, shown) == (lines(one, Form.SCREEN), lines(one))
    assert [] == table("", NAMES, {"a": []})


def test_the_csv_s_names_are_unlike_each_other() -> None:
    names = [column.name or column.title for column in RESULTS if Form.CSV in column.forms]
    assert len(set(names)) == len(names) and all(names)


ANCHOR = "\n        return flag\n\n"


def module_with_the_row_of_contributing() -> dict[str, Any]:
    """What the flags' module has when the row stands in it."""
    before, after = Path(flags.__file__).read_text().split(ANCHOR)
    names: dict[str, Any] = {"__name__": "made_flags"}
    exec(before + ANCHOR + example("Add a footnote") + after, names)
    return names


def test_the_row_of_contributing_is_a_footnote_of_runs_that_it_holds_for() -> None:
    made_flags = module_with_the_row_of_contributing()
    short, ample = (measurements(made_report.records(before={**made.BEFORE, "free_bytes": size})).rows[0]
                    for size in (10, 2**32))

    (note,) = {*made_flags["flags"](short, 2, {})} - {*made_flags["flags"](ample, 2, {})}
    assert ("short_of_memory", "Less than 1 GB of memory was free when a run began.") == (note.value, note.text)


def test_a_footnote_stands_in_every_form_that_people_read_and_its_flag_in_the_csv() -> None:
    report = made_report.report_of(place={**made.PLACE, "isolation": "venv"})
    text = flags.Flag.VENV.text

    assert text in " ".join(on_screen(report, is_detailed=True).split())
    assert markdown.escaped(text) in markdown.markdown(report) and text in html.unescape(page.html(report))
    assert "venv" in spreadsheet.comma_separated(report)
