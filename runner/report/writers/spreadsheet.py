"""A Summary as CSV: a line a result, its columns documented in docs/report.md. Pure."""

import csv
import io
from collections.abc import Sequence

from runner.analysis.summary_format import Summary
from runner.formatting import clean
from runner.report.columns import RESULTS, Column, Form, Line, of

COLUMNS = tuple(column.name for column in of(RESULTS, Form.CSV))
_OBEYED = ("=", "+", "-", "@", "\t", "\r", "|", "%")      # what a spreadsheet takes for a formula


def comma_separated(summary: Summary, results: Sequence[Column[Line]] = RESULTS) -> str:
    """The file; texts that a spreadsheet would compute have an apostrophe in front."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = of(results, Form.CSV)
    writer.writerow([column.name for column in columns])
    for comparison in summary.comparisons:
        for result in comparison.results:
            line = Line(summary, comparison, result)
            writer.writerow([harmless(column.value(line)) for column in columns])
    return file.getvalue()


def harmless(value: object) -> object:
    """Numbers as they are, texts so that nothing in them is obeyed."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.lstrip().startswith(_OBEYED) else text
