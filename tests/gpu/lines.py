"""What a check says: lines, each with a figure, its limit and a verdict."""

from typing import NamedTuple

OK, NOT_OK, NOT_RUN, NOT_HERE = "ok", "NOT OK", "not run", "n/a"


class Line(NamedTuple):
    what: str
    figure: str
    limit: str = ""
    verdict: str = OK                # without a limit: what is only to be known


class Ended(Exception):
    """A part ended before it said its lines: (verdict, why)."""


def judged(what: str, figure: str, limit: str, is_ok: bool) -> Line:
    return Line(what, figure, limit, OK if is_ok else NOT_OK)


def between(what: str, value: float, low: float, high: float, figure: str = "") -> Line:
    """A line whose value must lie from low to high; NaN does not."""
    return judged(what, figure or f"{value:.3f}", f"{low:g} to {high:g}", low <= value <= high)


def excused(what: str, error: Exception) -> Line:
    """The line of a part that raised an error."""
    verdict, why = error.args if isinstance(error, Ended) else (NOT_OK, f"{type(error).__name__}: {error}")
    return Line(what, why.splitlines()[0], "runs to its end" if verdict == NOT_OK else "", verdict)
