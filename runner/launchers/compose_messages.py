"""The messages of compose.yaml's nodes, checked as if a stranger on their network had sent them. Pure.

workloads/places/compose_node.py writes them."""

import json
from typing import NamedTuple

from runner.launchers.protocol import Exit
from runner.results.values import Facts, count, mapping, number, text


class Unheard(ValueError):
    """A message that no node of ours sends."""


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
    """A node's first line. Raises Unheard."""
    greeting = _object(line)
    try:
        return About(place=text(greeting["place"]), stack=text(greeting["stack"]), base=text(greeting["base"]),
                     fingerprint=text(greeting["fingerprint"]), workloads=text(greeting["workloads"]),
                     affinity=tuple(map(count, greeting["affinity"])), cpu_quota=number(greeting["cpu_quota"]),
                     memory_bytes=_bytes(greeting["memory_bytes"]))
    except (KeyError, TypeError, OverflowError) as error:
        raise Unheard(f"a node's greeting: {error}") from error


def message(line: bytes) -> bytes | Exit | Alive | None:
    """Any later line of a node: its worker's output, its worker's end, or a sign of life; None of an unknown kind.

    Raises Unheard.
    """
    content = _object(line)
    try:
        if "line" in content:
            return text(content["line"]).encode("utf-8", "surrogateescape") + b"\n"
        if "exit" in content:
            return Exit(_code(content["exit"]), content["is_out_of_memory"] is True, text(content["last_words"]))
        return Alive(_bytes(content["group_peak_bytes"])) if "alive" in content else None
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
