"""A worker that forks: what its children are told, what they hold, and what becomes of it when one fails."""

import json
import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runner.paths import ROOT
from workloads.process import pages
from workloads.spec.cell import Cell

# forks for each cell that it is told, and does with it what its task is in place of the measurement
WORKER = """
import os, signal
from workloads import __main__ as worker
from workloads.process import emit, waiting
send = emit.take_over()
cell = worker._forked(waiting.Gate(0, send), worker.Cell("a", "own", "train"), True)
send("beat", task=cell.task, data=cell.data, is_child=os.getppid() != int(os.environ["RUNNER"]))
"""


@pytest.fixture
def worker() -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", WORKER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env={**os.environ, "RUNNER": str(os.getpid())}, text=True)


def told(worker: "subprocess.Popen[str]", task: str, **fields: str) -> None:
    assert worker.stdin is not None
    worker.stdin.write(f"go {json.dumps(Cell('a', task, 'train', **fields)._asdict())}\n")
    worker.stdin.flush()


def test_each_cell_is_a_child_s_and_is_told_to_the_letter(worker: "subprocess.Popen[str]") -> None:
    for task in ("lenet5", "gpt2"):
        told(worker, task, data="two  spaces")
    heard, _ = worker.communicate(timeout=60)
    waiting = {"event": "waiting", "at": "imported", "forks": True}
    beats = [{"event": "beat", "task": task, "data": "two  spaces", "is_child": True} for task in ("lenet5", "gpt2")]
    assert [waiting, beats[0], waiting, beats[1], waiting] == list(map(json.loads, heard.splitlines()))
    assert 1 == worker.returncode           # its runner is gone


def test_without_a_cell_it_runs_its_own_and_forks_no_child(worker: "subprocess.Popen[str]") -> None:
    heard, _ = worker.communicate("go\n", timeout=60)
    assert {"event": "beat", "task": "own", "data": "digits32", "is_child": False} == json.loads(heard.splitlines()[1])
    assert 0 == worker.returncode


@pytest.mark.parametrize(("fails", "code"), [
    ("os._exit(3)", 3), ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
    ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL)])
def test_it_ends_as_a_child_ends_that_failed(fails: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORKER + fails], cwd=ROOT, env={**os.environ, "RUNNER": "1"}, text=True, check=False,
        input=2 * f"go {json.dumps(Cell('a', 'lenet5', 'train')._asdict())}\n", capture_output=True)
    assert code == done.returncode
    assert 1 == done.stdout.count("beat")


def test_pages_that_only_the_parent_has_read_are_counted_and_no_others(tmp_path: Path) -> None:
    size = 64 * mmap.PAGESIZE
    (tmp_path / "library").write_bytes(b"x" * size)
    with (tmp_path / "library").open("rb") as file, mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as library:
        mapped = sum(library[::mmap.PAGESIZE])
        reader, writer = os.pipe()
        if not os.fork():
            before = pages.only_in(os.getppid())
            assert mapped == sum(library[::mmap.PAGESIZE])
            os.write(writer, b"%d %d" % (before, before - pages.only_in(os.getppid())))
            os._exit(0)
        os.wait()
    before, read = map(int, os.read(reader, 100).split())
    assert before >= size
    assert size == pytest.approx(read, abs=32 * mmap.PAGESIZE)     # the child reads code of its own besides


def test_without_the_other_process_nothing_is_counted() -> None:
    assert 0 == pages.only_in(2**30)
