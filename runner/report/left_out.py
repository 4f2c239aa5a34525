"""Failed runs, skipped cells, and runs far from the others, alike ones in one line. Pure."""

from collections.abc import Callable, Sequence
from typing import Any

from runner import formatting
from runner.analysis.summary_format import Comparison, Failure, Skip
from runner.report.tables import Table, table, texts

_LONGEST_MESSAGE = 300         # of a failed run; all of it stands in events.jsonl


_FAILED = texts("stack", "what", "ended", "rounds", "message", "what it wrote", on_page_alone="what it wrote")
_SKIPPED = texts("experiment", "stack", "cells", "reason", on_page_alone="experiment")
_FAR = texts("stack", "what", "rounds")


def failed(failures: Sequence[Failure], session_of: Callable[[str], str]) -> list[Table[Any]]:
    """Runs that failed alike are one line, and so are all cells that a stack does not support.

    session_of: the id of a cell's session, by its key.
    """
    alike: dict[tuple[str, ...], list[Failure]] = {}
    for failure in failures:
        cell = "" if failure.ending == "unsupported" else failure.label
        message = failure.message[:_LONGEST_MESSAGE] + "…" * (len(failure.message) > _LONGEST_MESSAGE)
        alike.setdefault((failure.stack, cell, failure.ending, message), []).append(failure)
    return table("Runs that did not end ok", _FAILED, {"": [
        (stack, _cells(list(dict.fromkeys(one.label for one in runs))), ending,
         ", ".join(map(str, sorted({one.round for one in runs}))), message,
         formatting.show(session_of(runs[0].run.partition(".")[0]), runs[0].run))
        for (stack, _, ending, message), runs in alike.items()]})


def skipped(skips: Sequence[Skip]) -> list[Table[Any]]:
    """Skipped cells of one stack and reason are one line."""
    alike: dict[tuple[str, str], list[Skip]] = {}
    for skip in skips:
        alike.setdefault((skip.stack, skip.reason), []).append(skip)
    return table("Skipped", _SKIPPED, {"": [
        (", ".join(dict.fromkeys(one.experiment for one in cells)), stack, _cells([one.label for one in cells]), reason)
        for (stack, reason), cells in alike.items()]})


def far_runs(comparisons: Sequence[Comparison]) -> list[Table[Any]]:
    """A line for each result with rounds whose rate is far from its others."""
    return table("Runs far from the others of their cell (they count all the same)", _FAR, {"": [
        (result.stack, comparison.label, ", ".join(map(str, result.outlier_rounds)))
        for comparison in comparisons for result in comparison.results if result.outlier_rounds]})


def _cells(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else formatting.count(len(labels), "cell")
