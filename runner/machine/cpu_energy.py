"""The energy of CPU packages over a run's timed steps, by the kernel's RAPL counters; None where they cannot be read.

Linux, Documentation/power/powercap/powercap.rst. A zone "package-N" is a socket (or one die of it); its sub-zones
(cores, graphics, memory) are parts of it or beside it and are not added, nor is "psys", which holds the packages too.
Since Linux 5.10 only root may read the counters (CVE-2020-8694). They count all that a package does, of this run
and of others, idle cores too, and wrap around within minutes to hours, so that they are read all along.
"""

import math
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
        self._joules = 0.0             # nan once a counter could not be read, and so is all that is added to it
        self._last: dict[Path, int] = {}
        self._began: tuple[float, float] | None = None
        self._window = 0.0, 0.0        # seconds and joules between the marks
        self._thread = threading.Thread(target=self._read_on, name="cpu energy", daemon=True)

    def start(self) -> None:
        """Read from now on."""
        self.total()
        self._thread.start()

    def heard(self, event: str) -> None:
        """Note a worker's event. Timed steps lie between its start, warm-up or last steps and its next steps."""
        now, total = self._clock(), self.total()
        if event in ("steps", "epoch") and self._began is not None:
            (seconds, joules), (began, before) = self._window, self._began
            self._window = seconds + now - began, joules + total - before
        if event in ("start", "warm", "steps", "epoch"):
            self._began = now, total

    def total(self) -> float:
        """Joules since the first reading; nan once a counter could not be read."""
        with self._lock:
            for file, reach in self._zones.items():
                now = _number(file)
                before = self._last.get(file, now)
                if now is None or before is None:
                    self._joules = math.nan
                    continue
                self._last[file] = now
                self._joules += (now - before if now >= before else now + reach - before) / 1e6
            return self._joules

    def ended(self) -> dict[str, float | None]:
        """Stop; what the packages took, for the ending's host readings."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        seconds, joules = self._window
        if seconds < _LEAST_SECONDS or math.isnan(joules):
            return {"cpu_joules": None, "cpu_energy_seconds": None, "cpu_watts": None}
        return {"cpu_joules": joules, "cpu_energy_seconds": seconds, "cpu_watts": joules / seconds}

    def _read_on(self) -> None:
        while not self._is_over.wait(_PACE_SECONDS):
            self.total()


def _number(file: Path) -> int | None:
    text = content(file)
    return int(text) if text.isascii() and text.isdigit() else None
