"""What the first processor says of itself, and what the processors did. Python 3.6 and later, Linux."""
import glob
import itertools
import os
import time

_FEATURES = ("avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_tile")

_TICKS = float(os.sysconf("SC_CLK_TCK"))
_SCHEDULED = 2                   # CPUCLOCK_SCHED (linux/posix-timers.h): the clock of a process by its number


def name():
    """As it calls itself, None where it does not."""
    return _entries().get("model name")


def features():
    """Its vector instructions, of those that kernels are chosen by."""
    flags = _entries().get("flags", "").split()
    return [feature for feature in _FEATURES if feature in flags]


def openmp():
    """The paths of the OpenMP libraries that this process has loaded."""
    return {path for path in mapped() if os.path.basename(path).startswith(("libgomp", "libomp", "libiomp"))}


def mapped():
    """The paths of all libraries that this process has loaded."""
    with open("/proc/self/maps") as file:
        return {line.split(None, 5)[5].strip() for line in file if ".so" in line}


def unused_seconds(cpus, stat="/proc/stat", folder: str = "/sys/devices/system/cpu"):
    """(idle by the clock's ticks, idle by the CPUs' own count, stolen) seconds of these CPUs since boot.

    Both are of CPUs with nothing to do; between two readings the larger difference is the nearer. Ticks are cut to a
    hundredth of a second a CPU. CPUs count microseconds, without the way into sleep and out, nor a sleep that lasts;
    0.0 where they do not count. Stolen is what other guests of the host took.
    """
    names, idle, stolen = {"cpu%d" % cpu for cpu in cpus}, 0, 0
    with open(stat) as file:
        for line in itertools.takewhile(lambda line: line.startswith("cpu"), file):
            fields = line.split()
            if fields[0] in names:
                idle, stolen = idle + int(fields[4]) + int(fields[5]), stolen + int(fields[8])
    slept = sum(map(_microseconds, itertools.chain.from_iterable(
        glob.iglob(os.path.join(folder, name, "cpuidle", "state*", "time")) for name in names)))
    return idle / _TICKS, slept / 1e6, stolen / _TICKS


def used_seconds(numbers):
    """The CPU seconds of processes that have not ended, and how long their threads waited, as waited_seconds."""
    used, waited = 0.0, []
    for number in numbers:
        try:
            used += time.clock_gettime(~number << 3 | _SCHEDULED)
            waited.append(waited_seconds("/proc/%d/task" % number))
        except OSError:          # it has ended
            continue
    return used, None if None in waited else sum(waited)


def waited_seconds(tasks="/proc/self/task"):
    """How long a process's threads were ready so far and had no CPU; None where the kernel does not count it.

    The second number of a thread's schedstat (Linux, Documentation/scheduler/sched-stats.rst). Threads that have ended
    are left out.
    """
    waited = turns = 0
    for name in os.listdir(tasks):
        try:
            with open(os.path.join(tasks, name, "schedstat")) as file:
                numbers = file.read().split()
        except OSError:          # it has ended
            continue
        waited, turns = waited + int(numbers[1]), turns + int(numbers[2])
    return waited / 1e9 if turns else None


def _microseconds(path: str):
    with open(path) as file:
        return int(file.read())


def _entries():
    """Those of /proc/cpuinfo, read up to the empty line before the next processor's."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = list(itertools.takewhile(str.strip, file))
    except OSError:
        return {}
    return dict([part.strip() for part in line.split(":", 1)] for line in lines if ":" in line)
