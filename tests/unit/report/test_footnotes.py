"""A footnote is a row of one table, as CONTRIBUTING's example, and stands in every form."""

import html
import re
from pathlib import Path
from typing import Any

from runner.analysis import flags
from runner.report.writers import markdown, page, spreadsheet
from runner.results.reader import measurements
from runner.screen.summary import summary_view
from tests import made_report
from tests import made_rows as made
from tests.printing import printed

ANCHOR = "\n        return flag\n\n"


def module_with_the_row_of_contributing() -> dict[str, Any]:
    """What the flags' module has when the row stands in it."""
    text = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()
    (row,) = re.findall(r"```python\n(.*?)```", text.split("## Add a footnote")[1].split("\n## ")[0], re.DOTALL)
    before, after = Path(flags.__file__).read_text().split(ANCHOR)
    names: dict[str, Any] = {"__name__": "made_flags"}
    exec(before + ANCHOR + row + after, names)
    return names


def test_the_row_of_contributing_is_a_footnote_of_runs_that_it_holds_for() -> None:
    made_flags = module_with_the_row_of_contributing()
    short, ample = (measurements(made_report.records(before={**made.BEFORE, "free_bytes": size})).rows[0]
                    for size in (10, 2**32))

    (note,) = {*made_flags["flags"](short, 2, set())} - {*made_flags["flags"](ample, 2, set())}
    assert ("short_of_memory", "Less than 1 GB of memory was free when a run began.") == (note.value, note.text)


def test_a_footnote_stands_in_every_form_that_people_read_and_its_flag_in_the_csv() -> None:
    report = made_report.contents(made_report.records(place={**made.PLACE, "isolation": "venv"}))[2]
    text = flags.Flag.VENV.text

    assert text in " ".join(printed(summary_view(report, is_detailed=True)).split())
    assert markdown.escaped(text) in markdown.markdown(report) and text in html.unescape(page.html(report))
    assert "venv" in spreadsheet.comma_separated(report)
