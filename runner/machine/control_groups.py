"""What the control groups around this process let it use, and what the kernel did to it for that: versions 1 and 2."""

import os
from collections.abc import Iterator
from pathlib import Path

from runner.machine.kernel_files import content
from workloads.spec import control_groups

_NO_LIMIT = 2**60            # version 1 says a larger number where there is none


def cpus(root: Path = Path("/")) -> float | None:
    """How many CPUs' time this process may use at most; None without a quota. root: of the file system."""
    return min(filter(None, map(_quota, _around("cpu", root))), default=None)


def memory_bytes(root: Path = Path("/")) -> int | None:
    """How much memory this process and those in its group may hold; None without a limit."""
    limits = [int(text) for folder in _around("memory", root) for name in ("memory.limit_in_bytes", "memory.max")
              if (text := content(folder / name)).isdigit()]
    return min((limit for limit in limits if limit < _NO_LIMIT), default=None)


def throttled_periods(root: Path = Path("/")) -> int | None:
    """In how many periods the quota was spent so far; None without a quota."""
    return next((_counts(folder / "cpu.stat").get("nr_throttled", 0) for folder in _around("cpu", root)
                 if _quota(folder)), None)


def kills(root: Path = Path("/")) -> int:
    """How many processes the kernel has killed for want of memory: of this process's group, else of the machine."""
    files = [*(folder / name for folder in list(_around("memory", root))[:1]
               for name in ("memory.oom_control", "memory.events")), root / "proc/vmstat"]
    return next((counts["oom_kill"] for file in files if "oom_kill" in (counts := _counts(file))), 0)


def _around(controller: str, root: Path) -> Iterator[Path]:
    """The groups that hold this process, its own first."""
    groups, mounts = (content(root / "proc/self" / name) for name in ("cgroup", "mountinfo"))
    found = control_groups.own(groups, mounts, controller)
    if not found:
        return
    pattern, mount = found
    for folder in root.glob(pattern.lstrip("/")) if "*" in pattern else [root / pattern.lstrip("/")]:
        if "*" not in pattern or str(os.getpid()) in content(folder / "cgroup.procs").split():
            yield from (root / each.lstrip("/") for each in control_groups.around(
                f"/{folder.relative_to(root)}", mount))
            return


def _quota(folder: Path) -> float | None:
    """How many CPUs' time a group's quota is; None without one."""
    quota, _, period = content(folder / "cpu.max").partition(" ")
    quota = quota or content(folder / "cpu.cfs_quota_us")
    period = period or content(folder / "cpu.cfs_period_us")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _counts(file: Path) -> dict[str, int]:
    """The whole numbers of a file with lines of a name and a number."""
    pairs = (line.split() for line in content(file).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
