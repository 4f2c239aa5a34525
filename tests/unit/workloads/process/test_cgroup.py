"""What a worker's control group says, in the files of version 1 and of version 2."""

from pathlib import Path

import pytest

from workloads.process import cgroup

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

    assert (4096, 8192, 1.5, 3) == (cgroup.peak_bytes(own), cgroup.limit_bytes(own), cgroup.cpu_quota(own),
                                    cgroup.out_of_memory_kills(own))
    assert {"periods": 7, "throttled_periods": 2} == cgroup.throttling(own)


@pytest.mark.parametrize("files", [
    {"memory.limit_in_bytes": "9223372036854771712\n", "cpu.cfs_quota_us": "-1\n",
     "cpu.cfs_period_us": "100000\n", "cpu.stat": "nr_periods 0\nnr_throttled 0\n"},
    {"memory.max": "max\n", "cpu.max": "max 100000\n", "cpu.stat": "usage_usec 5\n"}, {}],
    ids=["first", "second", "none"])
def test_where_nothing_is_limited_nothing_is_said(tmp_path: Path, files: dict[str, str]) -> None:
    own = groups(tmp_path, files)

    assert (None, None, None) == (cgroup.limit_bytes(own), cgroup.cpu_quota(own), cgroup.throttling(own))
    assert (None, 0) == (cgroup.peak_bytes(own), cgroup.out_of_memory_kills(own))


def test_a_worker_on_the_host_has_the_quota_around_its_group_and_no_peak_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()
    groups(tmp_path, SECOND)
    own = groups(tmp_path / "session", {"memory.peak": "1\n", "cpu.max": "max 100000\n"}, str(tmp_path))

    assert (None, 1.5, 8192) == (cgroup.peak_bytes(own), cgroup.cpu_quota(own), cgroup.limit_bytes(own))
    assert {"periods": 7, "throttled_periods": 2} == cgroup.throttling(own)


def test_this_process_s_own_groups_are_found_or_there_are_none() -> None:
    assert {"cpu", "memory"} == cgroup.around_this_process().keys()


@pytest.mark.parametrize(("text", "folder"), [
    ("6:freezer:/f\n4:memory:/slurm_a/uid_0/job_1\n0::/\n", "/root/memory/slurm_a/uid_0/job_1"),
    ("0::/system.slice/slurmstepd.scope/job_1\n", "/root/system.slice/slurmstepd.scope/job_1"), ("", None)])
def test_the_memory_group_is_found_in_both_versions(text: str, folder: str | None) -> None:
    assert folder == cgroup.memory_group(text, "/root")


def test_kills_for_want_of_memory_are_counted_in_both_versions(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("oom 3\noom_kill 2\n")
    assert 2 == cgroup.kills(str(tmp_path))
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
    assert (5, 0) == (cgroup.kills(str(tmp_path)), cgroup.kills(None))
