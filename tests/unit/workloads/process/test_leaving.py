"""How a worker's process ends."""

import subprocess
import sys
from typing import Any

import psutil
import pytest

from runner import paths
from workloads import __main__ as worker
from workloads.process import errors

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
