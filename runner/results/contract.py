"""The closed list of words with which a run ends, and what is taken for a line of a worker. Pure."""

import json
import math
from typing import Any, NoReturn

from runner.results.lines import EVENTS

# what an ending means; the first five are said by the worker (lines.End), the others by the host
ENDINGS = {
    "ok": "measured to the end",
    "oom": "out of memory: a result, not a crash",
    "unsupported": "the stack cannot do what the cell asks",
    "not_finite": "the loss became NaN or infinite: no throughput",
    "error": "the worker failed and said why",
    "timeout": "it did not start, or no step finished, in time",
    "killed": "ended from outside before its end; its round is made again",
    "died": "it ended without saying how, or wrote what is no event",
    "not_started": "no worker could be started; its round is made again",
    "skipped": "planned, but cannot run here",
}
INTERRUPTED = "the session was interrupted"          # why a run was killed that is made again when the session goes on
# endings that are results; the two others were cut short from outside, and their rounds are made again
FINAL = frozenset(ENDINGS) - {"killed", "not_started"}
WELL = frozenset({"ok", "oom", "unsupported"})      # nothing went wrong: too little memory is an answer, too
LONGEST_LINE = 2**24     # bytes; the longest real event is far smaller, and a longer line comes cut


class NotAnEvent(Exception):
    """A line that is not in the contract, or more lines than any measurement needs."""


def parsed(line: bytes) -> dict[str, Any]:
    """The event in a line. Raises NotAnEvent."""
    shown = ascii(line[:60])[2:-1]
    try:
        # numbers that are infinite or very long are refused, too
        event = (json.loads(line, parse_constant=_refuse, parse_float=_finite, parse_int=_small)
                 if len(line) <= LONGEST_LINE else None)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or event.get("event") not in tuple(EVENTS):
        raise NotAnEvent(f'the worker wrote what is no event: "{shown}"')
    try:
        EVENTS[event["event"]].read(event)
    except (ValueError, OverflowError) as error:
        raise NotAnEvent(f'the worker wrote a broken event: {str(error)[:200]}: "{shown}"') from error
    return event


def first(line: bytes) -> dict[str, Any] | None:
    """As parsed, of a worker that has said nothing yet; None for a line that its environment printed at its start."""
    begins = 0 if line.startswith(b"{") else line.find(b'{"event"')
    return parsed(line[begins:]) if begins >= 0 else None


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _small(text: str) -> int:
    return int(text) if len(text) < 20 else _refuse(text)
