"""A made session's report, for tests of how reports are written."""

from typing import Any

from runner.report.contents import report
from runner.report.parts import Report
from runner.rows import Measurements, measurements
from runner.summary import summary_of
from runner.summary_format import Summary
from tests import made_rows as made
from workloads.spec.cell import Cell

SLOW, FAST = [100.0, 101.0, 99.0, 100.5, 99.5], [150.0, 151.0, 149.0, 150.5, 149.5]
TORCH, TF = made.cell("torch", steps=20), made.cell("tf", steps=20)
DONE = {"event": "closed", "reason": "done"}
# what a file of somebody else's could hold: markup, terminal codes, formulas, commands of LaTeX and of Markdown
EVIL = "<script>alert(1)</script>\x1b]0;owned\x07\u202e $x$ \\input{/etc/passwd} | [a](javascript:b) {{ 7*7 }} & % # _"


def records(*more: Any, cells: dict[Cell, list[float]] | None = None, session: dict[str, Any] | None = None,
            plan: dict[str, Any] | None = None, **values: Any) -> list[Any]:
    """The records of a session of two stacks, or of those cells with those rates."""
    rates = {TORCH: SLOW, TF: FAST} if cells is None else cells
    runs = [record for cell, found in rates.items() for record in made.runs(cell, found, **values)]
    return [made.session(**(session or {})), {**made.plan(*rates), **(plan or {})}, *runs, *more]


def contents(found: list[Any]) -> tuple[Summary, Measurements, Report]:
    """The records' summary, measurements and report."""
    measured = measurements(found)
    summary = summary_of(measured, {("lenet5", "torch"), ("lenet5", "tf")})
    return summary, measured, report(summary, measured)


def evil() -> list[Any]:
    """A session every text of which is a stranger's."""
    facts = {**made.FACTS, "version": EVIL, "framework": EVIL, EVIL: EVIL, "data": {"name": EVIL, "stand_in": True}}
    cells = {made.cell(EVIL, steps=20, task=EVIL): SLOW, made.cell("tf", steps=20, task=EVIL): FAST}
    failed = made.run(made.cell("tf", steps=20, task=EVIL), 9, ending="error", message=EVIL)
    planned = made.plan(*cells, baseline=EVIL, skipped={made.cell("mxnet", task=EVIL): EVIL})
    experiment = {"id": EVIL, "title": EVIL, "assumed": {EVIL: EVIL}, "scaled": [EVIL],
                  "cells": [item["key"] for item in planned["cells"]]}
    return records(*failed, cells=cells, facts=facts, place={**made.PLACE, "base": EVIL},
                   session={"study": EVIL, "id": EVIL, "argv": ["run", EVIL], "machine": {**made.MACHINE, "cpu": EVIL}},
                   plan={**planned, "title": EVIL, "experiments": [experiment], "settings": {EVIL: EVIL}})
