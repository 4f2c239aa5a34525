"""What nodes of compose.yaml say, read as if a stranger on their network had said it. Pure.

workloads/places/compose_node.py writes it."""

import json
from typing import NamedTuple

from runner.launchers.watchdog import Exit
from runner.results.values import Facts, count, mapping, number, text


class Unheard(ValueError):
    """What no node of ours says."""


class About(NamedTuple):
    """What a node says that it is, when it connects."""

    place: str
    stack: str
    base: str
    fingerprint: str             # "" where compose, or a hand, built its image
    workloads: str               # the digest of those that it has
    affinity: tuple[int, ...]
    cpu_quota: float | None
    memory_bytes: int | None


class Alive(NamedTuple):
    """The answer of one that was asked."""

    group_peak_bytes: int | None


def about(line: bytes) -> About:
    """Of the first line. Raises Unheard."""
    found = _object(line)
    try:
        return About(place=text(found["place"]), stack=text(found["stack"]), base=text(found["base"]),
                     fingerprint=text(found["fingerprint"]), workloads=text(found["workloads"]),
                     affinity=tuple(map(count, found["affinity"])), cpu_quota=number(found["cpu_quota"]),
                     memory_bytes=_bytes(found["memory_bytes"]))
    except (KeyError, TypeError, OverflowError) as error:
        raise Unheard(f"a node's greeting: {error}") from error


def said(line: bytes) -> bytes | Exit | Alive | None:
    """Of any other line: a line of its worker, how that went, or that it is alive; None of what is unknown here.

    Raises Unheard.
    """
    found = _object(line)
    try:
        if "line" in found:
            return text(found["line"]).encode("utf-8", "surrogateescape") + b"\n"
        if "exit" in found:
            return Exit(_code(found["exit"]), found["is_out_of_memory"] is True, text(found["last_words"]))
        return Alive(_bytes(found["group_peak_bytes"])) if "alive" in found else None
    except (KeyError, TypeError, UnicodeError) as error:
        raise Unheard(f"a node's message: {error}") from error


def _object(line: bytes) -> Facts:
    try:
        return mapping(json.loads(line))
    except (ValueError, TypeError, RecursionError) as error:
        raise Unheard(f"no object: {error}") from error


def _bytes(value: object) -> int | None:
    return None if value is None else count(value)


def _code(value: object) -> int:
    """An exit code, or minus the number of a signal."""
    if isinstance(value, bool) or not isinstance(value, int) or not -64 <= value <= 255:
        raise TypeError(f"found {value!r:.40}, expected an exit code")
    return value
