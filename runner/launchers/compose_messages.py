"""The messages of compose.yaml's nodes, checked as if a stranger on their network had sent them. Pure.

workloads/places/compose_node.py writes them."""

import json
from typing import Annotated

from pydantic import Field

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


class Output(Line):
    """A line of its worker, whose bytes that are no text are half surrogates."""

    line: Text


class End(Line):
    """Its worker's end; exit is a code, or minus the number of a signal."""

    exit: Annotated[int, Field(ge=-64, le=255)]
    is_out_of_memory: bool
    last_words: Text


_KINDS: dict[str, type[Line]] = {"line": Output, "exit": End, "alive": Alive, "place": About}       # by a key of theirs


def message(line: bytes) -> Line | None:
    """What a node's line says, None of an unknown kind. Raises Unheard."""
    try:
        content = json.loads(line)
        if not isinstance(content, dict):
            raise ValueError(f"no object: {content!r:.40}")
        return next((kind.read(content) for key, kind in _KINDS.items() if key in content), None)
    except (ValueError, OverflowError, RecursionError) as error:
        raise Unheard(f"a node's message: {error}") from error
