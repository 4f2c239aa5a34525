"""The energy of CPU packages over a run's timed steps, by the kernel's RAPL counters; None where they cannot be read.

Linux, Documentation/power/powercap/powercap.rst. A zone "package-N" is a socket (or one die of it); its sub-zones
(cores, graphics, memory) are parts of it or beside it and are not added, nor is "psys", which holds the packages too.
Since Linux 5.10 only root may read the counters (CVE-2020-8694). They count all that a package does, of this run
and of others, idle cores too, and wrap around within minutes to hours, so that they are read all along.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from runner.machine.kernel_files import content

_ZONES = Path("sys/class/powercap")
_PACE_SECONDS = 10.0           # a counter of 65 kJ wraps around in two minutes at 500 W
_LEAST_SECONDS = 0.1           # counters move every millisecond; of less they say little

Zones = Mapping[Path, int]     # by the counter's file: where it wraps around, in microjoules


def zones(root: Path = Path("/")) -> Zones:
    """The counters of all packages; {} where not every one can be read. root: of the file system."""
    counters: dict[Path, int] = {}
    for zone in sorted((root / _ZONES).glob("intel-rapl:*")):
        if re.fullmatch(r"intel-rapl:\d+", zone.name) and content(zone / "name").startswith("package"):
            reach = _number(zone / "max_energy_range_uj")
            if reach is None or _number(zone / "energy_uj") is None:
                return {}
            counters[zone / "energy_uj"] = reach
    return counters


class Meter:
    """Counts what the packages took over a run's timed steps, from start() to ended(); heard() marks the steps."""

    def __init__(self, zones: Zones, clock: Callable[[], float] = time.monotonic) -> None:
        self._zones, self._clock = zones, clock
        self._lock, self._is_over = threading.Lock(), threading.Event()
        self._joules: float | None = 0.0
        self._last: dict[Path, int] = {}
        self._began: tuple[float, float | None] | None = None
        self._window: tuple[float, float | None] | None = None      # seconds and joules between the marks
        self._thread = threading.Thread(target=self._read_on, name="cpu energy", daemon=True)

    def start(self) -> None:
        """Read from now on."""
        self.total()
        self._thread.start()

    def heard(self, event: str) -> None:
        """Note a worker's event. Timed steps lie between its start, warm-up or last steps and its next steps."""
        now, total = self._clock(), self.total()
        if event in ("steps", "epoch") and self._began is not None:
            (seconds, joules), (began, before) = self._window or (0.0, 0.0), self._began
            if joules is not None:
                joules = None if before is None or total is None else joules + total - before
            self._window = seconds + now - began, joules
        if event in ("start", "warm", "steps", "epoch"):
            self._began = now, total

    def total(self) -> float | None:
        """Joules since the first reading; None once a counter could not be read."""
        with self._lock:
            for file, reach in self._zones.items():
                now = _number(file)
                before = self._last.get(file, now)
                if now is None or before is None:
                    self._joules = None
                    continue
                self._last[file] = now
                if self._joules is not None:
                    self._joules += (now - before if now >= before else now + reach - before) / 1e6
            return self._joules if self._zones else None

    def ended(self) -> dict[str, float | None]:
        """Stop; what the packages took, for the ending's host readings."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        seconds, joules = self._window or (0.0, None)
        is_told = joules is not None and seconds >= _LEAST_SECONDS
        return {"cpu_joules": joules if is_told else None, "cpu_energy_seconds": seconds if is_told else None,
                "cpu_watts": joules / seconds if is_told and joules is not None else None}

    def _read_on(self) -> None:
        while not self._is_over.wait(_PACE_SECONDS):
            self.total()


def _number(file: Path) -> int | None:
    text = content(file)
    return int(text) if text.isascii() and text.isdigit() else None
