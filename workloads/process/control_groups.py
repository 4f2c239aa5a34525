"""What the control groups of a process let it use, and what it has used: for workers, and for the runner on its host.

Both versions (Linux, Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst). Python 3.6 and later.
groups: the folders around a process by controller, its own first, as around_this_process finds them.
"""

import glob
import os
import posixpath

_MOST = 2 ** 60                  # version 1 says a larger number where there is no limit


def around_this_process(root=""):
    """The folders of the groups that hold this process, its own first, by controller. root: before "/" of all paths."""
    groups, mounts = (_read("%s/proc/self/%s" % (root, name)) or "" for name in ("cgroup", "mountinfo"))
    found = {}
    for controller in ("cpu", "memory"):
        seen = _own(groups, mounts, controller)
        folder = seen and (root + seen[0] if "*" not in seen[0] else _holding_this_process(root + seen[0]))
        found[controller] = around(folder, root + seen[1]) if folder else []
    return found


def _own(groups, mounts, controller):
    """(a pattern of the folder of the process's own group, the mount that it lies in); None where nothing is mounted.

    groups: of /proc/self/cgroup; mounts: of /proc/self/mountinfo. The pattern has a "*" for each folder whose name a
    namespace hides: of what it matches, the group is the one whose cgroup.procs has the process.
    """
    paths = {name: path for _, names, path in _lines(groups) for name in names.split(",")}
    for kind, name in (("cgroup", controller), ("cgroup2", "")):
        for root, mount, type_, options in _mounted(mounts):
            if type_ == kind and name in paths and (not name or name in options):
                return _below(mount, root, paths[name]), mount
    return None


def around(folder: str, mount):
    """The folder and those above it, to the mount."""
    folders = [folder]
    while folders[-1].startswith(mount + "/"):
        folders.append(posixpath.dirname(folders[-1]))
    return folders


def _lines(groups):
    """(number, controllers, path) of each hierarchy."""
    return [line.split(":", 2) for line in groups.splitlines() if line.count(":") >= 2]


def _mounted(mounts):
    """(root, mount point, type, options) of each mount (proc(5), /proc/[pid]/mountinfo)."""
    for line in mounts.splitlines():
        words, _, rest = line.partition(" - ")
        before, after = words.split(), rest.split()
        if len(before) >= 6 and len(after) >= 3:
            yield before[3], before[4], after[0], after[2].split(",")


def _below(mount, root, path: str):
    """The folder of a group, whose path and the mount's root are both as a namespace shows them."""
    hidden = root.split("/").count("..")
    if hidden:
        return mount + "/*" * hidden + path.rstrip("/")
    inside = posixpath.relpath(path, root)
    return mount if inside == "." or inside.startswith("..") else mount + "/" + inside


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


def kills_here(root=""):
    """As out_of_memory_kills; of the whole machine where no group counts them. root: as around_this_process."""
    own = around_this_process(root)["memory"][:1]
    return next((counts["oom_kill"] for counts in (*_kills(*own), _counts(root + "/proc", "vmstat"))
                 if "oom_kill" in counts), 0)


def memory_group(text=None, root="/sys/fs/cgroup"):
    """The folder of this process's own group for memory, where root has all groups; None where there is none.

    text: of /proc/self/cgroup.
    """
    if text is None:
        text = _read("/proc/self/cgroup") or ""
    for _, controllers, path in _lines(text):
        if "memory" in controllers.split(","):
            return root + "/memory" + path.rstrip("/")
    return next((root + path.rstrip("/") for _, controllers, path in _lines(text) if not controllers), None)


def kills(group):
    """How often the kernel has killed a process of the group, by its folder, for want of memory; 0 for None."""
    return next((counts["oom_kill"] for counts in _kills(group) if "oom_kill" in counts), 0)


def _kills(group=None):
    return [_counts(group, name) for name in ("memory.oom_control", "memory.events")] if group else []


def _of(controller, groups):
    return (around_this_process() if groups is None else groups)[controller]


def _quota(folder: str):
    """How many CPUs' time the quota of one group is; None without one."""
    quota, period = (_number(folder, "cpu.cfs_" + name) for name in ("quota_us", "period_us"))
    if quota is None:
        parts = (_read(folder + "/cpu.max") or "max 1").split()
        quota, period = (int(part) if part.isdigit() else None for part in parts)
    return quota / period if quota and quota > 0 else None


def _number(folder: str, *names):
    """The whole number in the first of these files that has one, else None."""
    for name in names:
        text = (_read(folder + "/" + name) or "").strip()
        if text.lstrip("-").isdigit():
            return int(text)
    return None


def _counts(folder: str, name: str):
    """The whole numbers of a file with lines of a name and a number."""
    pairs = (line.split() for line in (_read(folder + "/" + name) or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _read(path: str):
    try:
        with open(path) as file:
            return file.read()
    except (OSError, ValueError):
        return None
