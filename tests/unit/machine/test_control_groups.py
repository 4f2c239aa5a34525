"""What the control groups around this process let it use, as the files of both versions say it."""

import os
from pathlib import Path

import pytest

from runner.machine import control_groups
from runner.machine.host import Machine

FIRST = """31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 {root} /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:3 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
SECOND = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def put(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text + "\n")


def first(root: Path, path: str, mounted: str = "/") -> None:
    put(root, "proc/self/cgroup", f"3:cpu,cpuacct:{path}\n2:memory:{path}\n0::{path}")
    put(root, "proc/self/mountinfo", FIRST.format(root=mounted))


def second(root: Path, path: str, mounted: str = "/") -> None:
    put(root, "proc/self/cgroup", f"0::{path}")
    put(root, "proc/self/mountinfo", SECOND.format(root=mounted))


def test_the_narrowest_group_of_version_2_counts_and_who_throttles_is_asked_how_often(tmp_path: Path) -> None:
    second(tmp_path, "/a/b")
    for name, text in (("a/cpu.max", "150000 100000"), ("a/cpu.stat", "nr_periods 9\nnr_throttled 4"),
                       ("a/b/cpu.max", "max 100000"), ("a/b/cpu.stat", "nr_periods 0\nnr_throttled 0"),
                       ("a/memory.max", "3000"), ("a/b/memory.max", "max"), ("a/b/memory.events", "oom 2\noom_kill 1")):
        put(tmp_path, f"sys/fs/cgroup/{name}", text)

    assert (1.5, 3000, 4, 1) == (control_groups.cpus(tmp_path), control_groups.memory_bytes(tmp_path),
                                 control_groups.throttled_periods(tmp_path), control_groups.kills(tmp_path))


def test_the_narrowest_group_of_version_1_counts(tmp_path: Path) -> None:
    first(tmp_path, "/a/b")
    for name, text in (("cpu,cpuacct/a/cpu.cfs_quota_us", "100000"), ("cpu,cpuacct/a/cpu.cfs_period_us", "50000"),
                       ("cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1"), ("cpu,cpuacct/a/b/cpu.cfs_period_us", "100000"),
                       ("cpu,cpuacct/a/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 7"),
                       ("memory/memory.limit_in_bytes", "9223372036854771712"),
                       ("memory/a/b/memory.limit_in_bytes", "4096"),
                       ("memory/a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3")):
        put(tmp_path, f"sys/fs/cgroup/{name}", text)

    assert (2.0, 4096, 4, 3) == (control_groups.cpus(tmp_path), control_groups.memory_bytes(tmp_path),
                                 control_groups.throttled_periods(tmp_path), control_groups.kills(tmp_path))


@pytest.mark.parametrize("written", [first, second])
def test_a_container_whose_mount_begins_at_its_group_is_read_there(tmp_path: Path, written) -> None:
    written(tmp_path, "/docker/x", "/docker/x")
    folder = "sys/fs/cgroup/cpu,cpuacct" if written is first else "sys/fs/cgroup"
    put(tmp_path, f"{folder}/cpu.max", "50000 100000")

    assert 0.5 == control_groups.cpus(tmp_path)


def test_a_namespace_that_hides_the_group_s_name_is_seen_through(tmp_path: Path) -> None:
    """unshare -C without a mount of its own: the mount's root is above the namespace's, by names that it hides."""
    second(tmp_path, "/", "/../..")
    for name, own in (("a/mine", os.getpid()), ("a/other", 1)):
        put(tmp_path, f"sys/fs/cgroup/{name}/cgroup.procs", f"7\n{own}")
    put(tmp_path, "sys/fs/cgroup/a/mine/cpu.max", "100000 100000")
    put(tmp_path, "sys/fs/cgroup/a/other/cpu.max", "10000 100000")
    put(tmp_path, "sys/fs/cgroup/a/memory.max", "5000")

    assert (1.0, 5000) == (control_groups.cpus(tmp_path), control_groups.memory_bytes(tmp_path))


def test_without_groups_nothing_is_limited_and_kills_are_the_machine_s(tmp_path: Path) -> None:
    put(tmp_path, "proc/vmstat", "nr_free_pages 5\noom_kill 2")

    assert (None, None, None, 2) == (control_groups.cpus(tmp_path), control_groups.memory_bytes(tmp_path),
                                     control_groups.throttled_periods(tmp_path), control_groups.kills(tmp_path))


@pytest.mark.parametrize(("memory", "limit"), [(8 * 2**30, 6 * 2**30), (1_500_000_000, 2**30),
                                               (600_000_000, 600_000_000)])
def test_a_run_s_memory_is_never_more_than_there_is(memory: int, limit: int) -> None:
    assert limit == Machine("a CPU", 2, memory, "", "", "").limit_bytes
