"""A worker ends with its runner, also one that is told nothing."""

import os
import signal
import subprocess
import sys

import pytest

from runner.paths import ROOT
from workloads.spec import turns

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
