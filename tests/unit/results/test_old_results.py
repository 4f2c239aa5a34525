"""Results of revision e9b3385 say today what that revision said of them, but for what is listed here.

tests/old_results/NAME has the events of a session that e9b3385 ran, and what its own `evenbench report` wrote of them:
the terminal's text, the CSV, and the page without its styles and drawings. Paths in the events were shortened.
"""

import csv
import io
import re
from functools import cache
from pathlib import Path

import pytest

from runner.analysis.stats import median
from runner.analysis.summary import summary_of
from runner.analysis.summary_format import Summary
from runner.report.contents import report
from runner.report.writers import page, spreadsheet
from runner.results import store
from runner.results.rows import Measurements, measurements
from runner.screen.summary import summary_view
from tests.old_pages import Table, tables
from tests.printing import printed

OLD = Path(__file__).parents[3] / "tests/old_results"
NAMES = ("quick", "made")              # the second one of tests.made_rows, as it was then
WIDTHS = {"quick": 100, "made": 300}
# columns of the CSV that say something else. Rates are geometric means, they were medians; intervals and tests are
# Student's t, they were drawn; a stack that was not steady has no word; steps and tokens go with the rates
OTHERWISE = {"rate_per_worker", "rate_low", "rate_high", "ratio", "ratio_low", "ratio_high", "verdict", "is_winner",
             "step_seconds", "tokens_per_second", "padded_tokens_per_second", "flags", "other_settings"}
# the same of the page's columns; a line above the others says what was measured, a number of every epoch has its chart
OTHERWISE_ON_THE_PAGE = (r"samples/s|step|[a-z ]*tokens/s.*|to .*|verdict|here|here / published|what|tried|last loss|"
                         r"last accuracy")
RENAMED = {"no operation": "no-op"}
# lines of the terminal that today's text need not have, whatever they say
OTHER_LINES = (
    r"─+",
    r".*\d \([\d.,]+–[\d.,]+\).*|.*\d+x \([\d.]+–[\d.]+\).*",               # rates and ratios with their intervals
    r"(lenet5 .* px )?(baseline|\[[\d,]+\]|no difference shown|too few rounds|no data|WINNER|slower| )+",
    r"\[\d\] The second half of a run was more than 10 % faster or slower than the first\.",
    r"\[\d\] Other programs.* took more than 10 % of the CPUs.*",            # the text says whose CPUs now
    r"\[\d\] It was not checked here that this stack builds the same model.*",         # and what checks it
    r"Rates are samples a second of one worker: the median run.*",
    r"\(1\.28–1\.37\) is 1\.32 times as fast.*", r"Faster, slower and WINNER.*", r"1\.",
    r"measured on .*",                                                      # with its kernel, as the page has it
    r"What .* published, and the same here.*", r"one step\):",
    # of claims, which one case of many contradicts only with its interval widened, and titles of tables
    r"Claims of .*", r"made-.*", r"Here: the number that decides.*", r"all their 95 % intervals.*",
    r"kernels copies gaps launches kernels a step",
    r"before after expensive gone cheap gone no-op gone|tf 200 80 1 9 90",
    r"trains out of memory limit",
)


@cache
def read(name: str) -> tuple[Summary, Measurements]:
    measured = measurements(store.read(OLD / name))
    return summary_of(measured), measured


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("name", NAMES)
def test_a_csv_has_the_old_rows_columns_and_values_and_more(name: str) -> None:
    old, new = rows((OLD / name / "report.csv").read_text()), rows(spreadsheet.comma_separated(report(*read(name))))

    same = [name for name in old[0] if name not in OTHERWISE]
    assert len(same) >= 30 and [{name: row[name] for name in same} for row in old] == [
        {name: row[name] for name in same} for row in new]
    assert all(then["other_settings"] in now["other_settings"] for then, now in zip(old, new, strict=True))


def test_old_rates_were_the_medians_of_the_same_runs_and_ratios_are_the_same() -> None:
    old, (summary, measured) = rows((OLD / "quick/report.csv").read_text()), read("quick")
    medians = {row.key: median(list(row.rates.values())) for row in measured.rows}
    ratios = {result.key: result.ratio for each in summary.comparisons for result in each.results}

    assert {row["key"]: pytest.approx(float(row["rate_per_worker"]), rel=1e-12) for row in old} == medians
    assert {row["key"]: pytest.approx(float(row["ratio"]), rel=1e-12) if row["ratio"] else None
            for row in old} == ratios


@pytest.mark.parametrize("name", NAMES)
def test_the_terminal_has_every_old_line_that_is_not_listed(name: str) -> None:
    old, new = (OLD / name / "report.txt").read_text(), printed(summary_view(report(*read(name))), width=WIDTHS[name])
    today = set(spaced(new))

    assert [] == [line for line in spaced(old) if line not in today
                  and not any(re.fullmatch(other, line) for other in OTHER_LINES)]


def test_an_interrupted_session_is_read_as_far_as_it_went() -> None:
    old, new = (OLD / "interrupted/report.txt").read_text(), printed(summary_view(report(*read("interrupted"))))
    kept = [line for line in spaced(old) if " 1 of 2 " in line or "NOT COMPLETE" in line or "killed:" in line]

    assert 5 == len(kept) and set(kept) <= set(spaced(new))


def spaced(text: str) -> list[str]:
    """The lines with single spaces, without empty ones."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_every_old_table_with_its_rows_and_its_columns(name: str) -> None:
    summary, measured = read(name)
    left = tables(page.html(report(summary, measured)))

    for then in tables((OLD / name / "page.html").read_text()):
        now = next(each for each in left if kind(each) == kind(then))
        left.remove(now)
        kept = {RENAMED.get(title, title): values for title, values in columns(then).items()
                if not re.fullmatch(OTHERWISE_ON_THE_PAGE, title)}
        assert kept.items() <= columns(now).items(), then.title


def kind(table: Table) -> str:
    """What the table is of, without what its title explains."""
    return re.split("[:,(]", table.title)[0]


def columns(table: Table) -> dict[str, tuple[str, ...]]:
    """The cells of each column, without the lines that are a label alone."""
    titles, *lines = table.rows
    whole = [line for line in lines if len(line) == len(titles)]
    return {title: tuple(line[place] for line in whole) for place, title in enumerate(titles)}
