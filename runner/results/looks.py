"""When a session looks at its words, and what each look costs. Pure.

Who ends a session when he likes what he sees is wrong more often than his intervals say. So a plan fixes the numbers of
rounds after which words are judged, and each such look spends half of the error that is left, the last one all of it:
whatever a comparison's rounds are ended by, a session has a false word in at most 5 % (Bonferroni, over looks as over
words). Rounds beyond a look wait for the next one.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

LEAST_ROUNDS = 5                # that have a word
_GROWTH = 1.5


class Look(NamedTuple):
    """The rounds that are judged, and the share of the session's error that their intervals may spend."""

    rounds: int
    share: float


ONCE = Look(2**62, 1.0)         # all rounds there are, at the end alone


def looks(rounds: int) -> list[int]:
    """After how many rounds a comparison that has so many at most is looked at."""
    found, at = list[int](), LEAST_ROUNDS
    while at < rounds:
        found.append(at)
        at = math.ceil(at * _GROWTH)
    return [*found, rounds]


def look(planned: Sequence[int], rounds: int) -> Look:
    """The last of the looks that so many rounds reach, or the first; ONCE where none was planned."""
    if not planned:
        return ONCE
    reached = max(1, sum(each <= rounds for each in planned))
    return Look(planned[reached - 1], 0.5 ** min(reached, len(planned) - 1))
