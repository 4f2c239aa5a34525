"""What the host is, and how busy it is: facts once, readings before and after every run. Absent is None, never 0."""

import os
import platform
import socket
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
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
    cpus: int = 1                # that they are of
    busy_by_cpu: Mapping[int, float] = MappingProxyType({})      # the same of each by its number; {} where nobody says

    def record(self) -> dict[str, Any]:
        """What is stored; busy seconds only mean something as a difference."""
        left_out = ("busy_seconds", "cpus", "busy_by_cpu")
        return {name: value for name, value in self._asdict().items() if name not in left_out}


def reading() -> Reading:
    """The host now."""
    frequency = psutil.cpu_freq()
    times = psutil.cpu_times()
    return Reading(psutil.getloadavg()[0], frequency.current * 1e6 if frequency and frequency.current else None,
                   psutil.virtual_memory().available, psutil.swap_memory().used,
                   times.user + times.system + times.nice + times.irq + times.softirq, psutil.cpu_count() or 1,
                   busy_by_cpu(_read("/proc/stat"), os.sysconf("SC_CLK_TCK")))


def busy_by_cpu(stat: str, ticks: int) -> Mapping[int, float]:
    """Busy seconds of each CPU, by the lines "cpu0 user nice system idle iowait irq softirq ..." of /proc/stat.

    Read here, since psutil counts the lines and an offline CPU has none.
    """
    busy_seconds = {}
    for line in stat.splitlines():
        name, *rest = line.split() or [""]
        if name.startswith("cpu") and name[3:].isdigit() and len(rest) >= 7 and all(map(str.isdigit, rest[:7])):
            user, nice, system, _, _, interrupts, soft = map(int, rest[:7])
            busy_seconds[int(name[3:])] = (user + nice + system + interrupts + soft) / ticks
    return MappingProxyType(busy_seconds)


def foreign_share(before: Reading, after: Reading, own_seconds: float, seconds: float,
                  affinity: Collection[int] = ()) -> float | None:
    """The share of a run's CPUs' time, in so many seconds of it, that went to others; None for no time.

    affinity: the CPUs that the run may use: what others did on the rest of a large machine does not disturb it. Where
    they, or their times, are not known, it is the share of all of the machine's CPUs.
    """
    if seconds <= 0:
        return None
    busy, count = after.busy_seconds - before.busy_seconds, max(before.cpus, 1)
    if affinity and all(cpu in before.busy_by_cpu and cpu in after.busy_by_cpu for cpu in affinity):
        busy = sum(after.busy_by_cpu[cpu] - before.busy_by_cpu[cpu] for cpu in affinity)
        count = len(affinity)
    return max(0.0, busy - own_seconds) / (seconds * count)
