"""Whose CPU time counts as others': a real worker and what it starts, and a stranger, on a machine with no other."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.machine.host import FOREIGN_SHARE, CpuSeconds
from runner.results import store
from tests.clock import FakeClock
from tests.fake_session import OPENED, bench, run
from tests.fakes import READING, FakeLauncher
from workloads.spec.cell import Cell

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
# starts nothing; a helper that stays or goes; a burner that ends and is waited for, as compilers are
WORKER = """
import subprocess, sys
from workloads.process import emit, environment
from workloads.spec.cell import Cell
burning, helping, kind = sys.argv[1:]
send = emit.take_over()
environment.enter(Cell(stack="s", task="lenet5", measure="train"))
send("start", facts={}, parameters=1, flops=1, cpu_seconds=environment.used()["cpu_seconds"])
burnt = "0"
if kind in ("stay", "go"):
    helper = subprocess.Popen([sys.executable, "-c", helping, burning, kind], start_new_session=True,
                              stdout=subprocess.PIPE)
    burnt = helper.stdout.readline().decode()
    if kind == "go":
        helper.wait()
elif kind == "waited":
    burnt = subprocess.check_output([sys.executable, "-c", burning], stdin=subprocess.DEVNULL).decode()
send("burnt", seconds=float(burnt))
send("end", status="ok", message="", **environment.used())
"""


def burnt_by_a_stranger() -> float:
    """What a program that nobody of the worker's started says it used."""
    return float(subprocess.run([sys.executable, "-c", BURNING], stdin=subprocess.DEVNULL, capture_output=True,
                                check=True).stdout)


def heard(kind: str) -> tuple[list[bytes], float]:
    """The lines of a worker, with what its own burner says it used."""
    with subprocess.Popen([sys.executable, "-c", WORKER, BURNING, HELPING, kind], cwd=paths.ROOT,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        start, burnt, end = (worker.stdout.readline() for _ in range(3))
        worker.stdin.close()                     # all that still live end with it
        assert 0 == worker.wait()
    return [start, end], float(json.loads(burnt)["seconds"])


def endings(folder: Path, kind: str, strangers: int) -> list[store.Record]:
    """The endings of one cell on a machine of one CPU that does nothing but what the worker and strangers do.

    Each run lasts a second by the clock, and the machine is as busy as the burners say they were.
    """
    clock, busy = FakeClock(step=0.0), [0.0]

    def script(cell: Cell, run: str) -> list[Any]:
        (start, end), burnt = heard(kind)

        def ended() -> bytes:
            clock.advance(1.0)
            busy[0] += burnt + sum(burnt_by_a_stranger() for _ in range(strangers))
            return end
        return [start, ended]

    made = bench(folder)
    OPENED[-1].append(made.plan.record())
    run(made._replace(plan=made.plan._replace(rounds=1, cells=made.plan.cells[:1]),
                      launcher=FakeLauncher(clock, script), clock=clock,
                      readings=lambda: READING._replace(all_cpus=CpuSeconds(busy[0]), cpus=1)))
    return [record for record in store.read(folder) if record["event"] == "ending"]


@pytest.mark.parametrize(("kind", "strangers", "least", "most"), [
    # the kernel counts in hundredths of a second
    ("stay", 0, -0.05, 0.05), ("go", 0, -0.05, 0.05), ("waited", 0, -0.05, 0.05),
    ("nothing", 1, 0.2, 0.3), ("stay", 1, FOREIGN_SHARE, 0.3)])
def test_what_a_worker_s_own_programs_use_disturbs_no_run_and_a_stranger_s_does(
        tmp_path: Path, kind: str, strangers: int, least: float, most: float) -> None:
    """stay: a living, never reaped grandchild in its own session; go: an orphan; waited: one that ended before."""
    only, = endings(tmp_path, kind, strangers)

    assert "ok" == only["ending"] and least < only["host"]["foreign_cpu_share"] < most
