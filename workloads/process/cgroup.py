"""What the control group of this process may use and has used, version 1 or 2. Python 3.6 and later, Linux."""

_FOLDER = "/sys/fs/cgroup/"
_MOST = 2 ** 60                  # version 1 says a larger number where there is no limit


def peak_bytes(folder=_FOLDER):
    """The most memory that the group ever held, page cache included; None where it does not say."""
    return _number(folder, "memory/memory.max_usage_in_bytes", "memory.peak")


def limit_bytes(folder=_FOLDER):
    """How much memory the group may hold; None without a limit."""
    limit = _number(folder, "memory/memory.limit_in_bytes", "memory.max")
    return None if limit is None or limit >= _MOST else limit


def cpu_quota(folder=_FOLDER):
    """How many CPUs' time the group may use; None without a limit."""
    quota, period = (_number(folder, "cpu/cpu.cfs_" + name) for name in ("quota_us", "period_us"))
    if quota is None:
        parts = (_read(folder, "cpu.max") or "max 1").split()
        quota, period = (int(part) if part.isdigit() else None for part in parts)
    return quota / period if quota and quota > 0 else None


def throttling(folder=_FOLDER):
    """{periods, throttled_periods}: how often the quota was counted and was spent so far; None without a quota."""
    for name in ("cpu/cpu.stat", "cpu.stat"):
        stat = _counts(folder, name)
        if "nr_periods" in stat:
            return {"periods": stat["nr_periods"], "throttled_periods": stat["nr_throttled"]}
    return None


def out_of_memory_kills(folder=_FOLDER):
    """How often the kernel has killed a process of the group for want of memory."""
    for name in ("memory/memory.oom_control", "memory.events"):
        counts = _counts(folder, name)
        if "oom_kill" in counts:
            return counts["oom_kill"]
    return 0


def memory_group(text=None, root="/sys/fs/cgroup"):
    """The folder of this process's own group for memory, where root has all groups; None where there is none.

    text: of /proc/self/cgroup.
    """
    if text is None:
        text = _read("/proc/self/", "cgroup") or ""
    groups = [line.split(":", 2) for line in text.splitlines() if line.count(":") >= 2]
    for _, controllers, path in groups:
        if "memory" in controllers.split(","):
            return root + "/memory" + path.rstrip("/")
    return next((root + path.rstrip("/") for _, controllers, path in groups if not controllers), None)


def kills(group):
    """How often the kernel has killed a process of the group, by its folder, for want of memory; 0 for None."""
    for name in ("/memory.oom_control", "/memory.events") if group else ():
        counts = _counts(group, name)
        if "oom_kill" in counts:
            return counts["oom_kill"]
    return 0


def _number(folder, *names):
    """The whole number in the first of these files that has one, else None."""
    for name in names:
        text = (_read(folder, name) or "").strip()
        if text.lstrip("-").isdigit():
            return int(text)
    return None


def _counts(folder, name):
    """The whole numbers of a file with lines of a name and a number."""
    pairs = (line.split() for line in (_read(folder, name) or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _read(folder, name):
    try:
        with open(folder + name) as file:
            return file.read()
    except (OSError, ValueError):
        return None
