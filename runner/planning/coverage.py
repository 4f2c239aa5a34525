"""How much of every study's experiments has been measured in results/, with stacks and workloads as they are now.

A cell is done where a run of it came to a result with the present fingerprint of its stack, stale where only with
earlier ones, failed where runs of the present ended otherwise, else missing. The data set does not count: a cell that
read CIFAR-10 is as much done as one that read the stand-in.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path
from typing import Any

from runner.cells import key
from runner.errors import InputError
from runner.planning.plan import Plan
from runner.results import sessions, store
from workloads.spec.cell import DEFAULTS, Cell, CellError, parse

STATES = ("done", "stale", "failed", "missing")
RESULTS = frozenset({"ok", "oom", "unsupported", "not_finite"})     # endings that say something of the cell
Endings = Mapping[str, Mapping[str, Set[str]]]                      # by a cell's key and by fingerprint


def key_of(cell: Cell) -> str:
    """The cell's key, whatever data it reads."""
    return key(cell._replace(data=DEFAULTS["data"]))


def endings(results: Path) -> Endings:
    """The endings of all runs in a folder of results; results that cannot be read are passed over."""
    by_cell: dict[str, dict[str, set[str]]] = {}
    for folder in store.folders(results):
        try:
            for run in sessions.read(folder).ended:
                if run.cell:
                    by_stack = by_cell.setdefault(key_of(parse(run.cell)), {})
                    by_stack.setdefault(run.fingerprint, set()).add(run.ending)
        except (InputError, CellError, KeyError, TypeError, AttributeError):
            continue
    return by_cell


def experiments(plans: Iterable[Plan], known: Endings, fingerprint: Callable[[str], str]) -> list[dict[str, Any]]:
    """How many cells of each experiment are in each state, from plans of one experiment each.

    A shared cell counts in each experiment; a skipped one cannot run here. fingerprint: a stack's present one.
    """
    rows = []
    for plan in plans:
        states = Counter(_state(planned.cell, known, fingerprint) for planned in plan.cells)
        rows.append({"experiment": f"{plan.study.id}/{plan.study.experiments[0].id}", "title": plan.study.title,
                     "scale": plan.study.scale,
                     "cells": len(plan.cells) + len(plan.skipped), **{name: states[name] for name in STATES},
                     "skipped": len(plan.skipped)})
    return rows


def _state(cell: Cell, known: Endings, fingerprint: Callable[[str], str]) -> str:
    by = known.get(key_of(cell), {})
    now = by.get(fingerprint(cell.stack), frozenset()) if by else frozenset()
    if now & RESULTS:
        return "done"
    if any(endings & RESULTS for endings in by.values()):
        return "stale"
    return "failed" if now else "missing"
