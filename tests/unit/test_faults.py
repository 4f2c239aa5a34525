"""The campaign sees what it is there to see: runs that are lost, repeated, late, or left without an ending."""

from pathlib import Path
from typing import Any

import pytest

from tests.faults import lab, worker
from tests.faults.faults import FAULTS
from tests.faults.outcome import Outcome, finished, missing, repeated

PLAN = {"event": "plan", "cells": [{"key": "a"}, {"key": "b"}], "rounds": 2}
GOOD = Outcome("worker killed", "killed", "docker", 10, 10, 1.25)


def run(key: str, attempt: int, ending: str | None = "ok") -> list[dict[str, Any]]:
    name = f"{key}.0.{attempt}"
    begun = [{"event": "begin", "run": name, "key": key, "round": 0}]
    return [*begun, *([{"event": "ending", "run": name, "ending": ending}] if ending else [])]


def test_a_run_that_was_cut_short_may_be_repeated_and_a_finished_one_may_not() -> None:
    assert 0 == repeated([PLAN, *run("a", 1, None), *run("a", 2, "killed"), *run("a", 3), *run("b", 1)])
    assert 1 == repeated([PLAN, *run("a", 1, "oom"), *run("a", 2, None)])


def test_finished_and_missing_runs_are_told_apart() -> None:
    records = [PLAN, *run("a", 1, "killed"), *run("a", 2), *run("b", 1, None)]
    assert [("a", 0)] == finished(records)
    assert 3 == missing(records)
    assert 0 == missing([])


@pytest.mark.parametrize("change", [{"right": 9}, {"slowest_seconds": 60.1}, {"lost": 1}, {"repeated": 1},
                                    {"left": ["evenbench-a"]}])
def test_an_outcome_with_a_flaw_is_not_good(change: dict[str, Any]) -> None:
    assert GOOD.is_good
    assert not GOOD._replace(**change).is_good


def test_every_behaviour_of_the_worker_is_tried_and_every_name_is_one_fault_s() -> None:
    assert set(worker.BEHAVIOURS) - {worker.good} == {fault.behaviour for fault in FAULTS}
    assert len(FAULTS) == len({fault.name for fault in FAULTS})


def test_the_laboratory_has_the_real_runner_and_the_faulty_worker_alone(tmp_path: Path) -> None:
    made = lab.made(tmp_path / "lab")
    session = "runner/measuring/session/__init__.py"
    assert (made.root / session).read_bytes() == Path(session).read_bytes()
    assert (made.root / "workloads/__main__.py").read_bytes() == Path(worker.__file__).read_bytes()
    assert not (made.root / "workloads/measuring/measures.py").exists()
    assert [] == made.left()
