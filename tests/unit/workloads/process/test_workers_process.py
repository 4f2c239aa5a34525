"""A worker's process: how it forks and ends, what its children are told and hold, and what becomes of them."""

import json
import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from runner.paths import ROOT
from workloads import __main__ as worker
from workloads.process import errors, pages
from workloads.spec import turns
from workloads.spec.cell import Cell


def ran(program: str, words: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
    """A program of Python's that read these words and ended; variables: beside our own."""
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, input=words, capture_output=True, text=True,
                          env={**os.environ, **variables}, check=False, timeout=60)


# forks for each cell that it is told, and does with it what its task is in place of the measurement
FORKING = """
import os, signal
from workloads import __main__ as worker
from workloads.process import emit, waiting
send = emit.take_over()
cell = worker._forked(waiting.Gate(0, send), worker.Cell("a", "own", "train"), True)
send("beat", task=cell.task, data=cell.data, is_child=os.getppid() != int(os.environ["RUNNER"]))
"""


def told(words: str, fails: str = "") -> tuple[int, list[dict[str, object]]]:
    """The exit code of a worker that is told these words, whose children fail so, and the lines that it wrote."""
    done = ran(FORKING + fails, words, RUNNER=str(os.getpid()))
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


ENDING = """
import atexit
from workloads import __main__ as worker

class Adapter:
    def device_peak_bytes(cell):
        return {}

class Cell:
    stack, parallel, measure, device, loop, source = "s", "%s", "none", "cpu", "native", ""

worker._read = lambda arguments: (Cell, "")
worker.environment.enter = worker.find_adapter = lambda *cell: ""
worker._joined = lambda *arguments: "the others"
worker.importlib.import_module = lambda name: Adapter
worker._measured = lambda *arguments: print("said", end="") or 3
atexit.register(print, " what the framework does last", end="", flush=True)
raise SystemExit(worker.main(["cell"]))
"""


@pytest.mark.parametrize(("parallel", "said"), [
    ("none", "said"), ("sync", "said what the framework does last")], ids=["alone", "one of many places"])
def test_a_worker_alone_ends_at_once_with_its_code_and_all_that_it_said_and_one_of_many_as_its_framework_does(
        parallel: str, said: str) -> None:
    done = ran(ENDING % parallel)
    assert (3, said) == (done.returncode, done.stderr)            # standard output is standard error there


def test_an_error_in_a_user_s_own_file_is_told_with_its_line() -> None:
    namespace: dict[str, Any] = {}
    exec(compile("def model():\n    return int('x')\n", "<net.py>", "exec"), namespace)
    with pytest.raises(ValueError) as raised:
        namespace["model"]()

    assert "net.py, line 2: " == errors.place_of(raised.value)
    assert "" == errors.place_of(ValueError("of nobody's file"))


def test_of_a_long_error_the_middle_is_left_out_and_colours_are() -> None:
    said = worker._explained(ValueError("\x1b[1mbegin\x1b[0m\n" + "x" * 600 + " end"))

    assert said.startswith("begin xxx") and said.endswith("xxx end") and 500 == len(said)


def test_a_worker_leaves_no_process_behind_also_none_in_a_session_of_its_own() -> None:
    program = ("import subprocess; from workloads.process import lifetime; lifetime.adopt_orphans(); "
               "words = ['setsid', 'sh', '-c', 'sleep 1000 > /dev/null 2>&1 & echo $!']; "
               "print(subprocess.check_output(words).decode()); lifetime.end_descendants()")
    done = ran(program)
    assert 0 == done.returncode, done.stderr
    left = int(done.stdout)
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE       # of nobody's


TOLD_NOTHING = "waiting.end_with_runner()"
TOLD_ALL = "waiting.opened(lambda event, **values: None).close()"


@pytest.mark.parametrize(("begin", "variable"), [(TOLD_NOTHING, turns.ENDS), (TOLD_ALL, turns.VARIABLE)])
def test_a_worker_that_computes_ends_when_its_standard_input_closes(begin: str, variable: str) -> None:
    program = f"from workloads.process import waiting\n{begin}\nprint('computes', flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, variable: "1"}) as worker:
        assert worker.stdin and worker.stdout and b"computes\n" == worker.stdout.readline()
        worker.stdin.close()
        assert -signal.SIGIO == worker.wait(60)


def test_standard_input_that_is_nobody_s_ends_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(turns.ENDS, raising=False)
    program = f"from workloads.process import waiting\n{TOLD_NOTHING}\nprint('waits', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as worker:
        assert worker.stdin and worker.stdout and b"waits\n" == worker.stdout.readline()
        worker.communicate(b"a line\n", timeout=60)
        assert 0 == worker.returncode
