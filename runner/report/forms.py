"""A session's report in the form that was asked for, and where it is put."""

from collections.abc import Callable
from pathlib import Path

from runner.analysis.summary_format import Summary
from runner.errors import InputError
from runner.report import environment
from runner.report.contents import report
from runner.report.document import Report
from runner.report.writers import latex, markdown, spreadsheet
from runner.results import store
from runner.results.rows import Measurements

PAGE = "report.html"
Form = Callable[[Summary, Measurements], str]


def drawn(found: Report) -> str:
    """The page."""
    from runner.report.writers import page  # here: its libraries take half a second to import

    return page.html(found)


FORMS: dict[str, Form] = {
    "html": lambda summary, measured: drawn(report(summary, measured)),
    "markdown": lambda summary, measured: markdown.markdown(report(summary, measured)),
    "csv": lambda summary, measured: spreadsheet.comma_separated(summary),
    "latex": lambda summary, measured: latex.latex(summary, environment.machine(summary.machine)),
}


def chosen(asked: dict[str, bool], out: Path | None) -> str | None:
    """The one form that was asked for, None for none. Raises InputError for several, or for a file without a form."""
    found = [name for name, is_wanted in asked.items() if is_wanted]
    if len(found) > 1:
        raise InputError(f"report: found {' and '.join(f'--{name}' for name in found)}, expected one of them")
    if out and not found:
        known = ", ".join(f"--{name}" for name in asked)
        raise InputError(f"--out {out}: give the form too, one of {known}")
    return found[0] if found else None


def write(text: str, path: Path) -> Path:
    """The path, once the text is there, whole or not at all. Raises InputError, DiskFull."""
    store.write_beside(path.parent, path.name, text.rstrip("\n"))
    return path
