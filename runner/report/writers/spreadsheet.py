"""A Report's results as CSV: a line a result, its columns documented in docs/report.md. Pure."""

import csv
import io

from runner.formatting import clean
from runner.report.columns import RESULTS
from runner.report.document import Report
from runner.report.tables import Form, of

COLUMNS = tuple(column.name for column in of(RESULTS, Form.CSV))
_OBEYED = ("=", "+", "-", "@", "\t", "\r", "|", "%")      # what a spreadsheet takes for a formula


def comma_separated(report: Report) -> str:
    """The file; texts that a spreadsheet would compute have an apostrophe in front."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    results = report.overall.results
    columns = of(results.columns, Form.CSV)
    writer.writerow([column.name for column in columns])
    for line in results.lines:
        writer.writerow([harmless(column.value(line)) for column in columns])
    return file.getvalue()


def harmless(value: object) -> object:
    """Numbers as they are, texts so that nothing in them is obeyed."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.lstrip().startswith(_OBEYED) else text
