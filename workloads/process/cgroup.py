"""What the control group of this process may use and has used, version 1 or 2. Python 3.6 and later, Linux.

groups: the folders around a process by controller, its own first, as around_this_process finds them.
"""

import glob
import os

from workloads.spec import control_groups

_MOST = 2 ** 60                  # version 1 says a larger number where there is no limit


def around_this_process():
    """The folders of the groups that hold this process, its own first, by controller."""
    found = {}
    for controller in ("cpu", "memory"):
        seen = control_groups.own(_read("/proc/self/cgroup") or "", _read("/proc/self/mountinfo") or "", controller)
        folder = seen and (seen[0] if "*" not in seen[0] else _holding_this_process(seen[0]))
        found[controller] = control_groups.around(folder, seen[1]) if folder else []
    return found


def _holding_this_process(pattern):
    own = str(os.getpid())
    return next((folder for folder in glob.iglob(pattern)
                 if own in (_read(folder + "/cgroup.procs") or "").split()), None)


def peak_bytes(groups=None):
    """The most memory that the group ever held, page cache included; None where it does not say.

    None too where groups of the host are around it, as outside of a container: others are in the group then.
    """
    folders = _of("memory", groups)
    return _number(folders[0], "memory.max_usage_in_bytes", "memory.peak") if len(folders) == 1 else None


def limit_bytes(groups=None):
    """How much memory the group may hold; None without a limit."""
    limits = [_number(folder, "memory.limit_in_bytes", "memory.max") for folder in _of("memory", groups)]
    return min((limit for limit in limits if limit is not None and limit < _MOST), default=None)


def cpu_quota(groups=None):
    """How many CPUs' time the group may use; None without a limit."""
    return min(filter(None, map(_quota, _of("cpu", groups))), default=None)


def throttling(groups=None):
    """{periods, throttled_periods}: how often the quota was counted and was spent so far; None without a quota."""
    for folder in _of("cpu", groups):
        stat = _counts(folder, "cpu.stat")
        if _quota(folder) and "nr_periods" in stat:
            return {"periods": stat["nr_periods"], "throttled_periods": stat["nr_throttled"]}
    return None


def out_of_memory_kills(groups=None):
    """How often the kernel has killed a process of the group for want of memory."""
    return kills(next(iter(_of("memory", groups)), None))


def memory_group(text=None, root="/sys/fs/cgroup"):
    """The folder of this process's own group for memory, where root has all groups; None where there is none.

    text: of /proc/self/cgroup.
    """
    if text is None:
        text = _read("/proc/self/cgroup") or ""
    groups = [line.split(":", 2) for line in text.splitlines() if line.count(":") >= 2]
    for _, controllers, path in groups:
        if "memory" in controllers.split(","):
            return root + "/memory" + path.rstrip("/")
    return next((root + path.rstrip("/") for _, controllers, path in groups if not controllers), None)


def kills(group):
    """How often the kernel has killed a process of the group, by its folder, for want of memory; 0 for None."""
    for name in ("memory.oom_control", "memory.events") if group else ():
        counts = _counts(group, name)
        if "oom_kill" in counts:
            return counts["oom_kill"]
    return 0


def _of(controller, groups):
    return (around_this_process() if groups is None else groups)[controller]


def _quota(folder):
    """How many CPUs' time the quota of one group is; None without one."""
    quota, period = (_number(folder, "cpu.cfs_" + name) for name in ("quota_us", "period_us"))
    if quota is None:
        parts = (_read(folder + "/cpu.max") or "max 1").split()
        quota, period = (int(part) if part.isdigit() else None for part in parts)
    return quota / period if quota and quota > 0 else None


def _number(folder, *names):
    """The whole number in the first of these files that has one, else None."""
    for name in names:
        text = (_read(folder + "/" + name) or "").strip()
        if text.lstrip("-").isdigit():
            return int(text)
    return None


def _counts(folder, name):
    """The whole numbers of a file with lines of a name and a number."""
    pairs = (line.split() for line in (_read(folder + "/" + name) or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except (OSError, ValueError):
        return None
