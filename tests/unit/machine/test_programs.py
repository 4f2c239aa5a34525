"""What programs of the host took, by their own clocks."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.machine import programs

BUSY = "import sys, time\nprint(flush=True)\nwhile time.process_time() < 20: pass"


@pytest.fixture
def number(request: pytest.FixtureRequest) -> Iterator[int]:
    """Of a process that computes."""
    with subprocess.Popen([sys.executable, *request.param], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        process.kill()


def used(number: int) -> dict[int, float]:
    return {number: time.clock_gettime(~number << 3 | 2)}


@pytest.mark.parametrize("number", [["-c", BUSY]], indirect=True)
def test_a_program_is_named_with_its_user_and_what_it_took(number: int) -> None:
    before = used(number)
    while (after := used(number))[number] < before[number] + 0.01:
        pass
    found = programs.taken(before, after, "a")
    assert after[number] - before[number] == found.seconds
    assert ("python" in found.by, " of " in found.by, "") == (True, True, found.worker)


@pytest.mark.parametrize(("stack", "took"), [("a", 0.0), ("b", 1.0)])
@pytest.mark.parametrize("number", [["-c", BUSY]], indirect=True)
def test_a_worker_s_own_use_is_none_of_others_and_another_worker_s_is(
        number: int, stack: str, took: float, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["python", "-m", "workloads", '{"stack": "a"}']
    monkeypatch.setattr(programs.psutil.Process, "cmdline", lambda self: words if self.pid == number else [])
    found = programs.taken({number: 1.0}, {number: 2.0}, stack)
    assert (took, "a" if took else "") == (found.seconds, found.worker)


def test_neither_this_process_nor_what_took_next_to_nothing_is_another() -> None:
    assert programs.Taken(0.0) == programs.taken({1: 1.0}, {1: 1.00001, os.getpid(): 5.0}, "a")


def test_a_program_that_began_in_between_or_has_ended_counts() -> None:
    assert programs.Taken(0.5, "a program that has ended") == programs.taken({}, {2**22 + 1: 0.5}, "a")


def test_clocks_are_of_every_process_of_a_host_and_none_where_it_is_not_seen(tmp_path: Path) -> None:
    for name, comm in (("2", "kthreadd"), ("7", "x"), ("8", "gone"), ("self", "y")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "comm").write_text(comm + "\n")

    def clock(number: int) -> float:
        if number == ~8 << 3 | 2:
            raise ProcessLookupError
        return 1.5

    assert {2: 1.5, 7: 1.5} == programs.clocks(tmp_path, clock)
    (tmp_path / "2/comm").write_text("sh\n")
    assert programs.clocks(tmp_path, clock) is None
