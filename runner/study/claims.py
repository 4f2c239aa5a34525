"""Claims of a study: what one says, as data, never an expression. runner.analysis.claims.judging judges them. Pure.

A claim is about a quantity in cases: the combinations of its fields' values that the study has. A case gives numbers,
each a ratio of two series of runs paired by round, with its interval (stats.ratios). By kind a number is:
    faster  to / of, above 1: `of` takes less time than `to`
    ratio   of / to, between at_least and at_most, or `about` so much: divided and multiplied by 1 + within
    share   the quantity over its whole in the same run (a phase over the step, the first epoch over a later one), or
            as it is where it is a share; thresholds as of a ratio
    trend   the quantity, or of / to, at a value of `along` over that at the value before: above 1 up, below 1 down
    slope   what the quantity, or of / to, changes by from the least to the greatest value of `along` on the straight
            line fitted to all values, both on logarithms: above 1 up, below 1 down, between 1 / (1 + within) and
            1 + within flat
    order   of each subject over the one before it, above 1: the least stands first
    least   the quantity, or of / to, in each other case over that in the case `at`: above 1; with `than` those of other
            subjects, or pairs of them, too, in every case
    most    the same, below 1
    equal   of / to, between 1 / (1 + within) and 1 + within, so that it reads the same both ways
    mpe     the mean over all cases of (of - to) / of, the statistic of mahorker's Table 2; below 0 where `to` takes
            longer; thresholds as of a ratio, `about` on either side of 0
Every case must hold, or with holds_for = "mean" the geometric mean over the cases, with "total" the ratio of their sums
(which is that of their arithmetic means), with "greatest" the case of the greatest number. In the cases of turned_for
the opposite is claimed. Cases that differ only in `averaged` fields are one case before all that, of the mean of their
values in each round: what a figure of averages shows. A claim holds where all 95 % intervals lie wholly on its side:
that all do by chance is no likelier than that one does. It does not where one lies wholly on the other, widened so that
all of them together are wrong in 5 % (Bonferroni): among many cases one is now and then off by chance. A case that
contradicts is enough beside others that are missing, but not of a mean, an mpe or a slope, which are of all cases.
`than` of a ratio are two more subjects: the number is (of / to) over their ratio.

Why a slope and no rank test says "falls up to a limit" (patel), beyond which neighbours are equal: every round gives
one fitted slope, so that the run stays the unit of replication; rank tests give no size, and no way to say flat.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from typing import Annotated, Any, NamedTuple

from pydantic import PositiveFloat

from runner import formatting
from runner.results.lines import says
from runner.strict_toml import Text
from runner.study.quantities import PASSES, QUANTITIES, SHARABLE
from runner.study.subjects import OfCells, Subject, Value, named, unknown_fields
from workloads.spec.cell import FIELDS, Cell

_THRESHOLDS = ("at_least", "at_most", "about", "within")


class Kind(NamedTuple):
    """A kind of claim: the keys that it must have and may have, and its words for runner.report.claims.wording.

    `condition` says where it holds, `theirs` what the paper says beside our number; both are formats of {of}, {to},
    {ratio} (of / to), {limits}, {at}, {order}, {along}, {direction} and {within} (", within" so much, where said).
    """

    must: tuple[str, ...]
    may: tuple[str, ...]
    condition: str = "{ratio} {limits}"
    theirs: str = "{limits}"


KINDS: dict[str, Kind] = {
    "faster": Kind(("of", "to"), ("turned_for",), "{of} < {to}", "less time"),
    "ratio": Kind(("of", "to"), (*_THRESHOLDS, "than")),
    "share": Kind(("of",), _THRESHOLDS),
    "trend": Kind(("of", "along", "direction"), ("to", "turned_for"),
                  "{ratio} {direction} from each {along} to the next", "{direction}"),
    "slope": Kind(("of", "along", "direction"), ("to", "turned_for", "within"),
                  "{ratio} {direction} over {along}{within}", "{direction}{within}"),
    "order": Kind(("order",), ("turned_for",), "{order}", "in this order"),
    "least": Kind(("of", "at"), ("to", "than"), "{ratio} is the least in {at}", "the least in {at}"),
    "most": Kind(("of", "at"), ("to", "than"), "{ratio} is the most in {at}", "the most in {at}"),
    "equal": Kind(("of", "to", "within"), ("than",), "{ratio} is 1{within}", "equal{within}"),
    "mpe": Kind(("of", "to"), _THRESHOLDS, "mean of ({of} - {to}) / {of} {limits}"),
}
HOLDS_FOR = ("each", "mean", "total", "greatest")
DIRECTIONS = ("up", "down", "flat")

Case = tuple[Value, ...]             # a value for each of a claim's fields


class Statement(OfCells):
    """What a study says. A Claim adds the cases at a scale, summary_format.JudgedClaim what came of it."""

    text: Text
    kind: Annotated[str, says("One of those that docs/study-format.md lists.")]
    of: Subject | None = None
    order: Annotated[tuple[Subject, ...], says("From the least to the most.")] = ()
    over: Annotated[tuple[str, ...], says("Cell fields that tell its cases apart.")] = ()
    holds_for: Annotated[str, says("each case, or over them the mean, the ratio of totals, or the greatest.")] = "each"
    along: Annotated[str, says("The cell field of a trend.")] = ""
    direction: Annotated[str, says("up or down, of a trend; of a slope also flat.")] = ""
    at_least: float | None = None
    at_most: float | None = None
    about: float | None = None
    within: Annotated[PositiveFloat | None, says(
        "Divides and multiplies about, or 1 where things are equal, once 1 is added to it.")] = None
    turned_for: Annotated[tuple[Mapping[str, Value], ...], says("Cases of which the opposite is claimed.")] = ()
    assumed: Annotated[str, says("What the study leaves open and the claim takes for granted.")] = ""
    skips_oom: Annotated[bool, says("Whether cases that ran out of memory are passed over.")] = False
    source: Annotated[str, says("Its place in the paper.")] = ""
    averaged: Annotated[tuple[str, ...], says("Cell fields over whose values each case is the mean.")] = ()
    fuller: Annotated[str, says(
        'The scale of the study that has the most of its cells; "" where this one has as many.')] = ""
    than: Annotated[tuple[Subject, ...], says(
        "Two subjects whose ratio that of `of` and `to` is held against; of `least` and `most` any number of "
        "such.")] = ()
    at: Annotated[Mapping[str, Value], says(
        "Of `least` and `most`: the fields of the case that is the least, or the most.")] = {}

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Whose numbers it needs."""
        return self.order or tuple(dict.fromkeys((*self.compared, *self.than)))

    @property
    def compared(self) -> tuple[Subject, ...]:
        """`of`, and `to` where it has one."""
        return tuple(one for one in (self.of, self.to) if one)

    @property
    def rivals(self) -> tuple[tuple[Subject, ...], ...]:
        """`than`, in as many at a time as are compared."""
        size = max(1, len(self.compared))
        return tuple(self.than[start:start + size] for start in range(0, len(self.than), size))


class Claim(Statement):
    """What a study claims, and the cases that it has at its scale."""

    cases: tuple[Case, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The cell fields that a case has a value for; those averaged are the first, a trend's is the last."""
        return (*self.averaged, *self.over, *filter(None, [self.along]))

    @property
    def is_over_cases(self) -> bool:
        """Whether a number of it is of several cases, so that without one of them it is another number."""
        return bool(self.averaged) or self.holds_for != "each" or self.kind in ("mpe", "slope")

    @property
    def averages(self) -> "Claim":
        """The claim with cases of what is left once the averaged fields are averaged over."""
        cases = tuple(dict.fromkeys(case[len(self.averaged):] for case in self.cases))
        return self.model_copy(update={"cases": cases, "averaged": ()})

    def case(self, cell: Cell) -> Case:
        """The case that a cell belongs to."""
        return tuple(getattr(cell, name) for name in self.fields)

    def named(self, case: Case) -> dict[str, Value]:
        """A case's values by field."""
        return dict(zip(self.fields, case, strict=True))


def from_record(record: Mapping[str, Any]) -> Claim:
    """What record() made. Raises ValueError."""
    claim = Claim.model_validate(record)
    if wrong := mistake(claim):
        raise ValueError(wrong)
    return claim


def paper_claim(name: str) -> str:
    """The id of the paper's own claim that a claim's id is a part of: kri-c6 of kri-c6a."""
    return re.sub(r"(?<=\d)[a-z]+$", "", name)


def shown(case: Mapping[str, Value]) -> list[str]:
    """A case's values for people."""
    return [str(value) if isinstance(value, str) else f"{name} {value}" for name, value in case.items()]


def mistake(claim: Claim) -> str | None:
    """What of a claim contradicts its kind, or None."""
    checks = (_wrong_keys, _wrong_subjects, _wrong_thresholds, _wrong_fields, _wrong_cases)
    return next(chain.from_iterable(check(claim) for check in checks), None)


def _wrong_keys(claim: Claim) -> Iterator[str]:
    for name, known in (("kind", KINDS), ("quantity", QUANTITIES), ("holds_for", HOLDS_FOR),
                        ("direction", (*DIRECTIONS, ""))):
        if getattr(claim, name) not in known:
            yield f'key "{name}": found "{getattr(claim, name)}", expected one of {", ".join(filter(None, known))}'
    must, may, *_ = KINDS[claim.kind]
    for name in sorted({key for kind in KINDS.values() for key in (*kind.must, *kind.may)}):
        value = getattr(claim, name)
        if name in must and not value:
            yield f'key "{name}": missing; kind "{claim.kind}" has {", ".join((*must, *may))}'
        if name not in (*must, *may) and value:
            yield f'key "{name}" is not of kind "{claim.kind}", which has {", ".join((*must, *may))}'


def _wrong_subjects(claim: Claim) -> Iterator[str]:
    if any(len(set(each)) < len(each) for each in (claim.order, claim.compared, *claim.rivals)):
        yield f"found {', '.join(map(str, (*claim.order, *claim.compared, *claim.than)))}, expected different subjects"
    if claim.than and (len(claim.than) % len(claim.compared) or (not claim.at and len(claim.than) != 2)):
        yield (f'key "than": found {formatting.count(len(claim.than), "subject")}, expected two, '
               "or as many for each to compare with as the claim has")
    if claim.kind == "order" and len(claim.order) < 2:
        yield 'key "order": expected two subjects or more'
    if claim.kind == "faster" and QUANTITIES[claim.quantity].unit != "s":
        yield f'key "quantity": found "{claim.quantity}", expected a time; what is more of it is a ratio'
    if claim.kind == "share" and claim.quantity not in SHARABLE:
        yield f'key "quantity": found "{claim.quantity}", expected a part of a whole: {", ".join(SHARABLE)}'


def _wrong_thresholds(claim: Claim) -> Iterator[str]:
    if claim.kind == "slope" and (claim.within is not None) != (claim.direction == "flat"):
        yield 'direction "flat" has "within", the others have not'
    if claim.kind == "trend" and claim.direction == "flat":
        yield 'direction "flat" is of kind "slope"'
    if "about" not in KINDS[claim.kind].may:
        return
    is_near, is_between = claim.about is not None, claim.at_least is not None or claim.at_most is not None
    if is_near == is_between or is_near != (claim.within is not None):
        yield 'expected either "about" and "within", or "at_least" or "at_most" or both'
    if claim.at_least is not None and claim.at_most is not None and claim.at_least > claim.at_most:
        yield f'key "at_least": found {claim.at_least:g}, expected at most "at_most", {claim.at_most:g}'
    ends = {name: end for name in ("at_least", "at_most", "about") if (end := getattr(claim, name)) is not None}
    for name, end in ends.items():             # that the kind's numbers cannot reach
        if claim.kind != "mpe" and end <= 0 and claim.quantity not in PASSES:          # these may add nodes
            yield f'key "{name}": found {end:g}, expected a number above 0'
        if claim.kind == "mpe" and (end >= 1 or (name == "about" and end == 0)):
            yield f'key "{name}": found {end:g}, expected a share below 1 of the time of "of", and not 0'
    if claim.kind == "share" and claim.quantity not in _ABOVE_ONE and any(end > 1 for end in ends.values()):
        yield "found a threshold above 1, expected shares of a whole"


_OF_TOTALS = ("faster", "ratio", "order", "equal")
_ABOVE_ONE = ("first_epoch", "first_epoch_extra")     # held against a later epoch, of which they are no part


def _wrong_fields(claim: Claim) -> Iterator[str]:
    if wrong := unknown_fields(claim.subjects):
        yield wrong
    said = named(claim.subjects)
    for name in (*claim.where, *claim.fields):
        if name not in FIELDS or name in said:
            yield f'field "{name}": expected one of a cell but {", ".join(said)}'
    if len(set(claim.fields)) < len(claim.fields):
        yield "averaged, over and along name a field twice"
    if any(len(case) != len(claim.fields) for case in claim.cases):
        yield f"cases: expected values of {', '.join(claim.fields)}"
    listed = claim.where.get(claim.along)
    for *_, value in claim.cases if claim.along else ():
        if value not in listed if listed else isinstance(value, str):
            yield f'key "along": {claim.along} {value} has no place in an order: list its values in where'
        if claim.kind == "slope" and (isinstance(value, str) or value <= 0):
            yield f'key "along": {claim.along} {value} has no logarithm: kind "slope" needs numbers above 0'


def _wrong_cases(claim: Claim) -> Iterator[str]:
    if claim.kind == "mpe":
        for key in filter(None, (claim.averaged and "averaged", claim.holds_for == "mean" and "holds_for")):
            yield f'key "{key}": an mpe is a mean over the cases already'
    if claim.turned_for and claim.direction == "flat":
        yield 'key "turned_for": what is flat has no other way'
    if claim.holds_for in ("total", "greatest") and claim.kind not in _OF_TOTALS:
        yield f'key "holds_for": {claim.holds_for} is of kinds {", ".join(_OF_TOTALS)}'
    if claim.turned_for and claim.holds_for != "each":
        yield f'key "turned_for": a {claim.holds_for} over the cases has no exceptions'
    for key, case in (*(("turned_for", case) for case in claim.turned_for), ("at", claim.at)):
        yield from (f'{key}: field "{name}" is not in over' for name in case if name not in claim.over)
    if not all(claim.turned_for):
        yield "turned_for: expected fields and their values"


class Verdict(StrEnum):
    """What the runs here say of a claim."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    INCONCLUSIVE = "inconclusive"
    NO_DATA = "no data"


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """One that does not hold is enough; all must hold; without any there is no data."""
    # what outweighs what: a claim that some cell contradicts is contradicted, whatever else is missing
    weight = (Verdict.DOES_NOT_HOLD, Verdict.NO_DATA, Verdict.INCONCLUSIVE, Verdict.HOLDS)
    return min(verdicts, key=weight.index, default=Verdict.NO_DATA)
