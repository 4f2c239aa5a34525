"""--until 2%: rounds are added until every ratio's interval is narrow enough, or a cap is reached. Pure.

A session that stops when it likes what it sees is wrong more often than its intervals say. So the rule looks at the
widths alone, never at the side of 1 on which an interval lies; it looks seldom (after 5 rounds, or as many as the study
has, then half as many again each time); and it stops only where two looks in succession were narrow, since a width that
is small by chance seldom is so twice. `python -m tests.coverage` simulates it: of 4,000 sessions with deviations of a
round's log-ratio from 0.2 to 1 % and --until 2%, 3.1 to 3.9 % have a false word, where words promise at most 5.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from runner.analysis.summary_format import Summary
from runner.errors import InputError

FIRST_LOOK = 5               # rounds
CAP = 50                     # rounds, where none is given
_GROWTH = 1.5


class Until(NamedTuple):
    """What the user asked for."""

    width: float             # of an interval over its ratio: 0.02 is 2 %
    cap: int                 # rounds at most


class Width(NamedTuple):
    """How wide a ratio's interval is."""

    stack: str
    label: str
    width: float             # (high - low) / ratio; infinite where there is no interval yet


class Outcome(NamedTuple):
    """Why no more rounds were added."""

    is_narrow: bool
    rounds: int
    wide: tuple[Width, ...]  # that were still too wide, the widest first


def parse(text: str | None, cap: int | None = None) -> Until | None:
    """The Until of "2%" or "2 %"; of None none. Raises InputError, also for a cap alone."""
    if text is None:
        if cap is not None:
            raise InputError(f"--cap {cap}: found no --until, of whose rounds it is the cap; `--rounds {cap}` makes as "
                             "many")
        return None
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?) ?%", text.strip())
    width = float(match[1]) / 100 if match else 0.0
    if not 0 < width <= 1:
        raise InputError(f'--until: found "{text}", expected a share above 0 % and at most 100 %, such as 2%')
    return Until(width, cap or CAP)


def looks(first: int, cap: int) -> list[int]:
    """After how many rounds the widths are looked at; the last one is the cap."""
    rounds = [min(max(first, FIRST_LOOK), cap)]
    while rounds[-1] < cap:
        rounds.append(min(cap, math.ceil(rounds[-1] * _GROWTH)))
    return rounds


def widths(summary: Summary) -> list[Width]:
    """Of every ratio to the baseline that both sides were measured for."""
    return [Width(result.stack, comparison.label,
                  (result.ratio_interval.high - result.ratio_interval.low) / result.ratio
                  if result.ratio_interval else math.inf)
            for comparison in summary.comparisons for result in comparison.results if result.ratio is not None]


def outcome(seen: Sequence[Sequence[Width]], rounds: int, until: Until) -> Outcome | None:
    """What to stop with after the looks that were seen, the last of them after so many rounds; None: go on."""
    wide = sorted((each for each in seen[-1] if each.width > until.width), key=lambda each: -each.width)
    is_narrow = len(seen) > 1 and not any(each.width > until.width for look in seen[-2:] for each in look)
    return Outcome(is_narrow, rounds, tuple(wide)) if is_narrow or rounds >= until.cap else None


def lines(outcome: Outcome, until: Until) -> str:
    """The outcome in a line."""
    asked = f"--until {until.width * 100:g}%"
    if outcome.is_narrow:
        said = f"{asked}: every interval is narrower after {outcome.rounds} rounds, at two looks in succession."
    elif not outcome.wide:
        said = f"{asked}: the cap of {outcome.rounds} rounds is reached; all intervals are narrower, at one look only."
    else:
        worst = outcome.wide[0]
        width = "without an interval" if math.isinf(worst.width) else f"{worst.width * 100:.1f} % wide"
        still = "1 interval is" if len(outcome.wide) == 1 else f"{len(outcome.wide)} intervals are"
        said = (f"{asked}: the cap of {outcome.rounds} rounds is reached; {still} still too wide, the widest "
                f"{worst.stack}, {worst.label}: {width}.")
    return said
