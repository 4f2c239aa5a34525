"""The command that measures a row again, in every form."""

import base64
import hashlib
import re

from runner.analysis.summary import to_json
from runner.report.writers import latex, markdown, page
from runner.screen.summary import summary_view
from tests import made_everything, made_report
from tests.printing import csv_lines, printed

SUMMARY, _, REPORT = made_report.contents(made_everything.records())
PLANNED = next(record for record in made_everything.records() if record["event"] == "plan")["cells"]
COMMANDS = {f"evenbench rerun made --cell {item['key']}" for item in PLANNED}


def test_the_page_has_the_command_of_every_cell_behind_a_click_with_a_button() -> None:
    text = page.html(REPORT)
    shown = re.findall(r'<details class="again"><summary>command</summary><code>(.*?)</code> '
                       r'<button type="button" hidden>copy</button></details>', text)

    assert COMMANDS == set(shown)


def test_the_page_s_policy_lets_its_own_script_run_and_no_other() -> None:
    text = page.html(REPORT)
    (policy,) = re.findall(r"script-src '([^']*)'", text)
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)

    assert policy == "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def test_markdown_csv_latex_json_and_where_asked_the_terminal_have_the_commands() -> None:
    written = markdown.markdown(REPORT)
    timed = {result.rerun for each in SUMMARY.comparisons for result in each.results}

    assert all(markdown.escaped(command) in written for command in COMMANDS)
    assert timed == {line["rerun"] for line in csv_lines(REPORT)} and timed < COMMANDS
    assert all(f"% {command}\n" in latex.latex(REPORT) for command in timed)
    assert all(command in to_json(SUMMARY) for command in COMMANDS)
    text = printed(summary_view(REPORT, is_detailed=True), width=300)
    assert COMMANDS == set(re.findall(r"evenbench rerun \S+ --cell \w+", text))


def test_a_stranger_s_id_does_nothing_in_a_shell() -> None:
    summary = made_report.contents(made_report.records(session={"id": "a; rm -rf ~"}))[0]

    assert all(result.rerun.startswith("evenbench rerun 'a; rm -rf ~' --cell ")
               for each in summary.comparisons for result in each.results)
