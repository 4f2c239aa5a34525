"""The CPU time of a process and of what it started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.paths import ROOT
from tests.made_files import files
from workloads.process import cpu_time


def stat(process: int, parent: int, *seconds: int) -> str:
    """What the kernel writes of a process with such seconds: its own and its ended children's, user's and system's."""
    ticks = " ".join(str(each * os.sysconf("SC_CLK_TCK")) for each in seconds)
    return f"{process} (cc1 (a) b) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 20 0 1\n"


def test_a_compiler_s_time_counts_whatever_its_session_and_another_program_s_does_not(tmp_path: Path) -> None:
    files(tmp_path, {"meminfo": "", "10/stat": stat(10, 1, 1, 2, 3, 4), "11/stat": stat(11, 10, 10, 0, 0, 0),
                     "12/stat": stat(12, 11, 100, 0, 0, 0), "13/stat": stat(13, 1, 1000, 0, 0, 0)})
    (tmp_path / "14").mkdir()                # has gone meanwhile

    assert 120.0 == cpu_time.cpu_seconds(10, str(tmp_path))


# uses a quarter of a second of a CPU, says how much it was, and lives on until its standard input ends
BURNING = """
import sys, time
while time.process_time() < 0.25:
    pass
print(time.process_time(), flush=True)
sys.stdin.read()
"""
# starts the above, in a session of its own, and never waits for it; lives on, too, where it is told to stay
HELPING = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)
if sys.argv[2] == "stay":
    sys.stdin.read()
"""
# starts a helper that stays or goes, or a burner that ends and is waited for, as compilers are
WORKER = """
import subprocess, sys
from workloads.process import emit, environment
from workloads.spec.cell import Cell
burning, helping, kind = sys.argv[1:]
send = emit.take_over()
environment.enter(Cell(stack="s", task="lenet5", measure="train"))
before = environment.used()["cpu_seconds"]
if kind == "waited":
    burnt = subprocess.check_output([sys.executable, "-c", burning], stdin=subprocess.DEVNULL)
else:
    helper = subprocess.Popen([sys.executable, "-c", helping, burning, kind], start_new_session=True,
                              stdout=subprocess.PIPE)
    burnt = helper.stdout.readline()
    if kind == "go":
        helper.wait()
send("used", seconds=environment.used()["cpu_seconds"] - before, burnt=float(burnt))
"""


@pytest.mark.parametrize("kind", ["stay", "go", "waited"])
def test_what_a_worker_s_own_programs_use_is_its_own(kind: str) -> None:
    """stay: a living, never reaped grandchild in its own session; go: an orphan; waited: one that ended before."""
    with subprocess.Popen([sys.executable, "-c", WORKER, BURNING, HELPING, kind], cwd=ROOT, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as worker:
        said = json.loads(worker.stdout.readline())
        worker.stdin.close()                     # all that still live end with it

    assert 0 == worker.returncode
    assert said["seconds"] > said["burnt"] - 0.05           # the kernel counts in hundredths of a second
