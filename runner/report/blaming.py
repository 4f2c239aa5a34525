"""What `evenbench blame` says: the difference, a line a reason with both proofs, the release. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from runner import formatting, schemas
from runner.analysis.blame import ITSELF, Finding, Likeness, Measured, Mix, Reason, Releases
from runner.report.tables import Part

_MOST_NAMED = 3                  # groups of a line


class Answer(NamedTuple):
    """What was found, and what it took."""

    new: Measured
    finding: Finding
    releases: Mapping[str, Releases]     # by group
    versions: Mapping[str, str]          # of each group: "jax 0.8.1 -> 0.10.2"
    loaded: tuple[str, ...]              # groups
    packages: int                        # that differ
    environments: int                    # that were made
    seconds: float
    is_complete: bool


def conclusion(answer: Answer) -> str:
    """The answer in a sentence."""
    new, finding = answer.new, answer.finding
    if new.doubt:
        return f"It cannot be told whether new is slower: {new.doubt}."
    if new.ratio is None:
        return "Nothing was measured yet."
    if not new.differs:
        return f"No difference is shown: new is {_ratio(new)} of old, so no package is blamed."
    if not finding.reasons:
        return "No package is found yet."
    word = "slower" if new.ratio < 1 else "faster"
    named = " and ".join(_names(each.groups, answer) for each in finding.proved)
    if finding.is_whole:
        return f"{named}: the reason why new is {word}."
    if named:
        return f"{named}: a reason why new is {word}; {_ratio(finding.rest)} of old is left without it."
    if broken := _broken(finding.reasons[-1]):
        return f"It cannot be told which: packages cannot be combined: {broken}"
    return "It cannot be told which package it is; more --rounds or a quieter machine may tell."


def rows(answer: Answer) -> list[dict[str, str]]:
    """A row a reason, then what was ruled out."""
    found = [{"package": _names(each.groups, answer), "into old alone": _ratio(each.alone),
              "out of new": "old itself" if each.without == ITSELF else _ratio(each.without), "": _word(each)}
             for each in answer.finding.reasons]
    blamed: Mix = Mix().union(*(each.groups for each in answer.finding.reasons))
    limit = answer.finding.reasons[0].limit if answer.finding.reasons else 1.0
    ruled_out = [(mix, each) for mix, each in answer.finding.measured.items()
                 if not mix & blamed and each.likeness(limit) is Likeness.OLD]
    return found + [{"package": _names(mix, answer), "into old alone": _ratio(each), "out of new": "", "":
                     "no difference shown" if not each.differs else "not the reason"}
                    for mix, each in sorted(ruled_out, key=lambda item: (len(item[0]), sorted(item[0])))]


def _word(reason: Reason) -> str:
    if reason.is_proved:
        return "THE REASON" if len(reason.groups) == 1 else "THE REASON, together" if reason.is_least else "among these"
    if broken := _broken(reason):
        return f"cannot be combined: {broken}"
    doubt = reason.alone.doubt or reason.without.doubt
    return f"not proved: {doubt}" if doubt else "not proved"


def _broken(reason: Reason) -> str:
    """Why one of its two proofs could not be measured; "" where both could."""
    return next((each.reason for each in (reason.alone, reason.without)
                 if each.likeness(reason.limit) is Likeness.BROKEN), "")


def differing(packages: int) -> str:
    """1 package differs, 5 packages differ."""
    return formatting.count(packages, "package differs", "packages differ")


def parts(answer: Answer) -> Sequence[Part]:
    """What people read."""
    loaded = f", {len(answer.loaded)} of {len(answer.versions)} groups are loaded by the file" if answer.loaded else ""
    head = [f"new is {_ratio(answer.new)} of old; {differing(answer.packages)}{loaded}"
            ] if answer.new.ratio is not None else []
    return [*head, *([rows(answer)] if answer.finding.reasons else []), *map(_release, answer.releases.values()),
            conclusion(answer), f"{formatting.count(answer.environments, 'environment')} made, "
            f"{formatting.seconds(answer.seconds)}"]


def _release(found: Releases) -> str:
    if found.unclear:
        return (f"first release like new: {found.first_like_new} or one of {', '.join(found.unclear)}, of which "
                "nothing can be told")
    before = f"; {found.last_like_old} is like old" if found.last_like_old else ""
    return f"first release like new: {found.first_like_new}{before}"


def record(answer: Answer) -> dict[str, Any]:
    """The same as JSON values."""
    def measured(each: Measured) -> dict[str, Any]:
        return {"ratio": each.ratio, "interval": None if each.ratio is None else [each.low, each.high],
                "reason": each.reason}

    return {"schema": schemas.BLAME, "new": measured(answer.new), "conclusion": conclusion(answer),
            "packages": answer.packages, "loaded": list(answer.loaded), "is_complete": answer.is_complete,
            "reasons": [{"packages": [answer.versions[group] for group in sorted(each.groups)],
                         "into_old_alone": measured(each.alone), "out_of_new": measured(each.without),
                         "is_proved": each.is_proved, "is_least": each.is_least} for each in answer.finding.reasons],
            "releases": {group: {"first_like_new": each.first_like_new, "last_like_old": each.last_like_old,
                                 "unclear": list(each.unclear)} for group, each in answer.releases.items()},
            "measured": [{"groups": sorted(mix), **measured(each)} for mix, each in answer.finding.measured.items()],
            "environments": answer.environments, "seconds": answer.seconds}


def _names(groups: Mix, answer: Answer) -> str:
    if len(groups) > _MOST_NAMED:
        return f"{len(groups)} others together"
    return " and ".join(answer.versions[group] for group in sorted(groups))


def _ratio(measured: Measured) -> str:
    return "-" if measured.ratio is None else formatting.ratio(measured.ratio, (measured.low, measured.high))
