"""The request of a command line, and the bench that a session's runs are made with."""

import time
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from runner.launchers.protocol import Launcher
from runner.machine import host as machine
from runner.machine import telemetry
from runner.machine.cpu_energy import Meter
from runner.machine.programs import Clocks
from runner.paths import Places
from runner.planning.plan import Plan, Planned, Wishes
from runner.results.rows import Measurements
from runner.results.store import RESULTS, Record
from runner.stacks.definition import Stack

Event = Record                   # of a session; a record of its store, or "now", which nobody keeps
Enough = Callable[[Measurements], Set[str]]      # the blocks (rows.blocks) that need no more rounds


class Going(NamedTuple):
    """How a session goes; each field is an option of every command that makes one (runner/cli/options.py)."""

    is_fresh: bool = False           # no unfinished session is resumed
    stall: float | None = None       # seconds without a step that end a run
    is_agreed: bool = False          # nobody is asked, also for more than an hour
    minutes: float | None = None     # after which no round begins
    waits: bool = False              # while another session measures on this machine

    @property
    def goes_on(self) -> str:
        """Which command goes on with what this one leaves: with --fresh it would begin anew."""
        return f"the same command{' without --fresh' * self.is_fresh} goes on"


class Request(NamedTuple):
    """What is measured, and how."""

    study: str                      # its name, or with experiments: krisilias/kri-f3,kri-mem
    scale: str | None = None
    launcher: str = "auto"           # with its own options: inside:venv
    data: str | None = None
    wishes: Wishes = Wishes()
    env: tuple[str, ...] = ()        # names of variables that workers get
    until: float | None = None       # the width of intervals over their ratios, for which rounds are added
    results: Path = RESULTS
    going: Going = Going()
    is_proving: bool = False
    models: tuple[str, ...] = ()     # the user's own files, in place of a study
    same: str = ""                   # the file that gives all of them their weights
    lanes: tuple[str, ...] = ()      # of the files; (): all
    options: Mapping[str, tuple[Any, ...]] = MappingProxyType({})      # values of the files' own parameters, by name
    packages: tuple[str, ...] = ()   # that their environments have besides, each NAME==VERSION
    places: Places = Places()        # where studies and stacks lie
    with_products: bool = True       # the machine's matrix products are measured first, for shares of the machine


class Bench(NamedTuple):
    """All that runs are made with."""

    plan: Plan
    stacks: dict[str, Stack]
    launcher: Launcher
    data: Path
    folder: Path                                  # of the session
    going: Going = Going()
    seconds_estimate: float | None = None         # of the whole plan
    is_stopping: Callable[[], bool] = lambda: False     # whether the user asked for the end
    clock: Callable[[], float] = time.monotonic
    readings: Callable[[], machine.Reading] = machine.reading
    programs: Callable[[], Clocks | None] = lambda: None      # what each program of the host has used so far
    watches: Callable[[Planned], telemetry.Watch | None] = lambda planned: None
    folders: Mapping[str, Path] = MappingProxyType({})      # of data sets by name, for cells that read another
    meters: Callable[[], Meter | None] = lambda: None       # of the CPU packages' energy
    wait: Callable[[float], None] = time.sleep
    enough: Enough = lambda measured: frozenset()
