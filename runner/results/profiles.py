"""A worker's lines on kernels, graphs, the largest batch and compiling, as models. Pure."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, PositiveInt, ValidationError

_Top = tuple[str, NonNegativeInt, NonNegativeFloat]


class Line(BaseModel):
    """What a line holds; unknown keys are passed over."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> Self:
        """What the line says. Raises ValueError of one line."""
        try:
            return cls.model_validate(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"{where}: {first['msg']}, found {first['input']!r:.40}") from error


class Kernels(Line):
    """Where a device's time went; seconds are sums over the profiled steps."""

    steps: PositiveInt
    kernel_seconds: NonNegativeFloat
    copy_seconds: NonNegativeFloat
    overlap_seconds: NonNegativeFloat = 0.0   # a kernel and a copy ran at once
    gap_seconds: NonNegativeFloat             # neither a kernel nor a copy ran
    launch_seconds: NonNegativeFloat | None   # the host's, launching kernels; None where the profiler does not say
    kernels: NonNegativeInt
    top: tuple[_Top, ...] = ()                # name, calls, seconds; the longest first
    source: str = ""                          # whose record it is, and what it cannot tell

    def share(self, seconds: float | None) -> float | None:
        """The share of all seconds; None where there are none."""
        whole = self.kernel_seconds + self.copy_seconds - self.overlap_seconds + self.gap_seconds
        return seconds / whole if seconds is not None and whole else None


class Compiled(Line):
    """What a framework compiled from its start to the last step, by its own account."""

    programs: NonNegativeInt
    seconds: NonNegativeFloat                 # of the compiler
    tracing_seconds: NonNegativeFloat = 0.0   # of what the framework did before it: from Python to the compiler's input


class Removed(Line):
    """Nodes that optimising a graph took away, by what they do (dai2022, Table 6)."""

    expensive: NonNegativeInt
    cheap: NonNegativeInt
    noop: NonNegativeInt


class Passes(Line):
    """The nodes that each optimisation removed; negative where it added some."""

    pruning: int
    constant_folding: int
    arithmetic: int
    dependency: int


class Graph(Line):
    """A graph before and after its optimisation."""

    nodes_before: PositiveInt
    nodes_after: NonNegativeInt
    removed: Removed
    passes: Passes

    @property
    def removed_share(self) -> float:
        """The share of nodes that went, net of those that were added."""
        return 1 - self.nodes_after / self.nodes_before

    def removed_by(self, name: str) -> float:
        """The share of nodes that one optimisation took away."""
        fewer: int = getattr(self.passes, name)
        return fewer / self.nodes_before

    def share_of_removed(self, kind: str) -> float | None:
        """Expensive, cheap or no-op nodes among those removed; None where none was."""
        count: int = getattr(self.removed, kind)
        whole = self.removed.expensive + self.removed.cheap + self.removed.noop
        return count / whole if whole else None


class Tried(Line):
    """A batch that was tried in a process of its own."""

    batch: PositiveInt
    ending: str
    seconds: NonNegativeFloat
    peak_bytes: NonNegativeInt | None


class MaxBatch(Line):
    """The largest batch that trains."""

    largest: NonNegativeInt                   # 0: none does
    smallest_oom: PositiveInt | None          # None: none that was tried ran out of memory
    limit_bytes: PositiveInt | None           # of the host's memory; None: a GPU's own is the limit
    tried: tuple[Tried, ...]
