"""What a paper states and no cell can test: told, not tested. Pure."""

from typing import Any, NamedTuple

from runner import strict_toml
from runner.strict_toml import Position


class Told(NamedTuple):
    """A statement of a paper that no claim of ours tests."""

    id: str
    source: str                  # where in the paper
    text: str                    # in our words
    why: str                     # it is not tested


def told(entries: Any, position: Position) -> tuple[Told, ...]:
    """The [[told]] of a study's file. Raises InputError."""
    statements = tuple(_told(each, position.entry(each, "told")) for each in entries)
    strict_toml.refuse_twice("told", [each.id for each in statements], position)
    return statements


def _told(entry: Any, position: Position) -> Told:
    strict_toml.refuse_unknown(entry, Told._fields, position)
    return Told(*(strict_toml.string(entry, name, position) for name in Told._fields))
