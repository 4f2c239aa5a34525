"""What control groups say to a worker and to the runner, in the files of version 1 and of version 2."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.made_files import files
from workloads.process import control_groups

# of each version: /proc/self/cgroup and /proc/self/mountinfo
PROCESS = {
    1: ("3:cpu,cpuacct:{path}\n2:memory:{path}\n0::{path}\n", """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 {mounted} /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:3 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 {mounted} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""),
    2: ("0::{path}\n", "30 23 0:26 {mounted} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n")}


def told(root: Path, version: int, texts: Mapping[str, str], path: str = "/", mounted: str = "/") -> dict[str, Any]:
    """What is said to a process at that path below the mounted group of a machine whose groups hold these files."""
    process, mounts = (each.format(path=path, mounted=mounted) for each in PROCESS[version])
    files(root, {"proc/self/cgroup": process, "proc/self/mountinfo": mounts,
                 **{f"sys/fs/cgroup/{name}": f"{text}\n" for name, text in texts.items()}})
    own = control_groups.around_this_process(str(root))
    assert control_groups.out_of_memory_kills(own) == control_groups.kills_here(str(root))
    said = {"peak": control_groups.peak_bytes(own), "limit": control_groups.limit_bytes(own),
            "quota": control_groups.cpu_quota(own), "throttling": control_groups.throttling(own),
            "kills": control_groups.out_of_memory_kills(own)}
    return {name: value for name, value in said.items() if value is not None}


WHOLE = {"peak": 4096, "limit": 8192, "quota": 1.5, "throttling": {"periods": 7, "throttled_periods": 2}, "kills": 3}


@pytest.mark.parametrize(("version", "path", "texts", "expected"), [
    (1, "/", {"memory/memory.max_usage_in_bytes": "4096", "memory/memory.limit_in_bytes": "8192",
              "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3",
              "cpu,cpuacct/cpu.cfs_quota_us": "150000", "cpu,cpuacct/cpu.cfs_period_us": "100000",
              "cpu,cpuacct/cpu.stat": "nr_periods 7\nnr_throttled 2\nthrottled_time 12"}, WHOLE),
    (2, "/", {"memory.peak": "4096", "memory.max": "8192", "memory.events": "low 0\noom 4\noom_kill 3",
              "cpu.max": "150000 100000", "cpu.stat": "usage_usec 5\nnr_periods 7\nnr_throttled 2"}, WHOLE),
    # nothing is limited
    (1, "/", {"memory/memory.limit_in_bytes": "9223372036854771712", "cpu,cpuacct/cpu.cfs_quota_us": "-1",
              "cpu,cpuacct/cpu.cfs_period_us": "100000", "cpu,cpuacct/cpu.stat": "nr_periods 0\nnr_throttled 0"},
     {"kills": 0}),
    (2, "/", {"memory.max": "max", "cpu.max": "max 100000", "cpu.stat": "usage_usec 5"}, {"kills": 0}),
    (2, "/", {}, {"kills": 0}),
    # the narrowest group counts, who throttles is asked how often, and a worker on the host has no peak of its own
    (1, "/a/b", {"cpu,cpuacct/a/cpu.cfs_quota_us": "100000", "cpu,cpuacct/a/cpu.cfs_period_us": "50000",
                 "cpu,cpuacct/a/b/cpu.cfs_quota_us": "-1", "cpu,cpuacct/a/b/cpu.cfs_period_us": "100000",
                 "cpu,cpuacct/a/cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 7",
                 "memory/memory.limit_in_bytes": "9223372036854771712", "memory/a/b/memory.limit_in_bytes": "4096",
                 "memory/a/b/memory.max_usage_in_bytes": "1",
                 "memory/a/b/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3"},
     {"quota": 2.0, "limit": 4096, "throttling": {"periods": 9, "throttled_periods": 4}, "kills": 3}),
    (2, "/a/b", {"a/cpu.max": "150000 100000", "a/cpu.stat": "nr_periods 9\nnr_throttled 4",
                 "a/b/cpu.max": "max 100000", "a/b/cpu.stat": "nr_periods 0\nnr_throttled 0", "a/memory.max": "3000",
                 "a/b/memory.max": "max", "a/b/memory.peak": "1", "a/b/memory.events": "oom 2\noom_kill 1"},
     {"quota": 1.5, "limit": 3000, "throttling": {"periods": 9, "throttled_periods": 4}, "kills": 1})])
def test_both_versions_say_the_same(
        tmp_path: Path, version: int, path: str, texts: dict[str, str], expected: dict[str, Any]) -> None:
    assert expected == told(tmp_path, version, texts, path)


@pytest.mark.parametrize(("version", "folder"), [(1, "cpu,cpuacct/"), (2, "")])
def test_a_container_whose_mount_begins_at_its_group_is_read_there(tmp_path: Path, version: int, folder: str) -> None:
    texts = {f"{folder}cpu.max": "50000 100000"}
    assert {"quota": 0.5, "kills": 0} == told(tmp_path, version, texts, "/docker/x", "/docker/x")


def test_a_namespace_that_hides_the_group_s_name_is_seen_through(tmp_path: Path) -> None:
    """unshare -C without a mount of its own: the mount's root is above the namespace's, by names that it hides."""
    texts = {"a/mine/cgroup.procs": f"7\n{os.getpid()}", "a/other/cgroup.procs": "7\n1",
             "a/mine/cpu.max": "100000 100000", "a/other/cpu.max": "10000 100000", "a/memory.max": "5000"}

    assert {"quota": 1.0, "limit": 5000, "kills": 0} == told(tmp_path, 2, texts, "/", "/../..")


@pytest.mark.parametrize(("text", "folder"), [
    ("6:freezer:/f\n4:memory:/slurm_a/uid_0/job_1\n0::/\n", "/root/memory/slurm_a/uid_0/job_1"),
    ("0::/system.slice/slurmstepd.scope/job_1\n", "/root/system.slice/slurmstepd.scope/job_1"), ("", None)])
def test_the_memory_group_is_found_in_both_versions(text: str, folder: str | None) -> None:
    assert folder == control_groups.memory_group(text, "/root")


def test_without_groups_nothing_is_limited_and_kills_are_the_machine_s(tmp_path: Path) -> None:
    files(tmp_path, {"proc/vmstat": "nr_free_pages 5\noom_kill 2\n"})

    own = control_groups.around_this_process(str(tmp_path))
    assert {"cpu": [], "memory": []} == own
    assert (None, None, None) == (
        control_groups.cpu_quota(own), control_groups.limit_bytes(own), control_groups.throttling(own))
    assert 2 == control_groups.kills_here(str(tmp_path))
