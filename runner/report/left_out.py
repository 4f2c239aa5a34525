"""Failed runs, skipped cells, and runs far from the others. Pure.

Alike ones are one line: a row of a table, or a sentence in a form without room for the table.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from runner import formatting
from runner.analysis.summary_format import Comparison, Failure, Skip
from runner.report.tables import Column, Table, table

_LONGEST_MESSAGE = 300         # of a failed run; all of it stands in events.jsonl


class FailedRuns(NamedTuple):
    """Runs of a stack that failed alike."""

    stack: str
    what: str                    # the cell, or how many cells
    ending: str
    rounds: tuple[int, ...]
    message: str
    command: str                 # that shows what the first of them wrote

    @property
    def sentence(self) -> str:
        """The line as a sentence."""
        return f"{self.stack}, {self.what}, {_rounds(self.rounds)}: {self.ending}" + (
            f": {self.message}" if self.message else "")


class SkippedCells(NamedTuple):
    """Cells of a stack that were skipped for one reason."""

    experiments: tuple[str, ...]
    stack: str
    what: str
    reason: str

    @property
    def sentence(self) -> str:
        """The line as a sentence."""
        return f"{self.stack}, {self.what}: {self.reason}"


_FAILED: tuple[Column[FailedRuns], ...] = (
    Column("stack", lambda line: line.stack),
    Column("what", lambda line: line.what),
    Column("ended", lambda line: line.ending),
    Column("rounds", lambda line: ", ".join(map(str, line.rounds))),
    Column("message", lambda line: line.message),
    Column("what it wrote", lambda line: line.command),
)
_SKIPPED: tuple[Column[SkippedCells], ...] = (
    Column("experiment", lambda line: ", ".join(line.experiments)),
    Column("stack", lambda line: line.stack),
    Column("cells", lambda line: line.what),
    Column("reason", lambda line: line.reason),
)
def failed(failures: Sequence[Failure], session_of: Callable[[str], str]) -> list[Table[FailedRuns]]:
    """Runs that failed alike are one line, and so are all cells that a stack does not support.

    session_of: the id of a cell's session, by its key.
    """
    alike: dict[tuple[str, ...], list[Failure]] = {}
    for failure in failures:
        cell = "" if failure.ending == "unsupported" else failure.label
        alike.setdefault((failure.stack, cell, failure.ending, _shortened(failure.message)), []).append(failure)
    return table("Runs that did not end ok", _FAILED, {"": [
        FailedRuns(stack, _cells(list(dict.fromkeys(one.label for one in runs))), ending,
                   tuple(sorted({one.round for one in runs})), message,
                   formatting.show(session_of(runs[0].run.partition(".")[0]), runs[0].run))
        for (stack, _, ending, message), runs in alike.items()]})


def skipped(skips: Sequence[Skip]) -> list[Table[SkippedCells]]:
    """Skipped cells of one stack and reason are one line."""
    alike: dict[tuple[str, str], list[Skip]] = {}
    for skip in skips:
        alike.setdefault((skip.stack, skip.reason), []).append(skip)
    return table("Skipped", _SKIPPED, {"": [
        SkippedCells(tuple(dict.fromkeys(one.experiment for one in cells)), stack,
                     _cells([one.label for one in cells]), reason)
        for (stack, reason), cells in alike.items()]})


def far_runs(comparisons: Sequence[Comparison]) -> list[str]:
    """A line for each result with rounds whose rate is far from its others."""
    return [f"{result.stack}, {comparison.label}, {_rounds(result.outlier_rounds)}"
            for comparison in comparisons for result in comparison.results if result.outlier_rounds]


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + "…"


def _cells(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else formatting.count(len(labels), "cell")


def _rounds(rounds: Sequence[int]) -> str:
    return f"{'round' if len(rounds) == 1 else 'rounds'} {', '.join(map(str, rounds))}"
