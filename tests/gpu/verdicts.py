"""What a check says: lines, each with a figure, its limit and a verdict; and how they are printed and written."""

from collections.abc import Iterable
from typing import NamedTuple

OK, NOT_OK, NOT_RUN, NOT_HERE = "ok", "NOT OK", "not run", "n/a"


class Line(NamedTuple):
    """One thing that a check looked at."""

    what: str
    figure: str
    limit: str
    verdict: str


class NotRun(Exception):
    """A check was left out that could be made here; the message says why."""


class NotHere(Exception):
    """There is nothing for a check to prove here; the message says why."""


class Failed(Exception):
    """A process of a check did not end well; the message is its last line."""


def judged(what: str, figure: str, limit: str, is_ok: bool) -> Line:
    """A line with a limit."""
    return Line(what, figure, limit, OK if is_ok else NOT_OK)


def seen(what: str, figure: str) -> Line:
    """A line without a limit: what is only to be known."""
    return Line(what, figure, "none", OK)


def skipped(what: str, why: str) -> Line:
    """A line that was not run, though it could be: the proof is not whole."""
    return Line(what, why, "", NOT_RUN)


def absent(what: str, why: str) -> Line:
    """A line of which this device or framework has nothing."""
    return Line(what, why, "", NOT_HERE)


def excused(what: str, error: Exception) -> Line:
    """The line of what raised one of the errors above."""
    if isinstance(error, NotHere):
        return absent(what, str(error))
    return skipped(what, str(error)) if isinstance(error, NotRun) else judged(what, str(error), "runs", False)


def between(what: str, value: float, low: float, high: float, figure: str = "") -> Line:
    """A line whose value must lie from low to high; NaN does not."""
    return judged(what, figure or f"{value:.3f}", f"{low:g} to {high:g}", low <= value <= high)


def printed(number: str, title: str, lines: Iterable[Line]) -> str:
    """A check's lines for a terminal."""
    shown = [f"{number}. {title}"]
    for line in lines:
        limit = f"  [{line.limit}]" if line.limit else ""
        shown.append(f"   {line.verdict:8}{line.what}: {line.figure}{limit}")
    return "\n".join(shown)


def markdown(facts: dict[str, str], checks: Iterable[tuple[str, str, float, list[Line]]]) -> str:
    """The whole proof as a Markdown document."""
    shown = ["# What the GPU proof said", ""]
    shown += [f"* {name}: {_escaped(value)}" for name, value in facts.items()]
    for number, title, seconds, lines in checks:
        shown += ["", f"## {number}. {title} ({seconds:.0f} s)", "", "| what | figure | limit | verdict |",
                  "|---|---|---|---|"]
        shown += ["| " + " | ".join(map(_escaped, line)) + " |" for line in lines]
    return "\n".join(shown) + "\n"


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
