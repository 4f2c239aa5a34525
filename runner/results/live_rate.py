"""The rate of a run while it lasts, for the screen only: the result's rate, from the samples so far."""

from collections.abc import Mapping
from typing import Any


class RateSoFar:
    """One worker's rate from all timed samples so far, the mean over the workers that have some.

    At the run's end this is runner.results.runs.rate_per_worker of it, so a progress line and the report say one
    number.
    """

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._timed: dict[str, tuple[int, float]] = {}         # steps and seconds by worker

    def hear(self, event: Mapping[str, Any]) -> float | None:
        """Samples a second and worker so far; None for an event without timed steps."""
        if event["event"] != "steps" or not event["seconds"]:
            return None
        worker = f"{event.get('place', '')} {event.get('worker', '')}"
        steps, seconds = self._timed.get(worker, (0, 0.0))
        self._timed[worker] = (steps + event.get("count", len(event["seconds"])), seconds + sum(event["seconds"]))
        return self.rate

    @property
    def rate(self) -> float | None:
        """The same, at any time."""
        rates = [self._batch * steps / seconds for steps, seconds in self._timed.values() if seconds > 0]
        return sum(rates) / len(rates) if rates else None
