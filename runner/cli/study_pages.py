"""The page of a published study: all that its paper states, what tests it, and what the paper's own numbers say of it.

`python -m runner.cli.study_pages` writes docs/studies/NAME.md anew for every study of the repository that repeats a
publication; a test holds that they are what it writes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from runner import paths
from runner.analysis.claims import paper_check
from runner.analysis.claims.paper_check import Judged
from runner.study import file
from runner.study.claims import Claim, paper_claim
from runner.study.file import Study
from runner.study.published import Published
from workloads.spec.cell import Cell

FOLDER = paths.STUDIES.parent / "docs" / "studies"
_TOLD = "told, not tested"
_HEAD = ("id", "states", "tested as", "holds where", "reading", "cells", "on the paper's own numbers")
_TOLD_HEAD = ("id", "place", "states", "why it is not tested")


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name in published_studies():
        (FOLDER / f"{name}.md").write_text(page(file.read(name, paths.STUDIES, "paper")), encoding="utf-8")


def published_studies() -> list[str]:
    """The ids of the repository's studies that repeat a publication."""
    return [name for name in file.available(paths.STUDIES) if file.repeats_publication(name, paths.STUDIES)]


def page(study: Study) -> str:
    """The page of a study at the paper's scale, as Markdown."""
    judged = {each.id: each for each in paper_check.check(study)}
    return "\n".join([f"# {study.id}: {study.title}", "",
                      "Written from the study's file by `python -m runner.cli.study_pages`.", "",
                      *_counts(study, judged.values()), *_claims_by_source(study, judged), *_not_tested(study),
                      *_contradictions(study, judged), *_numbers(study)]).rstrip() + "\n"


def _counts(study: Study, judged: Iterable[Judged]) -> Iterator[str]:
    ids = {claim.id for claim in study.claims}
    verdicts = Counter(each.word for each in judged if each.id in ids)
    statements = len({paper_claim(name) for name in ids})
    yield from _table(("what", "number"), [
        ("statements of the paper", f"{statements + len(study.told)}"), ("of them tested", f"{statements}"),
        (f"of them {_TOLD}", f"{len(study.told)}"), ("claims that test them", f"{len(study.claims)}"),
        *((f"claims: {word}", f"{count}") for word, count in sorted(verdicts.items())),
        ("published numbers", f"{len(study.published)}")])


def _claims_by_source(study: Study, judged: dict[str, Judged]) -> Iterator[str]:
    """A table a place of the paper, in the file's order."""
    for source in dict.fromkeys(claim.source for claim in study.claims):
        yield from (f"## {source or 'No place said'}", "")
        yield from _table(_HEAD, [_line(claim, study, judged[claim.id]) for claim in study.claims
                                  if claim.source == source])


def _line(claim: Claim, study: Study, judged: Judged) -> tuple[str, ...]:
    return (claim.id, claim.text, f"{claim.kind} of {claim.quantity.replace('_', ' ')}", condition(claim),
            claim.assumed, _cells(claim, study), judged.word)


def _cells(claim: Claim, study: Study) -> str:
    """How many cells it looks at, and the experiments that have them."""
    is_about = claim.selection()
    by_experiment: dict[str, set[Cell]] = {}
    for experiment in study.experiments:
        if claim.experiment in ("", experiment.id):
            cells = {each.cell for each in file.cells_of(experiment)}
            by_experiment[experiment.id] = {cell for cell in cells if is_about(cell)
                                            and any(one.owns(cell) for one in claim.subjects)}
    every = set().union(*by_experiment.values())
    return f"{len(every)} of {', '.join(name for name, cells in by_experiment.items() if cells)}"


def condition(claim: Claim) -> str:
    """Where a claim holds, as a comparison of its subjects."""
    of, to = (str(one) if one else "" for one in (claim.of, claim.to))
    ratio = f"{of} / {to}" if to else of
    said = {"faster": f"{of} < {to}", "ratio": f"{ratio} {_limits(claim)}", "share": f"{ratio} {_limits(claim)}",
            "trend": f"{ratio} {claim.direction} from each {claim.along} to the next",
            "slope": f"{ratio} {claim.direction} over {claim.along}" + (f", within {claim.within:g}" if claim.within
                                                                        else ""),
            "order": " < ".join(map(str, claim.order)), "equal": f"{ratio} is 1, within {claim.within}",
            "differ": f"{ratio} is not 1, by more than {claim.within}",
            "mpe": f"mean of ({of} - {to}) / {of} {_limits(claim)}"}[claim.kind]
    return said + _over(claim)


def _limits(claim: Claim) -> str:
    if claim.about is not None:
        return f"about {claim.about:g}, within {claim.within:g}"
    return " and ".join(f"{word} {value:g}" for word, value in (("at least", claim.at_least),
                                                                ("at most", claim.at_most)) if value is not None)


def _over(claim: Claim) -> str:
    """Of which of its cases that is said, where it has several; and where the opposite is."""
    several = {"each": "in each of {} cases", "mean": "in the geometric mean of {} cases",
               "total": "in the sum of {} cases", "greatest": "in the greatest of {} cases"}[claim.holds_for]
    said = "; " + several.format(len(claim.cases)) if len(claim.cases) > 1 and claim.kind != "mpe" else ""
    turned = ", ".join(str(value) for case in claim.turned_for for value in case.values())
    return said + (f"; the other way for {turned}" if turned else "")


def _not_tested(study: Study) -> Iterator[str]:
    if study.told:
        yield from ("## Told, not tested", "")
        yield from _table(_TOLD_HEAD, [(each.id, each.source, each.text, each.why) for each in study.told])


def _contradictions(study: Study, judged: dict[str, Judged]) -> Iterator[str]:
    """What does not follow from the paper's own other numbers, with the arithmetic."""
    contradictions = {**{claim.id: claim.contradiction for claim in study.claims},
                      **{number.id: number.contradiction for number in study.published}}
    said = [(name, contradictions[name]) for name, each in judged.items() if each.word == paper_check.CONTRADICTION]
    if said:
        yield from ("## The paper's own contradictions", "")
        yield from _table(("id", "arithmetic"), said)


def _numbers(study: Study) -> Iterator[str]:
    """What the paper prints, place by place."""
    yield from ("## Published numbers", "") if study.published else ()
    yield from _table(("id", "place", "of", "printed", "remark"), [
        (number.id, number.source, f"{number.quantity.replace('_', ' ')} of "
         + " / ".join(str(one) for one in number.subjects), _printed(number), number.text)
        for number in study.published]) if study.published else ()


def _printed(number: Published) -> str:
    over = [f"of {number.steps:,} steps"] if number.steps > 1 else []
    over += [number.statistic] if number.statistic != "mean" else []
    return ", ".join([f"{number.value:.10g} {number.unit}", *over])


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, and an empty line."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    yield from ("| " + " | ".join(text.replace("|", "\\|") or " " for text in line) + " |" for line in lines)
    yield ""


if __name__ == "__main__":
    main()
