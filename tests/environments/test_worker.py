"""Workers of real frameworks write lines that runner/results/lines.py has, and no others."""

import json
from itertools import product
from typing import Any

import pytest

from runner.results import contract
from tests.environments.test_stacks import RUNTIMES, TODAY, inside
from tests.strays import strays
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
