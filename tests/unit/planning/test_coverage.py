"""What of every experiment is done, stale, failed and missing."""

from pathlib import Path
from typing import Any

from runner.planning.coverage import STATES, endings, experiments
from runner.planning.plan import Plan, Wishes, plan
from runner.results import store
from tests import made_rows as made
from tests.fakes import MACHINE, stack, study
from workloads.spec.cell import Cell

NOW = {"a": "now"}


def planned() -> Plan:
    return plan(study("a", grid={"batch": [1, 2, 4, 8]}), {"a": stack("a")}, MACHINE, Wishes(), lambda stack: None)


def kept(folder: Path, *runs: tuple[Cell, str, str]) -> None:
    """A result with runs of (cell, fingerprint, ending)."""
    records = (record for index, (cell, made_of, ending) in enumerate(runs)
               for record in made.run(cell, index, ending=ending, place={**made.PLACE, "fingerprint": made_of}))
    made.kept(folder, made.session(), made.plan(*(cell for cell, _, _ in runs)), *records)


def state(results: Path) -> dict[str, Any]:
    experiment, = experiments([planned()], endings(results), NOW.__getitem__)
    return experiment


def test_cells_are_done_stale_failed_or_missing(tmp_path: Path) -> None:
    assert {"done": 0, "stale": 0, "failed": 0, "missing": 4} == {name: state(tmp_path)[name] for name in STATES}
    one, two, four, _ = (each.cell for each in planned().cells)
    kept(tmp_path / "r", (one, "now", "ok"), (two, "then", "ok"), (four, "now", "died"))

    assert {"experiment": "s/e", "title": "S", "scale": "paper", "cells": 4, "done": 1, "stale": 1, "failed": 1,
            "missing": 1,
            "skipped": 0} == state(tmp_path)


def test_a_result_of_now_counts_more_than_a_stale_or_broken_one_whatever_data_it_read(tmp_path: Path) -> None:
    one, two = (each.cell for each in planned().cells[:2])
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / store.EVENTS).write_text("nothing\n")
    kept(tmp_path / "r1", (one._replace(data="cifar10"), "now", "ok"), (two, "now", "oom"))      # a result, too
    kept(tmp_path / "r2", (one, "then", "ok"))

    assert (2, 0) == (state(tmp_path)["done"], state(tmp_path)["stale"])
