"""The runs of a session one by one, with what each wrote on standard error: `evenbench report --run`. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from runner import schemas
from runner.grouping import grouped
from runner.report.tables import Shown
from runner.results.error_output import ErrorText
from runner.results.rows import Measurements, Row
from runner.results.runs import Run


def runs(measured: Measurements, errors: Iterable[ErrorText], name: str) -> Shown:
    """A row a run in order of cells and rounds; of a name, or of a cell's key, with all that its places wrote."""
    written = grouped(errors, lambda each: each.run)
    chosen = [(row, run, written.get(run.name, [])) for row in measured.rows for run in row.runs
              if name in ("", run.name, row.key)]
    rows = [_listed(*each) for each in chosen]
    if not name:
        return Shown(rows, (), {"schema": schemas.ROWS, "rows": rows})
    records = [{**listed, "message": run.message, "stderr": [each.model_dump(exclude_defaults=True) for each in own]}
               for listed, (_, run, own) in zip(rows, chosen, strict=True)]
    lines = [line for each in chosen for line in _lines(*each)]
    return Shown(rows, lines, {"schema": schemas.ROWS, "rows": records})


def _listed(row: Row, run: Run, errors: Sequence[ErrorText]) -> dict[str, Any]:
    """The run as a row of the list of runs."""
    return {"run": run.name, "stack": row.cell.stack, "what": row.comparison.label, "round": run.round,
            "ended": run.ending, "lines_on_standard_error": sum(1 for each in errors for _ in each.lines())}


def _lines(row: Row, run: Run, errors: Sequence[ErrorText]) -> Iterator[str]:
    """How it ended, then what each place wrote."""
    message = f": {run.message}" if run.message else ""
    yield f"{run.name}: {row.cell.stack}, {row.comparison.label}, round {run.round}: {run.ending}{message}"
    if not errors:
        yield "  nothing is kept of its standard error"
    for each in errors:
        yield f"  standard error{f' of {each.place}' if each.place else ''}:"
        yield from (f"    {line}" for line in each.lines())
