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


def told(words: str, fails: str = "") -> tuple[int, list[dict[str, object]]]:
    """The exit code of a worker that is told these words, whose children fail so, and the lines that it wrote."""
    done = subprocess.run([sys.executable, "-c", WORKER + fails], cwd=ROOT, input=words, capture_output=True, text=True,
                          env={**os.environ, "RUNNER": str(os.getpid())}, check=False, timeout=60)
    return done.returncode, list(map(json.loads, done.stdout.splitlines()))


def go(task: str) -> str:
    return f"go {json.dumps(Cell('a', task, 'train', data='two  spaces')._asdict())}\n"


def test_each_cell_is_a_child_s_and_is_told_to_the_letter() -> None:
    waiting = {"event": "waiting", "at": "imported", "forks": True}
    beats = [{"event": "beat", "task": task, "data": "two  spaces", "is_child": True} for task in ("lenet5", "gpt2")]
    # its runner is gone in the end
    assert (1, [waiting, beats[0], waiting, beats[1], waiting]) == told(go("lenet5") + go("gpt2"))


def test_without_a_cell_it_runs_its_own_and_forks_no_child() -> None:
    code, (_, beat) = told("go\n")
    assert (0, {"event": "beat", "task": "own", "data": "digits32", "is_child": False}) == (code, beat)


@pytest.mark.parametrize(("fails", "code"), [
    ("os._exit(3)", 3), ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
    ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL)])
def test_it_ends_as_a_child_ends_that_failed(fails: str, code: int) -> None:
    ended, lines = told(2 * go("lenet5"), fails)
    assert (code, ["waiting", "beat"]) == (ended, [line["event"] for line in lines])


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
