"""What a worker sends, each line held to the contract of runner/results/lines.py as it is sent."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from runner.results.lines import EVENTS, Line, StartFacts


class Sent(list[dict[str, Any]]):
    """The lines so far, in their order."""

    def __call__(self, event: str, **values: Any) -> None:
        self.append({"event": event, **values})
        assert [] == strays(self[-1])

    def of(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self if line["event"] == event]

    def values(self, key: str, event: str = "steps") -> list[Any]:
        """Those of every such line, one after the other."""
        return [value for line in self.of(event) for value in line[key]]


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
