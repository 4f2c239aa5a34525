"""The runs of a session one by one, with what each wrote on standard error: `evenbench report --run`. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from runner.grouping import grouped
from runner.results.error_output import ErrorText
from runner.results.rows import Measurements
from runner.results.runs import Run


class Shown(NamedTuple):
    """A run, and what its places wrote."""

    stack: str
    label: str
    run: Run
    errors: tuple[ErrorText, ...]

    def row(self) -> dict[str, Any]:
        """The run as a row of the list of runs."""
        return {"run": self.run.name, "stack": self.stack, "what": self.label, "round": self.run.round,
                "ended": self.run.ending,
                "lines_on_standard_error": sum(1 for each in self.errors for _ in each.lines())}

    def record(self, has_errors: bool) -> dict[str, Any]:
        """The run as JSON values; has_errors: with what it wrote on standard error."""
        if not has_errors:
            return self.row()
        return {**self.row(), "message": self.run.message,
                "stderr": [each.model_dump(exclude_defaults=True) for each in self.errors]}

    def lines(self) -> Iterator[str]:
        """How it ended, then what each place wrote."""
        message = f": {self.run.message}" if self.run.message else ""
        yield f"{self.run.name}: {self.stack}, {self.label}, round {self.run.round}: {self.run.ending}{message}"
        if not self.errors:
            yield "  nothing is kept of its standard error"
        for each in self.errors:
            yield f"  standard error{f' of {each.place}' if each.place else ''}:"
            yield from (f"    {line}" for line in each.lines())


def runs(measured: Measurements, errors: Iterable[ErrorText], name: str) -> list[Shown]:
    """All runs in order of cells and rounds, or those of a name or of a cell's key."""
    written = grouped(errors, lambda each: each.run)
    return [Shown(row.cell.stack, row.comparison.label, run, tuple(written.get(run.name, ())))
            for row in measured.rows for run in row.runs if name in ("", run.name, row.key)]
