"""What programs of the host took, by their own clocks."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from runner.machine import programs
from runner.machine.programs import Taken, Worker
from tests.made_files import files

ANOTHER = Worker("a", 1)
WORKS = "import time; exec('while time.process_time() < 20: pass')"
BUSY = f"print(flush=True)\n{WORKS}"


@contextmanager
def computing(*words: str, **how: object) -> Iterator[int]:
    """A process that computes, by its number."""
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, **how) as process:  # type: ignore[call-overload]
        try:
            process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def between(number: int, own: Worker | str = ANOTHER, cpus: Set[int] = frozenset()) -> Taken:
    """What was taken while that process computed for 10 ms."""
    before = programs.clocks() or pytest.skip("the host's processes are not seen from here")
    until = before[number] + 0.01
    while (after := time.clock_gettime(~number << 3 | 2)) < until:
        pass
    return programs.taken({number: before[number]}, {number: after}, own, cpus)


def test_a_program_is_named_with_its_user_and_what_it_took() -> None:
    with computing("-c", BUSY) as number:
        found = between(number)
    assert found.seconds >= 0.01
    assert (f"process {number}, python" in found.by, " of " in found.by, "") == (True, True, found.spinning)


def test_a_program_that_may_use_other_cpus_alone_takes_nothing() -> None:
    one, *rest = os.sched_getaffinity(0)
    with computing("-c", f"import os; os.sched_setaffinity(0, {{{one}}}); {BUSY}") as number:
        assert 0.0 == between(number, cpus={one + 1, *rest}).seconds < between(number, cpus={one, *rest}).seconds


def test_a_worker_that_computes_while_it_waits_is_named_with_what_lets_it_spin(tmp_path: Path) -> None:
    (tmp_path / "workloads.py").write_text(BUSY)
    with computing("-m", "workloads", '{"stack": "b"}', cwd=tmp_path, env={"GOMP_SPINCOUNT": "infinite"}) as number:
        assert Taken(0.0) == between(number, Worker("b", number)) == between(number, "b")
        found = between(number, Worker("b", number + 1))
    assert ("the worker of b", "b", "b's threads spin while they wait (GOMP_SPINCOUNT=infinite)") == found[1:4]


def test_what_a_worker_forked_is_the_worker_and_no_other(tmp_path: Path) -> None:
    forks = f"import os, sys\nif os.fork():\n    print(flush=True)\n    os.wait()\nelse:\n    {WORKS}"
    (tmp_path / "workloads.py").write_text(forks)
    with computing("-m", "workloads", '{"stack": "b"}', cwd=tmp_path) as number:
        (child,) = psutil.Process(number).children()
        try:
            assert Taken(0.0) == between(child.pid, Worker("b", number)) == between(child.pid, Worker("b", child.pid))
            assert between(child.pid, Worker("b", 1)).worker == "b"
        finally:
            child.kill()


def test_what_only_looks_like_a_worker_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "workloads.py").write_text(BUSY)
    with computing("-m", "workloads", "5", cwd=tmp_path) as number:
        assert between(number).seconds >= 0.01


def test_a_program_that_began_in_between_or_has_ended_counts_and_not_this_one_nor_one_of_next_to_nothing() -> None:
    assert Taken(0.0) == programs.taken({1: 1.0}, {1: 1.00001, os.getpid(): 5.0}, ANOTHER)
    assert Taken(0.5, "a program that has ended", most_seconds=0.5) == programs.taken({}, {2**22 + 1: 0.5}, ANOTHER)


def test_a_thread_of_the_kernel_is_named_as_one() -> None:
    programs.clocks() or pytest.skip("the host's processes are not seen from here")
    thread = f"the kernel's thread {Path('/proc/3/comm').read_text().strip()}"
    assert Taken(0.5, thread, most_seconds=0.5) == programs.taken({}, {3: 0.5})


def test_clocks_are_of_every_process_of_a_host_and_none_where_it_is_not_seen(tmp_path: Path) -> None:
    files(tmp_path, {"2/comm": "kthreadd\n", "7/comm": "x\n", "8/comm": "gone\n", "self/comm": "y\n"})

    def clock(number: int) -> float:
        if number == ~8 << 3 | 2:
            raise ProcessLookupError
        return 1.5

    assert {2: 1.5, 7: 1.5} == programs.clocks(tmp_path, clock)
    (tmp_path / "2/comm").write_text("sh\n")
    assert programs.clocks(tmp_path, clock) is None
