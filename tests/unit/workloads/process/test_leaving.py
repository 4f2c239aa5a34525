"""How a worker's process ends."""

import os
import signal
import subprocess
import sys
from typing import Any

import psutil
import pytest

from runner import paths
from runner.paths import ROOT
from workloads import __main__ as worker
from workloads.process import errors
from workloads.spec import turns

WORKER = """
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


def ended(parallel: str) -> tuple[int, str]:
    """The exit code of a worker's process, and what it printed: standard output is standard error there."""
    done = subprocess.run([sys.executable, "-c", WORKER % parallel], cwd=paths.ROOT, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stderr


def test_a_worker_alone_ends_at_once_with_its_code_and_all_that_it_said() -> None:
    assert (3, "said") == ended("none")


def test_one_of_many_places_ends_as_its_framework_does() -> None:
    assert (3, "said what the framework does last") == ended("sync")


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
    done = subprocess.run([sys.executable, "-c", program], cwd=paths.ROOT, capture_output=True, text=True, check=True)

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


def test_standard_input_that_is_nobody_s_ends_no_worker() -> None:
    program = f"from workloads.process import waiting\n{TOLD_NOTHING}\nprint('waits', flush=True)\ninput()"
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, input=b"a line\n", stdout=subprocess.PIPE,
                           check=True, env={name: value for name, value in os.environ.items() if name != turns.ENDS})
    assert b"waits\n" == found.stdout
