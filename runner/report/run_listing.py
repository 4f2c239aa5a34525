"""The runs of a session one by one, with what each wrote on standard error: `evenbench report --run`. Pure."""

from collections.abc import Iterable
from typing import Any

from runner import schemas
from runner.grouping import grouped
from runner.report.tables import Shown
from runner.results.error_output import ErrorText
from runner.results.rows import Measurements


def runs(measured: Measurements, errors: Iterable[ErrorText], name: str) -> Shown:
    """A row a run in order of cells and rounds; of a name, or of a cell's key, with all that its places wrote."""
    written = grouped(errors, lambda each: each.run)
    rows: list[dict[str, Any]] = []
    records, lines = [], list[str]()
    chosen = [(row, run) for row in measured.rows for run in row.runs if name in ("", run.name, row.key)]
    for row, run in chosen:
        own, label = written.get(run.name, []), row.comparison.label
        rows.append({"run": run.name, "stack": row.cell.stack, "what": label, "round": run.round, "ended": run.ending,
                     "lines_on_standard_error": sum(1 for each in own for _ in each.lines())})
        records.append({**rows[-1], "message": run.message, "stderr": [each.record() for each in own]})
        message = f": {run.message}" if run.message else ""
        lines.append(f"{run.name}: {row.cell.stack}, {label}, round {run.round}: {run.ending}{message}")
        lines += [] if own else ["  nothing is kept of its standard error"]
        for each in own:
            lines += [f"  standard error{f' of {each.place}' if each.place else ''}:",
                      *(f"    {line}" for line in each.lines())]
    return Shown(rows, lines if name else (), {"schema": schemas.ROWS, "rows": records if name else rows})
