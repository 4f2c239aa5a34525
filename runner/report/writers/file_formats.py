"""The forms of a session's report that are files."""

from collections.abc import Callable

from runner.report.document import Report
from runner.report.writers import latex, markdown, spreadsheet

PAGE = "report.html"


def page(report: Report) -> str:
    """The page."""
    from runner.report.writers.page import html  # here: jinja2 takes a tenth of a second, which others do without

    return html(report)


FORMS: dict[str, Callable[[Report], str]] = {
    "html": page, "markdown": markdown.markdown, "csv": spreadsheet.comma_separated, "latex": latex.latex,
}
