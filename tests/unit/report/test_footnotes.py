"""A footnote is a row of one table: the example of CONTRIBUTING, tried on a copy of the runner."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MEANING = "Less than 1 GB of memory was free when a run began."
ANCHOR = "\n        return flag\n\n"
PROGRAM = """
import io, json
from rich.console import Console
from runner.report import file_formats
from runner.screen.summary import summary_view
from tests import made_report, made_rows as made

report = made_report.contents(made_report.records(before={**made.BEFORE, "free_bytes": 10}))[2]
terminal = Console(file=io.StringIO(), width=120)
terminal.print(summary_view(report, is_detailed=True))
texts = {name: form(report) for name, form in file_formats.FORMS.items()}
print(json.dumps({**texts, "terminal": terminal.file.getvalue()}))
"""


def copy_with_the_row_of_contributing(root: Path) -> Path:
    for name in ("runner", "workloads", "tests"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## Add a footnote")[1].split("\n## ")[0]
    file = root / "runner/analysis/flags.py"
    (row,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    before, after = file.read_text().split(ANCHOR)
    file.write_text(before + ANCHOR + row + after)
    return root


def test_the_row_of_contributing_make_a_footnote_of_every_form(tmp_path: Path) -> None:
    root = copy_with_the_row_of_contributing(tmp_path)

    shown = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, check=True)

    forms = json.loads(shown.stdout)
    assert all(MEANING in forms[name] for name in ("terminal", "markdown", "html"))
    assert "short_of_memory" in forms["csv"]
