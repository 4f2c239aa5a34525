"""What a paper states and no cell can test: told, not tested. Pure."""

from typing import Any, NamedTuple

from runner import strict_toml
from runner.strict_toml import Place


class Told(NamedTuple):
    """A statement of a paper that no claim of ours tests."""

    id: str
    source: str                  # its place in the paper
    text: str                    # in our words
    why: str                     # it is not tested


def told(found: Any, place: Place) -> tuple[Told, ...]:
    """The [[told]] of a study's file. Raises InputError."""
    statements = tuple(_told(each, place.entry(each, "told")) for each in found)
    strict_toml.refuse_twice("told", [each.id for each in statements], place)
    return statements


def _told(found: Any, place: Place) -> Told:
    strict_toml.refuse_unknown(found, Told._fields, place)
    return Told(*(strict_toml.string(found, name, place) for name in Told._fields))
