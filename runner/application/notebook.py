"""What `import evenbench` gives a notebook: a result as values."""

from pathlib import Path
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis.summary_format import Summary
from runner.application.read import measured_in, summarized
from runner.report.columns import rounds
from runner.report.writers import export
from runner.results import store


class Result(NamedTuple):
    """A session that was measured."""

    folder: Path
    summary: Summary

    def ratios(self) -> list[dict[str, Any]]:
        """A mapping a comparison and stack: its cell, rate and unit, ratio to the baseline, its interval and verdict.

        None where there is no number, as of the baseline's ratio to itself.
        """
        return [{"comparison": each.label, "task": each.task, "measure": each.measure, "batch": each.settings["batch"],
                 "stack": one.stack, "rate": one.rate_per_worker, "unit": each.unit, "ratio": one.ratio,
                 "low": one.ratio_interval and one.ratio_interval.low,
                 "high": one.ratio_interval and one.ratio_interval.high, "verdict": one.verdict.value}
                for each in self.summary.comparisons for one in each.results]

    def __repr__(self) -> str:
        """The answer in a line, not the whole summary."""
        count = formatting.count(len(self.summary.comparisons), "comparison")
        return f"<evenbench {self.summary.id}: {count}, {rounds(self.summary, self.summary.comparisons)}; see ratios()>"

    def frame(self) -> Any:
        """The raw samples as docs/export.md has the columns: a pandas.DataFrame, without pandas a list of dicts."""
        rows = list(export.rows(measured_in(self.folder)))
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows)


def load(name: str | Path = "latest", results: str | Path = "results") -> Result:
    """The result of this folder, id or beginning of an id; "latest": the newest. Raises InputError."""
    folder = store.located(str(name), Path(results))
    return Result(folder, summarized(folder).summary)
