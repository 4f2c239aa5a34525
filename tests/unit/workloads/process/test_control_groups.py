"""What control groups say to a worker and to the runner, in the files of version 1 and of version 2."""

import os
from pathlib import Path
from typing import Any

import pytest

from workloads.process import control_groups

MOUNTED_FIRST = """31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 {root} /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:3 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
MOUNTED_SECOND = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
FIRST = {"memory.max_usage_in_bytes": "4096\n", "memory.limit_in_bytes": "8192\n",
         "cpu.cfs_quota_us": "150000\n", "cpu.cfs_period_us": "100000\n",
         "cpu.stat": "nr_periods 7\nnr_throttled 2\nthrottled_time 12\n",
         "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}
SECOND = {"memory.peak": "4096\n", "memory.max": "8192\n", "cpu.max": "150000 100000\n",
          "cpu.stat": "usage_usec 5\nnr_periods 7\nnr_throttled 2\n", "memory.events": "low 0\noom 4\noom_kill 3\n"}


def groups(folder: Path, files: dict[str, str], *around: str) -> dict[str, list[str]]:
    """A control group with these files, alone but for those around it."""
    for name, text in files.items():
        (folder / name).write_text(text)
    return {"cpu": [str(folder), *around], "memory": [str(folder), *around]}


@pytest.mark.parametrize("files", [FIRST, SECOND], ids=["first", "second"])
def test_both_versions_say_the_same(tmp_path: Path, files: dict[str, str]) -> None:
    own = groups(tmp_path, files)

    assert (4096, 8192, 1.5, 3) == (
        control_groups.peak_bytes(own), control_groups.limit_bytes(own), control_groups.cpu_quota(own),
        control_groups.out_of_memory_kills(own))
    assert {"periods": 7, "throttled_periods": 2} == control_groups.throttling(own)


@pytest.mark.parametrize("files", [
    {"memory.limit_in_bytes": "9223372036854771712\n", "cpu.cfs_quota_us": "-1\n",
     "cpu.cfs_period_us": "100000\n", "cpu.stat": "nr_periods 0\nnr_throttled 0\n"},
    {"memory.max": "max\n", "cpu.max": "max 100000\n", "cpu.stat": "usage_usec 5\n"}, {}],
    ids=["first", "second", "none"])
def test_where_nothing_is_limited_nothing_is_said(tmp_path: Path, files: dict[str, str]) -> None:
    own = groups(tmp_path, files)

    assert (None, None, None) == (
        control_groups.limit_bytes(own), control_groups.cpu_quota(own), control_groups.throttling(own))
    assert (None, 0) == (control_groups.peak_bytes(own), control_groups.out_of_memory_kills(own))


def test_a_worker_on_the_host_has_the_quota_around_its_group_and_no_peak_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()
    groups(tmp_path, SECOND)
    own = groups(tmp_path / "session", {"memory.peak": "1\n", "cpu.max": "max 100000\n"}, str(tmp_path))

    assert (None, 1.5, 8192) == (
        control_groups.peak_bytes(own), control_groups.cpu_quota(own), control_groups.limit_bytes(own))
    assert {"periods": 7, "throttled_periods": 2} == control_groups.throttling(own)


@pytest.mark.parametrize(("text", "folder"), [
    ("6:freezer:/f\n4:memory:/slurm_a/uid_0/job_1\n0::/\n", "/root/memory/slurm_a/uid_0/job_1"),
    ("0::/system.slice/slurmstepd.scope/job_1\n", "/root/system.slice/slurmstepd.scope/job_1"), ("", None)])
def test_the_memory_group_is_found_in_both_versions(text: str, folder: str | None) -> None:
    assert folder == control_groups.memory_group(text, "/root")


def put(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text + "\n")


def first(root: Path, path: str, mounted: str = "/") -> None:
    put(root, "proc/self/cgroup", f"3:cpu,cpuacct:{path}\n2:memory:{path}\n0::{path}")
    put(root, "proc/self/mountinfo", MOUNTED_FIRST.format(root=mounted))


def second(root: Path, path: str, mounted: str = "/") -> None:
    put(root, "proc/self/cgroup", f"0::{path}")
    put(root, "proc/self/mountinfo", MOUNTED_SECOND.format(root=mounted))


def told(root: Path) -> tuple[float | None, int | None, int | None, int]:
    """CPUs, bytes, throttled periods and kills, as the files below that folder say them."""
    groups = control_groups.around_this_process(str(root))
    throttling = control_groups.throttling(groups)
    return (control_groups.cpu_quota(groups), control_groups.limit_bytes(groups),
            throttling and throttling["throttled_periods"], control_groups.kills_here(str(root)))


@pytest.mark.parametrize(("written", "files", "expected"), [
    (second, {"a/cpu.max": "150000 100000", "a/cpu.stat": "nr_periods 9\nnr_throttled 4", "a/b/cpu.max": "max 100000",
              "a/b/cpu.stat": "nr_periods 0\nnr_throttled 0", "a/memory.max": "3000", "a/b/memory.max": "max",
              "a/b/memory.events": "oom 2\noom_kill 1"}, (1.5, 3000, 4, 1)),
    (first, {"cpu,cpuacct/a/cpu.cfs_quota_us": "100000", "cpu,cpuacct/a/cpu.cfs_period_us": "50000",
             "cpu,cpuacct/a/b/cpu.cfs_quota_us": "-1", "cpu,cpuacct/a/b/cpu.cfs_period_us": "100000",
             "cpu,cpuacct/a/cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 7",
             "memory/memory.limit_in_bytes": "9223372036854771712", "memory/a/b/memory.limit_in_bytes": "4096",
             "memory/a/b/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3"}, (2.0, 4096, 4, 3))])
def test_the_narrowest_group_counts_and_who_throttles_is_asked_how_often(
        tmp_path: Path, written: Any, files: dict[str, str], expected: tuple[float, int, int, int]) -> None:
    written(tmp_path, "/a/b")
    for name, text in files.items():
        put(tmp_path, f"sys/fs/cgroup/{name}", text)

    assert expected == told(tmp_path)


@pytest.mark.parametrize("written", [first, second])
def test_a_container_whose_mount_begins_at_its_group_is_read_there(tmp_path: Path, written: Any) -> None:
    written(tmp_path, "/docker/x", "/docker/x")
    folder = "sys/fs/cgroup/cpu,cpuacct" if written is first else "sys/fs/cgroup"
    put(tmp_path, f"{folder}/cpu.max", "50000 100000")

    assert 0.5 == told(tmp_path)[0]


def test_a_namespace_that_hides_the_group_s_name_is_seen_through(tmp_path: Path) -> None:
    """unshare -C without a mount of its own: the mount's root is above the namespace's, by names that it hides."""
    second(tmp_path, "/", "/../..")
    for name, own in (("a/mine", os.getpid()), ("a/other", 1)):
        put(tmp_path, f"sys/fs/cgroup/{name}/cgroup.procs", f"7\n{own}")
    put(tmp_path, "sys/fs/cgroup/a/mine/cpu.max", "100000 100000")
    put(tmp_path, "sys/fs/cgroup/a/other/cpu.max", "10000 100000")
    put(tmp_path, "sys/fs/cgroup/a/memory.max", "5000")

    assert (1.0, 5000) == told(tmp_path)[:2]


def test_without_groups_nothing_is_limited_and_kills_are_the_machine_s(tmp_path: Path) -> None:
    put(tmp_path, "proc/vmstat", "nr_free_pages 5\noom_kill 2")

    assert (None, None, None, 2) == told(tmp_path)
