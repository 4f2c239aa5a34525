"""The messages of compose.yaml's nodes, checked as if a stranger on their network had sent them. Pure.

workloads/places/compose_node.py writes them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import Field

from runner.launchers.protocol import Exit
from runner.results.lines import Count, Line, Number, Text


class Unheard(ValueError):
    """A message that no node of ours sends."""


class About(Line):
    """What a node says that it is, when it connects."""

    place: Text
    stack: Text
    base: Text
    fingerprint: Text            # "" where compose, or a hand, built its image
    workloads: Text              # the digest of those that it has
    affinity: list[Count]
    cpu_quota: Number | None
    memory_bytes: Count | None


class Alive(Line):
    """The answer of one that was asked."""

    group_peak_bytes: Count | None


class _Output(Line):
    """A line of its worker."""

    line: Text


class _End(Line):
    """Its worker's end; exit is a code, or minus the number of a signal."""

    exit: Annotated[int, Field(ge=-64, le=255)]
    is_out_of_memory: bool
    last_words: Text


@contextmanager
def _heard(line: bytes) -> Iterator[dict[str, Any]]:
    """The object in a line. Raises Unheard, also for what its reader refuses."""
    try:
        content = json.loads(line)
        if not isinstance(content, dict):
            raise ValueError(f"no object: {content!r:.40}")
        yield content
    except (ValueError, OverflowError, RecursionError) as error:
        raise Unheard(f"a node's message: {error}") from error


def about(line: bytes) -> About:
    """A node's first line. Raises Unheard."""
    with _heard(line) as greeting:
        return About.read(greeting)


def message(line: bytes) -> bytes | Exit | Alive | None:
    """Any later line of a node: its worker's output, its worker's end, or a sign of life; None of an unknown kind.

    Raises Unheard.
    """
    with _heard(line) as content:
        if "line" in content:
            return _Output.read(content).line.encode("utf-8", "surrogateescape") + b"\n"
        if "exit" in content:
            end = _End.read(content)
            return Exit(end.exit, end.is_out_of_memory, end.last_words)
        return Alive.read(content) if "alive" in content else None
