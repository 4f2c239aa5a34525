"""Workers of real frameworks write lines that runner/results/lines.py has, and no others."""

import json
import os
import subprocess
from itertools import product
from typing import Any

import pytest

from runner import paths
from runner.results import contract
from runner.stacks import environments
from tests.environments.test_stacks import RUNTIMES, STACKS, TODAY, inside
from tests.sent import strays
from workloads.spec import frameworks
from workloads.spec.cell import Cell

CELLS = (Cell("x", "lenet5", "phases", batch=2, steps=2, warmup=1, input="synthetic"),
         Cell("x", "lenet5", "operators", batch=2, steps=2, warmup=1, input="synthetic"),
         Cell("x", "lenet5", "check", batch=2, input="synthetic"),
         Cell("x", "lstm", "infer", batch=2, steps=2, warmup=1, input="synthetic", length=4, hidden=8))
# of those that only infer
INFERRED = (Cell("x", "lenet5", "check", batch=2, input="synthetic"),
            Cell("x", "bert", "infer", batch=2, steps=2, warmup=1, input="synthetic", length=8))


def said(name: str, cell: Cell) -> list[dict[str, Any]]:
    """The lines of a worker in the stack's environment."""
    worker = inside(name, "workloads", json.dumps(cell._asdict()))
    assert worker.stdout, worker.stderr[-2000:]
    return [contract.parsed(line.encode()) for line in worker.stdout.splitlines()]


@pytest.mark.parametrize(("cell", "name"), [*product(CELLS, TODAY), *product(INFERRED, RUNTIMES)],
                         ids=lambda value: f"{value.task}-{value.measure}" if isinstance(value, Cell) else value)
def test_a_worker_says_what_the_contract_has(name: str, cell: Cell) -> None:
    lines = said(name, cell)

    assert ("start", "end", "ok") == (lines[0]["event"], lines[-1]["event"], lines[-1]["status"]), lines[-1]["message"]
    assert {} == {line["event"]: strays(line) for line in lines if strays(line)}


@pytest.mark.parametrize("name", [name for name in TODAY if frameworks.may_fork(STACKS[name].framework)])
def test_a_worker_s_child_computes_as_the_worker_itself(name: str) -> None:
    """With a rate of 0, so that each step has the loss of the first."""
    cell = Cell(name, "lenet5", "train", batch=2, cpus=2, input="synthetic", warm="steady", seconds=0.1,
                learning_rate=0.0)
    text = json.dumps(cell._asdict())
    python = environments.ready(STACKS[name], paths.cache_folder(), lambda line: None)
    worker = subprocess.Popen([python, "-m", "workloads", text], cwd=paths.ROOT, stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "EVENBENCH_TURNS": "1"})
    heard: list[dict[str, Any]] = []
    rest = [("go", "warm"), ("turn 0 0 2", "steps"), ("end", "end")]
    with worker:
        for words, event in [("", "waiting"), (f"go {text}", "waiting"), *rest,
                             ("", "waiting"), ("go", "waiting"), *rest]:
            worker.stdin.write(f"{words}\n" if words else "")
            worker.stdin.flush()
            while not heard or heard[-1]["event"] != event:
                heard.append(json.loads(worker.stdout.readline()))
            heard.append({"event": "told"})
    starts, steps = ([each for each in heard if each["event"] == event] for event in ("start", "steps"))
    assert 2 == len(starts) == len(steps)
    assert starts[0]["facts"]["threads"] == starts[1]["facts"]["threads"]
    assert steps[0]["loss"] == steps[1]["loss"]
