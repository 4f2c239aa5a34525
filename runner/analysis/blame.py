"""Which of the packages that differ between two environments makes one slower: a search over measured mixes. Pure.

A mix is the old environment with some groups of packages as the new one has them. It is like the new one where its
speed lies on the new one's side of half the way, by a measured interval. The search halves what is left (Zeller's delta
debugging), the loaded packages first. It first trusts that one half alone is the reason; where the proof of what it
found fails, it looks at both halves, and for reasons that need each other.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from runner.analysis import stats

_MOST_TRIED = 6                  # groups of a reason, of which each is left out in turn

Group = str                      # its packages' names, which move together
Mix = frozenset[Group]


class Likeness(StrEnum):
    """What a mix is like."""

    NEW = "like new"
    OLD = "like old"
    UNCLEAR = "cannot tell"
    BROKEN = "cannot be combined"


class Measured(NamedTuple):
    """A mix against the old environment."""

    ratio: float | None = None
    low: float = 0.0             # of the interval
    high: float = math.inf
    reason: str = ""             # why there is no ratio
    doubt: str = ""              # why no word is said of the ratio that was measured

    def likeness(self, limit: float) -> Likeness:
        """What it is like; limit: the ratio that lies half-way."""
        if self.ratio is None:
            return Likeness.BROKEN if self.reason else Likeness.UNCLEAR
        if self.low <= limit <= self.high:
            return Likeness.UNCLEAR
        return Likeness.NEW if (self.ratio < limit) == (limit < 1) else Likeness.OLD

    @property
    def differs(self) -> bool:
        """Whether it is shown to be another speed than the old one's."""
        return stats.is_apart(1.0, self.ratio, stats.Interval(self.low, self.high))


ITSELF = Measured(1.0, 1.0, 1.0)                 # the old environment, which nobody need measure
Measure = Callable[[Mix, float], Measured]       # of a mix, until it is told on which side of a ratio it lies


class Reason(NamedTuple):
    """Groups that together make a difference; both proofs."""

    groups: Mix
    alone: Measured              # put into the old environment alone
    without: Measured            # the new environment without them
    limit: float
    is_least: bool               # without any one of them the old environment is shown to be as before, or cannot run

    @property
    def is_proved(self) -> bool:
        """Whether they alone bring the difference, and without them it is gone or smaller."""
        return (self.alone.likeness(self.limit) is Likeness.NEW
                and self.without.likeness(self.limit) is Likeness.OLD)


class Finding(NamedTuple):
    """What the search found."""

    reasons: tuple[Reason, ...]
    measured: Mapping[Mix, Measured]
    rest: Measured               # what is left of the difference without the proved reasons

    @property
    def proved(self) -> tuple[Reason, ...]:
        """The reasons that are proved, and of which no part is needless."""
        return tuple(each for each in self.reasons if each.is_proved and each.is_least)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is shown to be left."""
        return bool(self.reasons) and self.proved == self.reasons and not self.rest.differs


def search(loaded: Sequence[Group], others: Sequence[Group], new: Measured, measure: Measure) -> Finding:
    """The reasons why the new environment, which was measured, is slower or faster; loaded: groups that are imported.

    A mix is measured once for each limit. The more reasons there are, the nearer their limits lie to 1.
    """
    known: dict[tuple[Mix, float], Measured] = {}
    latest: dict[Mix, Measured] = {}

    def asked(mix: Mix, limit: float, is_anew: bool = False) -> Measured:
        if (mix, limit) not in known:
            has_told = not is_anew and mix in latest and latest[mix].likeness(limit) is not Likeness.UNCLEAR
            known[mix, limit] = latest[mix] = latest[mix] if has_told else measure(mix, limit)
        return known[mix, limit]

    every = frozenset((*loaded, *others))
    reasons: list[Reason] = []
    blamed, left = Mix(), new
    while (kept := every - blamed) and left.ratio is not None and left.differs:
        limit = math.sqrt(left.ratio)                      # half of the way, by factors
        if blamed:                                         # what is left counts where it shows twice, as a reason does
            again = asked(kept, limit, is_anew=True)
            left = left if again.ratio is None else again
            if again.likeness(limit) is not Likeness.NEW:
                break
        parts = [tuple(each for each in part if each not in blamed) for part in (loaded, others)]
        reason, is_least = _without_needless(_reason([part for part in parts if part], limit, asked), limit, asked)
        rest = kept - reason
        without = asked(rest, limit) if rest else ITSELF
        reasons.append(Reason(reason, asked(reason, limit), without, limit, is_least))
        if not reasons[-1].is_proved:
            break
        blamed, left = blamed | reason, without
    return Finding(tuple(reasons), latest, left)


def _reason(parts: Sequence[tuple[Group, ...]], limit: float, measure: Measure) -> Mix:
    """The fewest groups that are like the new environment; the last guess where nothing proves to be."""
    found = Mix()
    for is_careful in (False, True):
        found = _least(parts, Mix(), limit, measure, is_careful)
        if measure(found, limit).likeness(limit) is Likeness.NEW:
            break
    return found


def _without_needless(found: Mix, limit: float, measure: Measure) -> tuple[Mix, bool]:
    """(what is left without groups that are not needed, whether each of those is shown to be needed)."""
    if len(found) > _MOST_TRIED:
        return found, False
    is_least = True
    for each in sorted(found):
        match measure(found - {each}, limit).likeness(limit) if len(found) > 1 else Likeness.OLD:
            case Likeness.NEW:
                found -= {each}
            case Likeness.UNCLEAR:
                is_least = False
    return found, is_least


def _least(parts: Sequence[tuple[Group, ...]], beside: Mix, limit: float, measure: Measure, is_careful: bool) -> Mix:
    """The fewest of the groups in one or two parts that make the difference where those beside are new, too."""
    whole = [each for part in parts for each in part]
    if len(whole) == 1:
        return frozenset(whole)
    one, other = parts if len(parts) == 2 else (whole[:len(whole) // 2], whole[len(whole) // 2:])
    like = measure(beside | {*one}, limit).likeness(limit)
    if like is Likeness.NEW:
        return _least([tuple(one)], beside, limit, measure, is_careful)
    if not is_careful and like is Likeness.OLD:
        return _least([tuple(other)], beside, limit, measure, is_careful)
    like_other = measure(beside | {*other}, limit).likeness(limit)
    if not is_careful and like is Likeness.UNCLEAR and like_other is Likeness.OLD:
        return _least([tuple(one)], beside, limit, measure, is_careful)
    if not is_careful or like_other is Likeness.NEW:
        return _least([tuple(other)], beside, limit, measure, is_careful)
    first = _least([tuple(one)], beside | {*other}, limit, measure, is_careful)
    return first | _least([tuple(other)], beside | first, limit, measure, is_careful)


class Releases(NamedTuple):
    """Where in a list of releases the difference began."""

    last_like_old: str           # "": the old version itself
    first_like_new: str
    unclear: tuple[str, ...]     # between the two, of which nothing can be told


def first_release(between: Sequence[str], new: str, limit: float, measure: Callable[[str, float], Measured]
                  ) -> Releases:
    """The first of the releases, the oldest first, that is like the new version, which comes behind them all."""
    releases = [*between, new]
    low, high = -1, len(releases) - 1                    # low is like the old one, high like the new one
    untold: set[int] = set()
    while inside := [each for each in range(low + 1, high) if each not in untold]:
        middle = min(inside, key=lambda each: (abs(2 * each - low - high), each))
        match measure(releases[middle], limit).likeness(limit):
            case Likeness.NEW:
                high = middle
            case Likeness.OLD:
                low = middle
            case _:
                untold.add(middle)
    return Releases(releases[low] if low >= 0 else "", releases[high], tuple(releases[low + 1:high]))


def grouped(names: Iterable[str], bound: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """The names in groups of those that are bound to each other, directly or by others."""
    groups: list[list[str]] = []
    for name in names:
        near = [group for group in groups if any(bound(name, other) or bound(other, name) for other in group)]
        joined = [*(each for group in near for each in group), name]
        groups = [*(group for group in groups if group not in near), joined]
    return [tuple(sorted(group)) for group in groups]
