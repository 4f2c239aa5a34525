"""The forms of a session's report that are files, and how a file is put where it belongs."""

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
    from runner.report.writers import page  # here: its libraries take half a second, which the other forms do without

    return page.html(found)


FORMS: dict[str, Form] = {
    "html": lambda summary, measured: drawn(report(summary, measured)),
    "markdown": lambda summary, measured: markdown.markdown(report(summary, measured)),
    "csv": lambda summary, measured: spreadsheet.comma_separated(summary),
    "latex": lambda summary, measured: latex.latex(summary, environment.machine(summary.machine)),
}


def chosen(asked: dict[str, bool], out: Path | None) -> str | None:
    """The form that was asked for, or None. Raises InputError for several, and for a file without a form."""
    names = [name for name, is_asked in asked.items() if is_asked]
    if len(names) > 1:
        raise InputError(f"report: found {' and '.join(f'--{name}' for name in names)}, expected one of them")
    if out and not names:
        known = ", ".join(f"--{name}" for name in asked)
        raise InputError(f"--out {out}: give the form too, one of {known}")
    return names[0] if names else None


def write(text: str, path: Path) -> Path:
    """Write the text to the path, whole or not at all; the path. Raises InputError, DiskFull."""
    store.write_beside(path.parent, path.name, text.rstrip("\n"))
    return path
