"""A made session's report, for tests of how reports are written."""

from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from runner.analysis.flags import Proved
from runner.analysis.summary import summary_of
from runner.analysis.summary_format import Summary
from runner.paths import STACKS
from runner.planning.plan import Plan, Wishes, plan
from runner.report.contents import report
from runner.report.document import Chart, Report, Section
from runner.results.reader import measurements
from runner.results.rows import Measurements
from runner.stacks import definition
from tests import fakes, studies
from tests import made_rows as made
from tests.made_rows import DONE as DONE
from workloads.spec.cell import Cell

Kind = TypeVar("Kind", bound=Chart)
SLOW, FAST = [100.0, 101.0, 99.0, 100.5, 99.5], [150.0, 151.0, 149.0, 150.5, 149.5]
TORCH, TF = made.cell("torch", steps=20), made.cell("tf", steps=20)
# what a file of somebody else's could hold: markup, terminal codes, formulas, commands of LaTeX and of Markdown
EVIL = "<script>alert(1)</script>\x1b]0;owned\x07\u202e $x$ \\input{/etc/passwd} | [a](javascript:b) {{ 7*7 }} & % # _"


def records(*more: Any, cells: dict[Cell, list[float]] | None = None, session: dict[str, Any] | None = None,
            plan: dict[str, Any] | None = None, **values: Any) -> list[Any]:
    """The records of a session of two stacks, or of those cells with those rates."""
    rates = {TORCH: SLOW, TF: FAST} if cells is None else cells
    return [made.session(**(session or {})), {**made.plan(*rates), **(plan or {})}, *made.rated(rates, **values), *more]


def planned(name: str) -> Plan:
    """A study of the repository, planned for two CPUs; a stack that has no folder yet is a made one."""
    read = studies.read(name)
    known = definition.read_all(STACKS)
    missing = {each for one in read.experiments for each in one.stacks} - known.keys()
    return plan(read, {**known, **{each: fakes.stack(each) for each in missing}}, fakes.MACHINE, Wishes(),
                lambda stack: None)


def contents(found: list[Any]) -> tuple[Summary, Measurements, Report]:
    """The records' summary, measurements and report."""
    measured = measurements(found)
    summary = summary_of(measured, dict.fromkeys([("lenet5", "torch"), ("lenet5", "tf")], True))
    return summary, measured, report(summary, measured)


def reported(found: list[Any], proved: Proved = MappingProxyType({})) -> Report:
    """The report of records of which no builds but those were checked."""
    measured = measurements(found)
    return report(summary_of(measured, proved), measured)


def report_of(*more: Any, **values: Any) -> Report:
    """The report of such records as `records` makes, whose builds were checked."""
    return contents(records(*more, **values))[2]


def drawn(section: Section, kind: type[Kind]) -> list[Kind]:
    """The section's charts of a kind."""
    return [chart for chart in section.charts if isinstance(chart, kind)]


def evil() -> list[Any]:
    """A session every text of which is a stranger's."""
    facts = {**made.FACTS, "version": EVIL, "framework": EVIL, EVIL: EVIL, "data": {"name": EVIL, "stand_in": True}}
    cells = {made.cell(EVIL, steps=20, task=EVIL): SLOW, made.cell("tf", steps=20, task=EVIL): FAST}
    failed = made.run(made.cell("tf", steps=20, task=EVIL), 9, ending="error", message=EVIL)
    subjects = [{"stack": name, "parallel": "", "settings": {}, "also": [EVIL]} for name in (EVIL, "tf")]
    claim = {"id": EVIL, "text": EVIL, "kind": "faster", "quantity": "step", "where": {"data": [EVIL]},
             "cases": [[EVIL]], "of": subjects[0], "to": subjects[1], "over": ["task"], "assumed": EVIL,
             "experiment": EVIL}
    number = {"id": EVIL, "source": EVIL, "text": EVIL, "quantity": "step", "of": subjects[0], "to": subjects[1],
              "where": {"data": [EVIL]}, "value": 1.5, "unit": "x", "experiment": EVIL}
    planned = {**made.plan(*cells, baseline=EVIL, skipped={made.cell("mxnet", task=EVIL): EVIL}, claims=[claim]),
               "published": [number]}
    experiment = {"id": EVIL, "title": EVIL, "assumed": {EVIL: EVIL}, "scaled": [EVIL],
                  "cells": [item["key"] for item in planned["cells"]]}
    machine = {**made.MACHINE, **dict.fromkeys(("cpu", "kernel", "system", "hostname"), EVIL)}
    return records(*failed, cells=cells, facts=facts, place={**made.PLACE, "base": EVIL},
                   session={"study": EVIL, "id": EVIL, "argv": ["run", EVIL], "scale": EVIL,
                            "launcher": EVIL, "began": EVIL, "evenbench": EVIL,
                            "machine": machine},
                   plan={**planned, "title": EVIL, "experiments": [experiment], "settings": {EVIL: EVIL}})


def stored(folder: Path, identifier: str = "made") -> Path:
    """The session of two stacks, done, as a folder of results holds it."""
    return made.kept(folder, *records(DONE, session={"id": identifier}))
