"""What a worker sends, each line held to the contract of runner/results/lines.py as it is sent."""

from typing import Any

from tests.strays import strays


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
