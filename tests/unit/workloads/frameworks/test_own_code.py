"""A user's code in a worker: setup once, step as it stands, what it returns waited for and compared."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from workloads.frameworks import contract
from workloads.frameworks.own.code import Workload
from workloads.measuring import measures
from workloads.process.errors import DataError
from workloads.spec.cell import Cell
from workloads.spec.models import own_model


def made(text: str, batch: int = 1, options: dict[str, Any] | None = None) -> Workload:
    source = own_model.dumps(own_model.Model("mine.py", "code", {"mine.py": text}, "", options or {}))
    return Workload(Cell("new", "mine.py", "step", batch=batch, source=source, input="synthetic"), "/data")


def steps(workload: Workload, count: int) -> list[Any]:
    """What the steps return."""
    watch, returned = contract.Watch(), list[Any]()
    watch.stepped = returned.append  # type: ignore[method-assign,assignment]
    workload.infer(workload.synthetic(), count, watch)
    return returned


def test_setup_is_called_once_with_what_it_names_and_its_state_is_every_step_s() -> None:
    text = """
calls = []
def setup(size, rng, length, more=3):
    calls.append(1)
    return {"n": 100 * size + length + more, "drawn": rng.rand()}
def step(state):
    state["n"] += 1
    return state["n"], len(calls), state["drawn"]
"""
    drawn = np.random.RandomState(1).rand()

    assert [(236, 1, drawn), (237, 1, drawn)] == steps(made(text, batch=2, options={"length": 32}), 2)


def test_setup_may_be_absent_and_a_step_may_take_nothing() -> None:
    assert [7, 7] == steps(made("def step(): return 7"), 2)


def test_a_step_has_the_units_that_the_file_says() -> None:
    text = "def setup(): return 'a b c'\ndef step(text): text.split()\ndef units(text): return len(text), 'tokens'"
    told: list[dict[str, Any]] = []

    workload = made(text)
    adapter = SimpleNamespace(facts=lambda cell: {"framework": "python"})
    measures._start(workload.cell, adapter, workload, measures._OWN_BATCH, lambda event, **values: told.append(values))

    assert (5, "tokens") == workload.units and [5, "tokens"] == told[0]["facts"]["units"]
    assert made("def step(): return 7").units is None


def test_the_file_s_own_sync_waits_and_else_jax_does_for_what_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Any] = []
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(block_until_ready=waited.append))
    own = made("done = []\ndef step(): return 7\ndef sync(): done.append(1)")

    own.sync(7)
    made("def step(): return 7").sync(8)

    assert [8] == waited and [1] == own._file._module.done


def test_what_the_first_step_returns_is_compared_and_nothing_where_it_is_random() -> None:
    text = """
import numpy as np
def setup(rng): return [rng.rand(2)]
def step(state):
    state[0] = state[0] + 1
    return {"sum": np.float32(state[0].sum()), "tokens": [1, 2, 3], "text": "no number", "two": (np.ones(2), [np.nan])}
"""
    kinds = made(text).check()

    assert {"output.sum", "output.tokens", "output.two.0", "output.two.1"} == kinds["inferred"].keys()
    assert [1, 2, 3] == [*kinds["inferred"]["output.tokens"]] and np.isfinite(kinds["inferred"]["output.two.1"]).all()
    assert {} == made("import os\ndef step(): return [*os.urandom(16)]").check()
    seeded = "import random, numpy\ndef step(): return random.random(), numpy.random.rand()"
    assert 2 == made(seeded).check()["inferred"]["output"].size


@pytest.mark.parametrize(("text", "said"), [
    ("def setup(size, other): ...\ndef step(): ...", r"setup\(\) has a parameter other, expected rng, size, data"),
    ("def step(state, more): ...", r"found step\(\) with 2 parameters, expected step\(\) or step\(state\)"),
    ("def step(): ...\ndef units(): return 3", r'units\(\): found 3, expected a number and a word'),
    ("def step(): ...\ndef units(): return 0, 'tokens'", r"units\(\): found \(0, 'tokens'\)"),
    ("def step(): ...\ndef units(): return 3, 'steps'", r"found \(3, 'steps'\), expected a number and a word"),
    ("import nowhere\ndef step(): ...", r"No module named 'nowhere': it is not in .*: install it there")])
def test_what_code_may_not_be_is_said(text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENBENCH_FRAMEWORK", "python")
    with pytest.raises(DataError, match=said):
        made(text)
