"""A published study as people read it: its figures and tables by its own numbers, set-up, numbers and claims. Pure."""

import itertools
from collections.abc import Sequence
from typing import Any

from runner.planning import paper_index
from runner.planning.plan import Plan, of_a_gpu
from runner.report.claims import wording
from runner.report.tables import Part
from runner.study import file
from runner.study.claims import Claim
from runner.study.file import Study
from runner.study.published import Published
from workloads.spec.cell import Cell
from workloads.spec.data.datasets import DATA_SETS
from workloads.spec.data.prepared import SEQUENCE_SETS


def parts(whole: Study, made: Plan, index: Sequence[Part]) -> list[Part]:
    """The study at its paper's scale, its plan at the scale that runs here, and its index in the form to show."""
    found: list[Part] = [f"{whole.id}: {whole.title}", f"Figures and tables, at scale {made.study.scale} here:",
                         *index, "Set-up, data and what was assumed:",
                         [{"of": of, "what": what} for of, what in paper_index.facts(made, _data)]]
    for title, rows in (("Published numbers:", [*map(_number, whole.published)]),
                        ("Quantities that papers derive:", [
                            {"quantity": name, "defined by": text}
                            for name, text in wording.definitions((*whole.published, *whole.claims)).items()]),
                        ("Claims:", [_claim(each, whole, made.study) for each in whole.claims]),
                        ("Told, not tested:", [{"id": each.id, "place": each.source, "states": each.text,
                                                "why": each.why} for each in whole.told]),
                        ("The paper's own contradictions:", [
                            {"id": each.id, "arithmetic": each.contradiction}
                            for each in (*whole.claims, *whole.published) if each.contradiction])):
        found += [title, rows] if rows else []
    return found


def _data(name: str) -> str:
    """A data set, and what is read where it is not given."""
    if name in SEQUENCE_SETS:
        return f"{SEQUENCE_SETS[name].title}, with --data {name}=FOLDER; else sequences of seeded lengths stand in"
    known = DATA_SETS[name]
    if known.is_stand_in:
        return known.title
    return f"{known.title}, with --data {name}=FOLDER; else {DATA_SETS['digits32'].title} stand in"


def _number(number: Published) -> dict[str, Any]:
    return {"id": number.id, "place": number.source, "of": " / ".join(map(str, number.subjects)),
            "about": wording.fields(number.where), "quantity": wording.quantity(number), "printed": number.printed,
            "unit": number.unit, "remark": number.text}


def _claim(claim: Claim, study: Study, here: Study) -> dict[str, str]:
    scaled = next(each for each in here.claims if each.id == claim.id)
    return {"id": claim.id, "place": claim.source, "states": claim.text, "holds where": wording.condition(claim),
            "of": wording.called(claim.quantity), "reading": claim.assumed, "cells": _cells(claim, study),
            f"verdict at {here.scale}": _lacking(scaled, here, study)}


def _cells(claim: Claim, study: Study) -> str:
    """How many cells it looks at, and the experiments that have them."""
    by_experiment = _by_experiment(claim, study)
    every = set().union(*by_experiment.values())
    return f"{len(every)} of {', '.join(name for name, cells in by_experiment.items() if cells)}"


def _by_experiment(claim: Claim, study: Study) -> dict[str, set[Cell]]:
    """The cells that it looks at, by experiment."""
    is_about = claim.selection()
    return {experiment.id: {cell for cell in file.cells_of(experiment) if is_about(cell)
                            and any(one.owns(cell) for one in claim.subjects)}
            for experiment in study.experiments if claim.experiment in ("", experiment.id)}


def _lacking(claim: Claim, here: Study, whole: Study) -> str:
    """What a claim at a scale needs beyond two cores to get a verdict: a GPU, the paper's scale."""
    cells = set().union(*_by_experiment(claim, here).values())
    there = {(one, claim.case(cell)) for cell in cells for one in claim.subjects if one.owns(cell)}
    steps = {case[-1] for case in claim.cases} if claim.along else {0, 1}
    needs = []
    if len(steps) < 2 or not claim.cases or not there.issuperset(itertools.product(claim.subjects, claim.cases)):
        paper = next(each for each in whole.claims if each.id == claim.id)
        cells, needs = set().union(*_by_experiment(paper, whole).values()), ["scale paper"]
    if any(cell.device == "gpu" or of_a_gpu(cell) for cell in cells):
        needs.append("a GPU")
    return "needs " + " and ".join(needs) if needs else "can have one"
