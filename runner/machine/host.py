"""What the host is, and how busy it is: facts once, readings before and after every run. Absent is None, never 0."""

import platform
import socket
from pathlib import Path
from typing import Any, NamedTuple

import psutil

GIB = 2**30
FOREIGN_SHARE = 0.1      # of a run's CPUs' time: what others may take before the run counts as disturbed


class Machine(NamedTuple):
    """What plans are made for and reports name first."""

    cpu: str
    cpus: int                # that this process may use
    memory_bytes: int
    kernel: str
    system: str
    hostname: str

    @property
    def limit_bytes(self) -> int:
        """The memory limit of a run where the cell sets none: three quarters of the machine, in whole GiB."""
        return max(1, self.memory_bytes * 3 // 4 // GIB) * GIB


def observe() -> Machine:
    """This machine."""
    return Machine(_cpu_name(), len(psutil.Process().cpu_affinity()), psutil.virtual_memory().total, platform.release(),
                   _system(), socket.gethostname())


def governor() -> str | None:
    """The kernel's frequency governor of the first CPU; None on most virtual machines, which have none."""
    return _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None


def _cpu_name() -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _system() -> str:
    for line in _read("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


class Reading(NamedTuple):
    """The host at one moment."""

    load_1m: float
    frequency_hz: float | None
    free_bytes: int
    swap_used_bytes: int
    busy_seconds: float          # of all CPUs since boot, idle and waiting left out

    def record(self) -> dict[str, Any]:
        """What is stored; busy_seconds only means something as a difference."""
        return {name: value for name, value in self._asdict().items() if name != "busy_seconds"}


def reading() -> Reading:
    """The host now."""
    frequency = psutil.cpu_freq()
    times = psutil.cpu_times()
    return Reading(psutil.getloadavg()[0], frequency.current * 1e6 if frequency and frequency.current else None,
                   psutil.virtual_memory().available, psutil.swap_memory().used,
                   times.user + times.system + times.nice + times.irq + times.softirq)


def foreign_share(before: Reading, after: Reading, own_seconds: float, seconds: float, cpus: int) -> float | None:
    """The share of a run's CPU time that other programs took in these seconds; None for no time."""
    if seconds <= 0:
        return None
    return max(0.0, after.busy_seconds - before.busy_seconds - own_seconds) / (seconds * cpus)
