"""How a process group's end is told."""

import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.errors import BenchError
from runner.launchers.process_groups import ProcessGroup
from runner.launchers.protocol import Exit
from runner.paths import ROOT
from tests.lifetimes import is_gone


def ended(program: str, memory_bytes: int = 0, cpu: int = 0, **how: Any) -> Exit:
    """How a program of Python went."""
    group = ProcessGroup(lambda scratch: [sys.executable, "-c", program], [cpu], memory_bytes, Path("/"), {}, **how)
    try:
        return group.exit(20.0)
    finally:
        group.output.close()
        group.stop()


@pytest.mark.parametrize(("counts", "code", "is_out_of_memory"), [
    ((3, 4), -signal.SIGKILL, True), ((3, 3), -signal.SIGKILL, False), ((3, 4), -signal.SIGTERM, False),
    ((3, 4), 137, True), ((3, 3), 137, False), ((3, 4), 143, False)])
def test_a_worker_that_the_kernel_killed_for_want_of_memory_is_told_from_one_that_somebody_killed(
        counts: tuple[int, int], code: int, is_out_of_memory: bool) -> None:
    """A container leaves with 128 more than the signal that its worker died of."""
    seen = iter(counts)
    end = f"os.kill(os.getpid(), {-code})" if code < 0 else f"os._exit({code})"
    exit = ended(f"import os; {end}", kills=lambda: next(seen))
    assert (code, is_out_of_memory) == (exit.code, exit.is_out_of_memory)


@pytest.mark.parametrize("limit", [0, 2**28])
def test_a_worker_that_crashes_says_how_much_memory_the_kernel_would_have_given_it(limit: int) -> None:
    """It may have been refused more: it asks for as much as it must not have, and looks at no answer."""
    program = "import ctypes; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p; " \
              "c.memset(ctypes.c_void_p(c.malloc(2**29)), 1, 1)"
    exit = ended(program, limit)
    assert (-signal.SIGSEGV if limit else 0, limit) == (exit.code, exit.limit_bytes)


def test_a_limit_that_somebody_set_before_counts_where_it_is_lower() -> None:
    """What `ulimit -Hd` and `-t` set nobody raises; plans know of it, and a line tells."""
    program = """if True:
        import sys
        from pathlib import Path
        from runner.launchers.process_groups import ProcessGroup
        from runner.machine import host
        group = ProcessGroup(lambda scratch: [sys.executable, "-c", "import resource; print(resource.getrlimit("
                             "resource.RLIMIT_DATA)[0])"], [0], 2**40, Path("/"), {})
        print(group.output.read().decode().strip(), group.exit(20.0).code, host.observe().memory_bytes,
              all(each in host.told_limits() for each in ("2.1 of ", "GB a process by ulimit", "900 s of a CPU")))
        group.stop()
    """
    said = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True,
                          preexec_fn=lambda: [resource.setrlimit(kind, (limit, limit)) for kind, limit in (
                              (resource.RLIMIT_DATA, 2**31), (resource.RLIMIT_CPU, 900))]).stdout
    assert f"{2**31} 0 {2**31} True\n" == said


def test_cpus_that_are_not_there_are_told() -> None:
    with pytest.raises(BenchError, match=r"python\S* did not start: Exception occurred in preexec_fn"):
        ended("", cpu=4095)


def test_what_a_worker_started_in_a_session_of_its_own_ends_with_it() -> None:
    program = ("import subprocess, sys, time; print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid, "
               "flush=True); time.sleep(1000)")
    group = ProcessGroup(lambda scratch: [sys.executable, "-c", program], [0], 0, Path("/"), {})
    with group.output as lines:
        started = int(lines.readline())
        group.stop()

    assert is_gone(started)
