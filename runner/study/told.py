"""What a paper states and no cell can test: told, not tested. Pure."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from runner import strict_toml
from runner.strict_toml import Position
from runner.study.subjects import Text


class Told(NamedTuple):
    """A statement of a paper that no claim of ours tests."""

    id: Text
    source: Text                 # where in the paper
    text: Text                   # in our words
    why: Text                    # it is not tested


def told(entries: Iterable[Any], position: Position) -> tuple[Told, ...]:
    """The [[told]] of a study's file. Raises InputError."""
    statements = []
    for entry in entries:
        here = position.entry(entry, "told")
        strict_toml.refuse_unknown(entry, Told._fields, here)
        statements.append(strict_toml.validated(Told, entry, here))
    strict_toml.refuse_twice("told", [each.id for each in statements], position)
    return tuple(statements)
