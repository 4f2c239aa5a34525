"""Whether a study's claims hold on the numbers that its own paper prints. Pure.

A printed number is data of a claim where quantity, subjects and cells are the claim's. A number of one case stands for
that case; one over several cases (a mean) stands for each of them only where the claim is of a mean or a total itself.
Claims are judged three times, each where its numbers are there: on values, on ratios, on numbers over several cases.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from runner.analysis.claims.judging import judge_values
from runner.study import file, quantities
from runner.study.claims import Case, Claim, Verdict, shown, together
from runner.study.file import Study
from runner.study.published import Published, parted
from runner.study.subjects import Subject
from workloads.spec.cell import Cell

HOLDS, CONTRADICTION = "holds", "the paper's own contradiction"
DOES_NOT_HOLD, NO_DATA = "does not hold on the paper's own numbers", "no printed data"
# two printed numbers are rounded, and so is the ratio of them: at most so much apart
_ROUNDING = 0.003

Values = Mapping[Case, Mapping[Subject, float]]
Cells = Mapping[str, Sequence[Cell]]         # by experiment


class Judged(NamedTuple):
    """What the paper's own numbers say of one of its claims, or of one of its printed ratios."""

    id: str
    word: str                    # HOLDS, CONTRADICTION, DOES_NOT_HOLD or NO_DATA
    numbers: tuple[str, ...]     # those that it was judged by; only those that fail, where some do


def check(study: Study) -> tuple[Judged, ...]:
    """Every claim, and every printed ratio of two numbers that are printed too."""
    cells = {experiment.id: [*file.cells_of(experiment)] for experiment in study.experiments}
    return (*(_claim(claim, study.published, cells) for claim in study.claims),
            *filter(None, (_ratio(number, study.published) for number in study.published)))


def _claim(claim: Claim, published: Iterable[Published], cells: Cells) -> Judged:
    printed = [(number, covered) for number in published if (covered := _covered(claim, number, cells))]
    numbers = [number for values in _readings(claim, printed) for number in judge_values(claim, values)]
    if any(len(covered) > 1 for _, covered in printed) and claim.holds_for == "greatest":
        numbers = [number.model_copy(update={"case": {}}) for number in numbers]      # of which is not printed
    verdict = together(number.verdict for number in numbers)
    word = {Verdict.HOLDS: HOLDS, Verdict.NO_DATA: NO_DATA}.get(
        verdict, CONTRADICTION if claim.contradiction else DOES_NOT_HOLD)
    said = dict.fromkeys(", ".join([number.what, *shown(number.case)]) + f": {number.value:.6g}"
                         for number in numbers if number.verdict is verdict)
    return Judged(claim.id, word, tuple(said))


def _covered(claim: Claim, number: Published, cells: Cells) -> tuple[Case, ...]:
    """The claim's cases that a printed number covers; none if it also covers cells outside the claim."""
    if number.quantity != claim.quantity or not set(number.subjects) <= set(claim.subjects):
        return ()
    if number.experiment and claim.experiment and number.experiment != claim.experiment:
        return ()
    theirs = _cells(cells, number.subjects, number.selection(), number.experiment)
    ours = _cells(cells, number.subjects, claim.selection(), claim.experiment)
    if not theirs or not theirs <= ours:
        return ()
    return tuple(dict.fromkeys(claim.case(cell) for cell in ours if cell in theirs))


def _cells(cells: Cells, subjects: Iterable[Subject], is_about: Callable[[Cell], bool], experiment: str) -> set[Cell]:
    return {cell for name, own in cells.items() if experiment in ("", name) for cell in own if is_about(cell)
            and any(one.owns(cell) for one in subjects)}


Printed = Sequence[tuple[Published, tuple[Case, ...]]]


def _readings(claim: Claim, printed: Printed) -> list[Values]:
    """The printed values of the claim's cases, once for each way to read them; all cases, if the claim is over all."""
    one = [each for each in printed if len(each[1]) == 1]
    values, ratios = _values(claim, one), _ratios(one)
    readings = [values, {} if claim.holds_for == "total" and len(claim.cases) > 1 else ratios]
    if claim.is_over_cases:
        many = sorted((each for each in printed if len(each[1]) > 1 and _is_of(claim, each[0])),
                      key=lambda each: len(each[1]))
        if many:
            readings += [{**values, **_values(claim, many)}, {**ratios, **_ratios(many)}]
    complete = [{case: each for case, each in one.items() if set(claim.subjects) <= set(each)} for one in readings]
    return [one for one in complete if one and (not claim.is_over_cases or len(one) == len(claim.cases))]


def _is_of(claim: Claim, number: Published) -> bool:
    """Whether a number over several cases is the claim's statistic; the ratio of two means is that of two sums."""
    statistic = "mean" if claim.holds_for == "each" else claim.holds_for
    return number.statistic == statistic if number.to else claim.holds_for in ("mean", "total")


def _values(claim: Claim, printed: Printed) -> dict[Case, dict[Subject, float]]:
    """Values of single subjects, in the quantity's own unit; none where the claim is of a share that is not printed."""
    values: dict[Case, dict[Subject, float]] = {}
    if claim.kind == "share" and quantities.QUANTITIES[claim.quantity].whole:
        return values
    for number, covered in printed:
        for case in covered if number.to is None else ():
            values.setdefault(case, {})[number.of] = _value(number)
    return values


def _value(number: Published) -> float:
    """A rate as the time of a sample or step of one GPU: only ratios of such are taken."""
    if number.unit in ("samples/s", "steps/s"):
        gpus = dict(number.of.settings).get("gpus", 1)
        return (float(gpus) if number.unit == "samples/s" else 1.0) / number.value
    return number.value / 100 if number.unit == "%" else number.value / number.steps


def _ratios(printed: Printed) -> dict[Case, dict[Subject, float]]:
    """Made-up values with the printed ratios; the first subject's is 1. Two that share none have no common unit."""
    by_case: dict[Case, dict[Subject, float]] = {}
    for number, case in ((number, case) for number, covered in printed for case in covered):
        values = by_case.setdefault(case, {}) if number.to else {}
        if number.to and (not values or number.to in values):
            values[number.of] = values.setdefault(number.to, 1.0) * number.ratio
        elif number.to and number.of in values:
            values[number.to] = values[number.of] / number.ratio
    return by_case


def _ratio(number: Published, published: Sequence[Published]) -> Judged | None:
    """Whether a printed ratio follows from its two printed numbers; None without them."""
    sides = [next((each for each in published if each.to is None and each.of == subject
                   and (each.quantity, each.experiment) == (number.quantity, number.experiment)
                   and each.where.get("task") == number.where.get("task")
                   and all(each.where[name] == number.where[name] for name in each.where.keys() & number.where.keys())),
                  None) for subject in number.subjects]
    if number.to is None or None in sides:
        return None
    of, to = (_value(each) for each in sides if each)
    last_digit = 10.0 ** -len(parts.digits.partition(".")[2]) if (parts := parted(number.printed)) else 0.0
    follows = (abs(of / to / number.ratio - 1) <= _ROUNDING
               or abs(_in_unit(of / to, number.unit) - number.value) <= last_digit)      # some papers cut, not round
    word = HOLDS if follows else CONTRADICTION if number.contradiction else DOES_NOT_HOLD
    return Judged(number.id, word, (f"printed {number.value:g} {number.unit}, of the printed numbers "
                                    f"{_in_unit(of / to, number.unit):.4g}",))


def _in_unit(ratio: float, unit: str) -> float:
    if unit in ("x", "% more"):
        return ratio if unit == "x" else (ratio - 1) * 100
    return (1 - 1 / ratio) * (100 if unit == "%" else 1)
