"""The page of a published study: all that its paper states, what tests it, and what the paper's own numbers say."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runner import paths
from runner.planning import plan
from runner.report.claims import wording
from runner.study import file
from runner.study.claims import Claim, paper_claim
from runner.study.file import Study
from runner.study.published import Published
from tools import paper_check
from tools.paper_check import Judged
from workloads.spec.cell import Cell

_TOLD = "told, not tested"
_HEAD = ("id", "states", "tested as", "holds where", "reading", "cells", "on the paper's own numbers",
         "a verdict at quick on two cores")
_CAN = "can have"


def published_studies() -> list[str]:
    """The ids of the repository's studies that repeat a publication."""
    return [name for name in file.available(paths.STUDIES) if file.repeats_publication(name, paths.STUDIES)]


def page(name: str) -> str:
    """The page of the study of that id at the paper's scale, as Markdown."""
    study, quick = (file.read(name, paths.STUDIES, scale) for scale in ("paper", "quick"))
    judged = {each.id: each for each in paper_check.check(study)}
    lacking = {claim.id: _lacking(claim, quick, study) for claim in quick.claims}
    return "\n".join([f"# {study.id}: {study.title}", "",
                      "Written from the study's file by `python -m tools pages`.", "",
                      *_counts(study, judged.values(), lacking), *_claims_by_source(study, judged, lacking),
                      *_section("Told, not tested", ("id", "place", "states", "why it is not tested"),
                                [(each.id, each.source, each.text, each.why) for each in study.told]),
                      *_contradictions(study, judged), *_numbers(study)]).rstrip() + "\n"


def _counts(study: Study, judged: Iterable[Judged], lacking: Mapping[str, str]) -> Iterator[str]:
    ids = {claim.id for claim in study.claims}
    verdicts = Counter(each.word for each in judged if each.id in ids)
    statements = len({paper_claim(name) for name in ids})
    return table(("what", "number"), [
        ("statements of the paper", f"{statements + len(study.told)}"), ("of them tested", f"{statements}"),
        (f"of them {_TOLD}", f"{len(study.told)}"), ("claims that test them", f"{len(study.claims)}"),
        *((f"claims: {word}", f"{count}") for word, count in sorted(verdicts.items())),
        ("claims that can have a verdict at quick on two cores", f"{list(lacking.values()).count(_CAN)}"),
        ("published numbers", f"{len(study.published)}")])


def _claims_by_source(study: Study, judged: Mapping[str, Judged], lacking: Mapping[str, str]) -> Iterator[str]:
    """A table a place of the paper, in the file's order."""
    for source in dict.fromkeys(claim.source for claim in study.claims):
        yield from _section(source or "No place said", _HEAD, [
            (*_line(claim, study, judged[claim.id]), lacking[claim.id]) for claim in study.claims
            if claim.source == source])


def _line(claim: Claim, study: Study, judged: Judged) -> tuple[str, ...]:
    return (claim.id, claim.text, f"{claim.kind} of {claim.quantity.replace('_', ' ')}", wording.condition(claim),
            claim.assumed, _cells(claim, study), judged.word)


def _cells(claim: Claim, study: Study) -> str:
    """How many cells it looks at, and the experiments that have them."""
    by_experiment = _by_experiment(claim, study)
    every = set().union(*by_experiment.values())
    return f"{len(every)} of {', '.join(name for name, cells in by_experiment.items() if cells)}"


def _by_experiment(claim: Claim, study: Study) -> dict[str, set[Cell]]:
    """The cells that it looks at, by experiment."""
    is_about = claim.selection()
    return {experiment.id: {each.cell for each in file.cells_of(experiment) if is_about(each.cell)
                            and any(one.owns(each.cell) for one in claim.subjects)}
            for experiment in study.experiments if claim.experiment in ("", experiment.id)}


def _lacking(claim: Claim, quick: Study, whole: Study) -> str:
    """What a claim of the quick scale needs beyond two cores to get a verdict: a GPU, the paper's scale."""
    cells = set().union(*_by_experiment(claim, quick).values())
    there = {(one, claim.case(cell)) for cell in cells for one in claim.subjects if one.owns(cell)}
    steps = {case[-1] for case in claim.cases} if claim.along else {0, 1}
    needs = []
    if len(steps) < 2 or not claim.cases or not there.issuperset(itertools.product(claim.subjects, claim.cases)):
        paper = next(each for each in whole.claims if each.id == claim.id)
        cells, needs = set().union(*_by_experiment(paper, whole).values()), ["scale paper"]
    if any(cell.device == "gpu" or plan.of_a_gpu(cell) for cell in cells):
        needs.append("a GPU")
    return "needs " + " and ".join(needs) if needs else _CAN


def _contradictions(study: Study, judged: dict[str, Judged]) -> Iterator[str]:
    """What does not follow from the paper's own other numbers, with the arithmetic."""
    contradictions = {**{claim.id: claim.contradiction for claim in study.claims},
                      **{number.id: number.contradiction for number in study.published}}
    return _section("The paper's own contradictions", ("id", "arithmetic"), [
        (name, contradictions[name]) for name, each in judged.items() if each.word == paper_check.CONTRADICTION])


def _numbers(study: Study) -> Iterator[str]:
    """What the paper prints, place by place."""
    return _section("Published numbers", ("id", "place", "of", "printed", "remark"), [
        (number.id, number.source, f"{number.quantity.replace('_', ' ')} of "
         + " / ".join(str(one) for one in number.subjects), _printed(number), number.text)
        for number in study.published])


def _printed(number: Published) -> str:
    over = [f"of {number.steps:,} steps"] if number.steps > 1 else []
    over += [number.statistic] if number.statistic != "mean" else []
    return ", ".join([f"{number.value:.10g} {number.unit}", *over])


def _section(heading: str, head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table below its heading; nothing without lines."""
    if lines:
        yield from (f"## {heading}", "", *table(head, lines))


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, and an empty line."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    yield from ("| " + " | ".join(text.replace("|", "\\|") or " " for text in line) + " |" for line in lines)
    yield ""
