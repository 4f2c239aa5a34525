"""What a session's runs are made with, and what is ahead of it."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from runner.launchers.protocol import Launcher
from runner.machine import gpus, telemetry
from runner.machine import host as machine
from runner.machine.cpu_energy import Meter
from runner.planning.plan import Plan, Planned
from runner.results.earlier_sessions import Left
from runner.results.store import Store
from runner.stacks.definition import Stack
from workloads.spec.cell import Cell


class Progress(Protocol):
    """Who shows how far a session is."""

    def begin(self, total: int, seconds_estimate: float | None) -> None:
        """So many runs are ahead."""

    def left(self, seconds: float) -> None:
        """So long the runs that are ahead will take, from what each cell took so far."""

    def run_started(self, label: str) -> None:
        """A run begins, or several of a comparison at once; label: of what, in a few words."""

    def now(self, doing: str) -> None:
        """What is being done: "warming up", "turn 3 of 12"."""

    def delayed(self, why: str) -> None:
        """What the session waits for before it goes on."""

    def run_ended(self, key: str, label: str, ending: str, rate: str, seconds: float, message: str) -> None:
        """A run is over."""

    def close(self) -> None:
        """No more runs."""


class RunOnGpus(NamedTuple):
    """What a run that has some of the GPUs is made with."""

    launcher: Launcher
    watches: Callable[[Planned], telemetry.Watch | None]


class SideBySide(NamedTuple):
    """The machine's GPUs, and what a run on some of them is made with."""

    all_gpus: gpus.Gpus
    on: Callable[[gpus.Gpus], RunOnGpus]


class Bench(NamedTuple):
    """All that runs are made with."""

    plan: Plan
    stacks: dict[str, Stack]
    launcher: Launcher
    data: Path
    store: Store
    progress: Progress
    stall: float | None = None                    # seconds without a step that end a run; launch.limits has a default
    seconds_estimate: float | None = None         # of the whole plan
    is_stopping: Callable[[], bool] = lambda: False     # whether the user asked for the end
    clock: Callable[[], float] = time.monotonic
    readings: Callable[[], machine.Reading] = machine.reading
    watches: Callable[[Planned], telemetry.Watch | None] = lambda planned: None       # of the GPUs that a cell gets
    side_by_side: SideBySide | None = None        # cells on different GPUs at once
    folders: Mapping[str, Path] = MappingProxyType({})      # of data sets by name, for cells that read another
    meters: Callable[[], Meter | None] = lambda: None       # of the CPU packages' energy
    wait: Callable[[float], None] = time.sleep


class PendingRun(NamedTuple):
    """A run that is ahead."""

    planned: Planned
    round: int
    attempt: int                                  # 1, or more where an earlier session was interrupted
    label: str                                    # of its comparison
    left: Left | None = None                      # the same run, which an earlier runner began and did not end

    @property
    def cell(self) -> Cell:
        """As this round runs it."""
        return self.planned.cell_of(self.round)

    @property
    def name(self) -> str:
        """The run's name in the record."""
        return f"{self.planned.key}.{self.round}.{self.attempt}"

    @property
    def short(self) -> str:
        """The run's comparison in a few words."""
        return f"{self.cell.task} {self.cell.measure}, batch {self.cell.batch}"

    @property
    def shown(self) -> str:
        """The run for people."""
        return f"{self.planned.experiment}: {self.planned.cell.stack}: {self.label}"
