"""A column is one row: what that row decides, and the example of CONTRIBUTING."""

import re
from pathlib import Path
from typing import Any

import pytest

from runner.analysis import result_numbers
from runner.analysis.result_numbers import Number
from runner.report import columns
from runner.report.columns import RESULTS, Line
from runner.report.tables import Column, Form, table
from tests import made_report

CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"
NAMES: tuple[Column[dict[str, Any]], ...] = (
    Column("name", lambda line: line["name"]),
    Column("number", lambda line: line.get("number"), "{:,}".format),
    Column("remark", lambda line: line.get("remark"), forms=frozenset({Form.PAGE})),
)


def example() -> tuple[str, Number]:
    """The row that CONTRIBUTING shows."""
    section = CONTRIBUTING.read_text().split("## Add a column")[1].split("\n## ")[0]
    (row,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    ((name, number),) = eval(f"{{{row}}}", dict(vars(result_numbers))).items()
    return name, number


def test_the_example_of_contributing_is_read_from_a_run_and_makes_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    name, number = example()
    summary, measured, _ = made_report.contents(made_report.records())
    monkeypatch.setitem(result_numbers.NUMBERS, name, number)
    (column,) = columns._numbers(name)
    told = summary.comparisons[0].results[0].model_copy(update={name: 5 * 10**8})

    assert 0 == number.read(measured.rows[0], measured.rows[0].runs[0])
    assert "500 MB" == column.shown(Line(summary, summary.comparisons[0], told), Form.SCREEN)
    assert (name, columns.BESIDE) == (column.name, column.part) and Form.CSV in column.forms


@pytest.mark.parametrize(("lines", "screen", "shown"), [
    ([{"name": "x", "number": 1000, "remark": "r"}, {"name": "y"}],
     (("x", "1,000"), ("y", "-")), (("x", "1,000", "r"), ("y", "", ""))),
    ([{"name": "x"}, {"name": ""}], (("x",), ("",)), (("x",), ("",))),         # columns without a value are left out
    ([{"name": "x", "number": 0}], (("x", "0"),), (("x", "0"),))])
def test_a_line_without_a_value_has_a_dash_on_the_terminal_and_nothing_on_the_page(
        lines: list[dict[str, Any]], screen: tuple[Any, ...], shown: tuple[Any, ...]) -> None:
    (one,) = table("", NAMES, {"a": lines})
    assert (screen, shown) == (one.written(Form.SCREEN).lines, one.written(Form.PAGE).lines)
    assert [] == table("", NAMES, {"a": []})


def test_the_csv_s_names_are_unlike_each_other() -> None:
    names = [column.name or column.title for column in RESULTS if Form.CSV in column.forms]
    assert len(set(names)) == len(names) and all(names)
