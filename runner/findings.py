"""Findings of `evenbench doctor`: a subject, a grade, a text, and the command that mends it."""

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing, and the command that mends what is lacking."""

    what: str
    grade: str          # good, note: results say so, fails: nothing can be measured
    found: str
    mend: str = ""


def judged(what: str, is_good: bool, found: str, mend: str, otherwise: str = "note") -> Finding:
    """Good, or graded otherwise with the command that mends it."""
    return Finding(what, "good", found) if is_good else Finding(what, otherwise, found, mend)
