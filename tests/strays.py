"""How a worker's line differs from what runner/results/lines.py says of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from runner.results.lines import EVENTS, Line, StartFacts


def strays(line: Mapping[str, Any]) -> list[str]:
    """Keys that are unknown, missing or of another kind, those of facts too."""
    event = EVENTS.get(line.get("event", ""))
    if event is None:
        return [f"event {line.get('event')!r} is unknown"]
    facts = _strays(StartFacts, line["facts"]) if line["event"] == "start" else ()
    return [*_strays(event, {name: value for name, value in line.items() if name != "event"}), *facts]


def _strays(model: type[Line], values: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"key {name} is unknown" for name in values if name not in model.model_fields)
    try:
        model.model_validate(values)
    except ValidationError as error:
        yield from (f"key {'.'.join(map(str, each['loc']))}: {each['type']}" for each in error.errors())
