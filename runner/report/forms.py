"""The forms of a session's report that are files, and how a file is put where it belongs."""

from collections.abc import Callable
from pathlib import Path

from runner.errors import InputError
from runner.report.document import Report
from runner.report.writers import latex, markdown, spreadsheet
from runner.results import store

PAGE = "report.html"


def page(report: Report) -> str:
    """The page."""
    from runner.report.writers.page import html  # here: jinja2 takes a tenth of a second, which others do without

    return html(report)


FORMS: dict[str, Callable[[Report], str]] = {
    "html": page, "markdown": markdown.markdown, "csv": spreadsheet.comma_separated, "latex": latex.latex,
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
    if path.is_dir():
        raise InputError(f"{path}: found a folder, expected the name of a file to write, such as "
                         f"{path / 'report'}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it, or name another file")
    store.write_beside(path.parent, path.name, text.rstrip("\n"))
    return path
