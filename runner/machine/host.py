"""What the host is, and how busy it is: facts once, readings before and after every run. Absent is None, never 0."""

import os
import platform
import resource
import socket
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import psutil

from runner.machine.kernel_files import content, first_cpu
from workloads.process import control_groups

GIB = 2**30
_INSTRUCTIONS = ("avx", "avx2", "fma", "avx512f")
_NUMBERS = (("implementer", "CPU implementer"), ("part", "CPU part"), ("variant", "CPU variant"))


class Machine(NamedTuple):
    """What plans are made for and reports name first."""

    cpu: str
    cpus: int                # that this process may use: by its affinity, and by the quotas of its control groups
    memory_bytes: int        # of the machine, or what a control group or a process may hold, where that is less
    kernel: str
    system: str
    hostname: str

    @property
    def limit_bytes(self) -> int:
        """A run's memory limit where the cell sets none: three quarters in whole GiB, or all where that is none."""
        return self.memory_bytes * 3 // 4 // GIB * GIB or self.memory_bytes


def observe() -> Machine:
    """This machine."""
    quota, cpus = control_groups.cpu_quota(), len(os.sched_getaffinity(0))
    limits = psutil.virtual_memory().total, control_groups.limit_bytes(), _process_limit()
    return Machine(_cpu_name(), min(cpus, max(1, int(quota or cpus))), min(filter(None, limits)),
                   platform.release(), _system(), socket.gethostname())


def _process_limit() -> int | None:
    """The bytes that `ulimit -v` or `-d` let a process have; None where they let it have any."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def whole() -> Machine:
    """This machine without what keeps this process from all of it: for what runs in groups of its own."""
    return observe()._replace(cpus=psutil.cpu_count() or 1, memory_bytes=psutil.virtual_memory().total)


def told_limits() -> str:
    """What keeps this process from the whole machine, in a line; "" where nothing does."""
    cpus, memory_bytes = psutil.cpu_count() or 1, psutil.virtual_memory().total
    quota, limit, may = control_groups.cpu_quota(), control_groups.limit_bytes(), len(os.sched_getaffinity(0))
    own = _process_limit()
    told = [f"{may} of {cpus} CPUs by its affinity" if may < cpus else "",
            f"the time of {quota:g} of {cpus} CPUs by its control group's quota" if quota and quota < cpus else "",
            f"{limit / 1e9:.2g} of {memory_bytes / 1e9:.2g} GB by its control group" if limit and limit < memory_bytes
            else "", f"{own / 1e9:.2g} of {memory_bytes / 1e9:.2g} GB a process by ulimit" if own else "",
            f"{seconds} s of a CPU's time a process by ulimit -t, after which the kernel kills it" if (
                seconds := resource.getrlimit(resource.RLIMIT_CPU)[0]) >= 0 else ""]
    return f"evenbench may use {', '.join(filter(None, told))}" if any(told) else ""


def governor() -> str | None:
    """The kernel's frequency governor of the first CPU; None on most virtual machines, which have none."""
    return content(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")) or None


def lacking_instructions() -> list[str]:
    """The vector instructions that frameworks' builds are made for and the first CPU does not have."""
    flags = first_cpu().get("flags", "").split()
    return [name for name in _INSTRUCTIONS if flags and name not in flags]


def _cpu_name() -> str:
    """As it calls itself; of one without a name, as ARM's, its maker's and its own number."""
    said = first_cpu()
    numbers = [f"{part} {said[key]}" for part, key in _NUMBERS if key in said]
    return said.get("model name") or " ".join([platform.machine(), *numbers])


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


class CpuSeconds(NamedTuple):
    """Of CPUs since boot."""

    busy: float                  # idle, waiting and stolen time left out
    stolen: float = 0.0          # in which the hypervisor ran other guests though there was work


class Reading(NamedTuple):
    """The host at one moment."""

    load_1m: float
    frequency_hz: float | None
    free_bytes: int
    swap_used_bytes: int
    all_cpus: CpuSeconds
    cpus: int = 1                # that they are
    by_cpu: Mapping[int, CpuSeconds] = MappingProxyType({})      # of each by its number; {} where nobody says

    def record(self) -> dict[str, Any]:
        """What is stored; seconds of CPUs only mean something as a difference."""
        left_out = ("all_cpus", "cpus", "by_cpu")
        return {name: value for name, value in self._asdict().items() if name not in left_out}


def reading() -> Reading:
    """The host now."""
    frequency = psutil.cpu_freq()
    times = psutil.cpu_times()
    return Reading(psutil.getloadavg()[0], frequency.current * 1e6 if frequency and frequency.current else None,
                   psutil.virtual_memory().available, psutil.swap_memory().used,
                   CpuSeconds(times.user + times.system + times.nice + times.irq + times.softirq, times.steal),
                   psutil.cpu_count() or 1, seconds_by_cpu(content(Path("/proc/stat")), os.sysconf("SC_CLK_TCK")))


def seconds_by_cpu(stat: str, ticks: int) -> Mapping[int, CpuSeconds]:
    """Of each CPU, by the lines "cpu0 user nice system idle iowait irq softirq steal ..." of /proc/stat.

    Read here, since psutil counts the lines and an offline CPU has none.
    """
    seconds = {}
    for line in stat.splitlines():
        name, *rest = line.split() or [""]
        if name.startswith("cpu") and name[3:].isdigit() and len(rest) >= 8 and all(map(str.isdigit, rest[:8])):
            user, nice, system, _, _, interrupts, soft, stolen = map(int, rest[:8])
            seconds[int(name[3:])] = CpuSeconds((user + nice + system + interrupts + soft) / ticks, stolen / ticks)
    return MappingProxyType(seconds)


def foreign_share(before: Reading, after: Reading, own_seconds: float, seconds: float,
                  affinity: Collection[int] = ()) -> float | None:
    """The share of a run's CPUs' time, in so many seconds of it, that went to others; None for no time.

    Others are other programs, and a hypervisor's other guests. A kernel that takes stolen time for the run's own hides
    as much of other programs: the share is then too small, never too large.
    affinity: the CPUs that the run may use. Where they, or their times, are not known, the share is of all CPUs.
    """
    if seconds <= 0:
        return None
    spans, count = [(before.all_cpus, after.all_cpus)], max(before.cpus, 1)
    if affinity and all(cpu in before.by_cpu and cpu in after.by_cpu for cpu in affinity):
        spans, count = [(before.by_cpu[cpu], after.by_cpu[cpu]) for cpu in affinity], len(affinity)
    busy = sum(later.busy - earlier.busy for earlier, later in spans)
    stolen = sum(later.stolen - earlier.stolen for earlier, later in spans)
    return (max(0.0, busy - own_seconds) + max(0.0, stolen)) / (seconds * count)
