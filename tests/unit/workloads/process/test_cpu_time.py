"""The CPU time of a process and of what it started."""

import os
from pathlib import Path

from workloads.process import cpu_time

TICKS = os.sysconf("SC_CLK_TCK")


def stat(parent: int, *seconds: int) -> str:
    """What the kernel writes of a process with such seconds: its own and its ended children's, user's and system's."""
    user, system, childrens_user, childrens_system = (each * TICKS for each in seconds)
    return f"S {parent} 1 1 0 -1 0 0 0 0 0 {user} {system} {childrens_user} {childrens_system} 20 0 1"


def test_a_compiler_s_time_counts_whatever_its_session_and_another_program_s_does_not(tmp_path: Path) -> None:
    for process, said in {10: stat(1, 1, 2, 3, 4), 11: stat(10, 10, 0, 0, 0), 12: stat(11, 100, 0, 0, 0),
                          13: stat(1, 1000, 0, 0, 0)}.items():
        (tmp_path / str(process)).mkdir()
        (tmp_path / str(process) / "stat").write_text(f"{process} (cc1 (a) b) {said}\n")
    (tmp_path / "14").mkdir()                # has gone meanwhile
    (tmp_path / "meminfo").write_text("")

    assert 120.0 == cpu_time.cpu_seconds(10, str(tmp_path))


def test_this_process_has_used_some() -> None:
    assert cpu_time.cpu_seconds() > 0.0
