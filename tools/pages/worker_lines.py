"""The tables of a worker's lines: events, their keys, and what a worker says of itself."""

from collections.abc import Iterable, Iterator

from runner.results.contract import EVENTS, FACTS, Key


def page() -> str:
    """The page, as Markdown."""
    blocks = ["# The lines of a worker: events and keys", "Written by `python -m tools pages`.",
              "\n".join(("| event | when |", "|---|---|", *(f"| `{name}` | {event.when} |"
                                                           for name, event in EVENTS.items())))]
    for heading, keys in (*((f"`{name}`", event.keys) for name, event in EVENTS.items() if event.keys),
                          ("Facts", FACTS)):
        blocks += [f"## {heading}", "\n".join(_table(keys))]
    return "\n\n".join(blocks) + "\n"


def _table(keys: Iterable[Key]) -> Iterator[str]:
    yield from ("| key | type | unit | always | what |", "|---|---|---|---|---|")
    yield from (f"| `{key.name}` | {key.kind} | {key.unit} | {'yes' if key.is_always else ''} | {key.says} |"
                for key in keys)
