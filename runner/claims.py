"""Claims of a study, and whether they hold here. Pure; a claim is data, never an expression.

A claim is about a quantity in cases: the combinations of its fields' values that the study has. A case gives numbers,
each a ratio of two series of runs paired by round, with its interval (stats.ratios). By kind a number is:
    faster  to / of, above 1: `of` takes less time than `to`
    ratio   of / to, between at_least and at_most, or `about` so much: divided and multiplied by 1 + within
    share   the quantity over the seconds of the step, in the same run; thresholds as of a ratio
    trend   the quantity, or of / to, at a value of `along` over that at the value before: above 1 up, below 1 down
    order   of each subject over the one before it, above 1: the least stands first
    equal   of / to, between 1 / (1 + within) and 1 + within, so that it reads the same both ways
Every case must hold, or with holds_for = "mean" the geometric mean over the cases. In the cases of turned_for the
opposite is claimed. A claim holds where all intervals lie wholly on its side, and does not where one lies wholly on the
other. Each interval is a 95 % one of its own: among many cases one is now and then off by chance.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import PositiveFloat, TypeAdapter

from runner import stats
from runner.published import PHASES, QUANTITIES, Subject, is_about, quantity_of, whose
from runner.rows import Measurements, Row, step_seconds
from runner.stats import ByRound, Interval
from workloads.spec.cell import FIELDS, Cell

_THRESHOLDS = ("at_least", "at_most", "about", "within")
_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {     # what a kind must have, and may have
    "faster": (("of", "to"), ("turned_for",)),
    "ratio": (("of", "to"), _THRESHOLDS),
    "share": (("of",), _THRESHOLDS),
    "trend": (("of", "along", "direction"), ("to", "turned_for")),
    "order": (("order",), ("turned_for",)),
    "equal": (("of", "to", "within"), ()),
}
_OF_KINDS = sorted({name for both in _KEYS.values() for names in both for name in names})
KINDS = tuple(_KEYS)
HOLDS_FOR = ("each", "mean")
DIRECTIONS = ("up", "down")
OF_THE_SUBJECTS = ("stack", "parallel", "measure")     # cell fields that subjects and quantity say

Value = str | int | float
Case = tuple[Value, ...]             # a value for each of a claim's fields


class Claim(NamedTuple):
    """What a study claims."""

    id: str
    text: str
    kind: str
    quantity: str
    where: Mapping[str, tuple[Value, ...]]     # cell fields and the values that it is about; all of them where absent
    cases: tuple[Case, ...] = ()               # that the study has at its scale
    of: Subject | None = None
    to: Subject | None = None
    order: tuple[Subject, ...] = ()
    over: tuple[str, ...] = ()                 # cell fields that tell its cases apart
    holds_for: str = "each"
    along: str = ""                            # the cell field of a trend
    direction: str = ""
    at_least: PositiveFloat | None = None
    at_most: PositiveFloat | None = None
    about: PositiveFloat | None = None
    within: PositiveFloat | None = None        # a share: 0.15 is 15 %
    turned_for: tuple[Mapping[str, Value], ...] = ()
    assumed: str = ""                          # where the study leaves open what exactly it claims

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Whose numbers it needs."""
        return self.order or tuple(one for one in (self.of, self.to) if one)

    @property
    def fields(self) -> tuple[str, ...]:
        """The cell fields that a case has a value for; a trend's is the last."""
        return (*self.over, self.along) if self.along else self.over

    def case(self, cell: Cell) -> Case:
        """The case that a cell belongs to."""
        return tuple(getattr(cell, name) for name in self.fields)

    def named(self, case: Case) -> dict[str, Value]:
        """A case's values by field."""
        return dict(zip(self.fields, case, strict=True))

    def record(self) -> dict[str, Any]:
        """As the store keeps it."""
        return {**self._asdict(), "of": self.of and self.of._asdict(), "to": self.to and self.to._asdict(),
                "order": [subject._asdict() for subject in self.order], "where": dict(self.where)}


_CLAIM = TypeAdapter(Claim)


def from_record(record: Mapping[str, Any]) -> Claim:
    """What record() made. Raises ValueError."""
    claim: Claim = _CLAIM.validate_python(record)
    if wrong := mistake(claim):
        raise ValueError(wrong)
    return claim


def mistake(claim: Claim) -> str | None:
    """What of a claim contradicts its kind, or None."""
    checks = (_wrong_words, _wrong_keys, _wrong_subjects, _wrong_thresholds, _wrong_fields, _wrong_turns)
    return next((wrong for check in checks if (wrong := check(claim))), None)


def _wrong_words(claim: Claim) -> str | None:
    for name, known in (("kind", KINDS), ("quantity", QUANTITIES), ("holds_for", HOLDS_FOR),
                        ("direction", (*DIRECTIONS, ""))):
        if getattr(claim, name) not in known:
            return f'key "{name}": found "{getattr(claim, name)}", expected one of {", ".join(filter(None, known))}'
    return None


def _wrong_keys(claim: Claim) -> str | None:
    must, may = _KEYS[claim.kind]
    for name in _OF_KINDS:
        found = getattr(claim, name)
        if name in must and not found:
            return f'key "{name}": missing; kind "{claim.kind}" has {", ".join((*must, *may))}'
        if name not in (*must, *may) and found:
            return f'key "{name}" is not of kind "{claim.kind}", which has {", ".join((*must, *may))}'
    return None


def _wrong_subjects(claim: Claim) -> str | None:
    if len(set(claim.subjects)) < len(claim.subjects):
        return f"found {', '.join(map(str, claim.subjects))}, expected different subjects"
    if claim.kind == "order" and len(claim.order) < 2:
        return 'key "order": expected two subjects or more'
    if claim.kind == "faster" and claim.quantity == "memory":
        return 'key "quantity": found "memory", expected a time; what needs more memory is a ratio'
    if claim.kind == "share" and claim.quantity not in PHASES:
        return f'key "quantity": found "{claim.quantity}", expected a part of a step: {", ".join(PHASES)}'
    return None


def _wrong_thresholds(claim: Claim) -> str | None:
    if claim.kind not in ("ratio", "share"):
        return None
    is_near, is_between = claim.about is not None, claim.at_least is not None or claim.at_most is not None
    if is_near == is_between or is_near != (claim.within is not None):
        return 'expected either "about" and "within", or "at_least" or "at_most" or both'
    if claim.at_least is not None and claim.at_most is not None and claim.at_least > claim.at_most:
        return f'key "at_least": found {claim.at_least:g}, expected at most "at_most", {claim.at_most:g}'
    if claim.kind == "share" and any((getattr(claim, name) or 0) > 1 for name in ("at_least", "at_most", "about")):
        return "found a threshold above 1, expected shares of a step"
    return None


def _wrong_fields(claim: Claim) -> str | None:
    for name in (*claim.where, *claim.fields):
        if name not in FIELDS or name in OF_THE_SUBJECTS:
            return f'field "{name}": expected one of a cell but {", ".join(OF_THE_SUBJECTS)}'
    if len(set(claim.fields)) < len(claim.fields):
        return "over and along name a field twice"
    if any(len(case) != len(claim.fields) for case in claim.cases):
        return f"cases: expected values of {', '.join(claim.fields)}"
    listed = claim.where.get(claim.along)
    for *_, value in claim.cases if claim.along else ():
        if value not in listed if listed else isinstance(value, str):
            return f'key "along": {claim.along} {value} has no place in an order: list its values in where'
    return None


def _wrong_turns(claim: Claim) -> str | None:
    if claim.turned_for and claim.holds_for == "mean":
        return 'key "turned_for": a mean over the cases has no exceptions'
    for case in claim.turned_for:
        for name in case:
            if name not in claim.over:
                return f'turned_for: field "{name}" is not in over'
        if not case:
            return "turned_for: expected fields and their values"
    return None


class Verdict(StrEnum):
    """What the runs here say of a claim."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    INCONCLUSIVE = "inconclusive"
    NO_DATA = "no data"


class Side(NamedTuple):
    """The values that a claim allows; the ends are among them unless it is open."""

    low: float
    high: float
    is_open: bool = False

    def verdict(self, interval: Interval | None) -> Verdict:
        """Whether an interval lies wholly inside, wholly outside or neither; without one nothing is said."""
        if interval is None:
            return Verdict.INCONCLUSIVE
        low, high = interval
        if self.is_open:
            is_inside, is_outside = self.low < low and high < self.high, high <= self.low or self.high <= low
        else:
            is_inside, is_outside = self.low <= low and high <= self.high, high < self.low or self.high < low
        return Verdict.HOLDS if is_inside else Verdict.DOES_NOT_HOLD if is_outside else Verdict.INCONCLUSIVE


class Number(NamedTuple):
    """A ratio that a claim is judged by, or a share."""

    what: str
    case: Mapping[str, Value]    # empty for a mean over cases
    value: float
    interval: Interval | None    # None with fewer than stats.LEAST_RUNS rounds
    rounds: int
    side: Side
    verdict: Verdict


class Finding(NamedTuple):
    """A claim's verdict, the numbers it comes from, and the cells that it lacks, with reasons."""

    verdict: Verdict
    numbers: tuple[Number, ...]
    missing: tuple[str, ...]


class _Pair(NamedTuple):
    """A ratio before it is taken."""

    what: str
    case: Mapping[str, Value]
    one: ByRound
    other: ByRound
    side: Side


Found = Mapping[Case, Mapping[Subject, ByRound]]     # values of every case that lacks no subject


def judge(claim: Claim, measured: Measurements) -> Finding:
    """Whether a claim holds in what was measured."""
    found, missing = _found(claim, measured)
    pairs = list(_PAIRS[claim.kind](claim, found))
    if not pairs and not missing:
        missing.append(f"the study has only one value of {claim.along} at this scale")
    if claim.holds_for == "mean":
        pairs = _means(pairs)
    numbers = []
    for pair, ratio in zip(pairs, stats.ratios([(pair.one, pair.other) for pair in pairs]), strict=True):
        if ratio.value is None:
            missing.append(", ".join([pair.what, *shown(pair.case)]) + ": no round in which all ended ok")
            continue
        numbers.append(Number(pair.what, pair.case, ratio.value, ratio.interval, ratio.pairs, pair.side,
                              pair.side.verdict(ratio.interval)))
    return Finding(_together(numbers, missing), tuple(numbers), tuple(missing))


def _together(numbers: Sequence[Number], missing: Sequence[str]) -> Verdict:
    """One number on the other side is enough for a claim not to hold."""
    said = {number.verdict for number in numbers}
    if missing or not said:
        return Verdict.NO_DATA
    return next(verdict for verdict in (Verdict.DOES_NOT_HOLD, Verdict.INCONCLUSIVE, Verdict.HOLDS) if verdict in said)


def _found(claim: Claim, measured: Measurements) -> tuple[Found, list[str]]:
    """The values of complete cases, and what the others lack."""
    rows = {(whose(row.cell), claim.case(row.cell)): row for row in measured.rows
            if is_about(claim.quantity, claim.where, row.cell)}
    skipped = {(whose(skip.cell), claim.case(skip.cell)): skip.reason for skip in measured.skipped
               if is_about(claim.quantity, claim.where, skip.cell)}
    found: dict[Case, dict[Subject, ByRound]] = {}
    missing = [] if claim.cases else ["the study has no such cells at this scale"]
    for case in claim.cases:
        values = {}
        for subject in claim.subjects:
            row = rows.get((subject, case))
            if row and (by_round := _by_round(claim, row)):
                values[subject] = by_round
                continue
            reason = _reason(claim, row) if row else skipped.get((subject, case), "not planned")
            missing.append(", ".join([str(subject), *shown(claim.named(case))]) + f": {reason}")
        if len(values) == len(claim.subjects):
            found[case] = values
    return found, missing


def _by_round(claim: Claim, row: Row) -> ByRound:
    """The quantity of every ok run that has it; no ratio can be taken of nothing, so only where it is above 0."""
    found = {}
    for run in row.ok_runs:
        value, step = quantity_of(claim.quantity, row, run), step_seconds(run)
        if claim.kind == "share":
            value = value / step if value is not None and step else None
        if value is not None and value > 0:
            found[run.round] = value
    return found


def _reason(claim: Claim, row: Row) -> str:
    """Why a planned cell has no values."""
    if row.ok_runs:
        return f"its runs tell of no {claim.quantity}"
    return "ended " + ", ".join(sorted({run.ending for run in row.runs})) if row.runs else "not run"


def shown(case: Mapping[str, Value]) -> list[str]:
    """A case's values for people."""
    return [str(value) if isinstance(value, str) else f"{name} {value}" for name, value in case.items()]


def _means(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Pairs of the same name as one: the geometric means over them, in the rounds that all have."""
    groups: dict[str, list[_Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.what, []).append(pair)
    return [_Pair(what, {}, _mean([pair.one for pair in group]), _mean([pair.other for pair in group]), group[0].side)
            for what, group in groups.items()]


def _mean(series: Sequence[ByRound]) -> ByRound:
    rounds = sorted(set.intersection(*(set(each) for each in series)))
    return {index: mean for index in rounds
            if (mean := stats.geometric_mean([each[index] for each in series])) is not None}


def _faster(claim: Claim, found: Found) -> Iterator[_Pair]:
    of, to = claim.subjects
    for case, values in found.items():
        yield _pair(claim, to, of, case, values, _above_one(claim, case))


def _ratio(claim: Claim, found: Found) -> Iterator[_Pair]:
    of, to = claim.subjects
    for case, values in found.items():
        yield _pair(claim, of, to, case, values, _between(claim))


def _share(claim: Claim, found: Found) -> Iterator[_Pair]:
    (of,) = claim.subjects
    for case, values in found.items():
        yield _Pair(str(of), claim.named(case), values[of], dict.fromkeys(values[of], 1.0), _between(claim))


def _trend(claim: Claim, found: Found) -> Iterator[_Pair]:
    chains: dict[Case, list[Value]] = {}
    for case in claim.cases:
        chains.setdefault(case[:-1], []).append(case[-1])
    for start, values in chains.items():
        for before, after in pairwise(_in_order(claim, values)):
            first, second = found.get((*start, before)), found.get((*start, after))
            if first and second:
                step = claim.named((*start, f"{before} to {after}"))
                yield _Pair(" / ".join(map(str, claim.subjects)), step, _followed(claim, second),
                            _followed(claim, first), _above_one(claim, start))


def _order(claim: Claim, found: Found) -> Iterator[_Pair]:
    for case, values in found.items():
        for less, more in pairwise(claim.order):
            yield _pair(claim, more, less, case, values, _above_one(claim, case))


_PAIRS: dict[str, Callable[[Claim, Found], Iterator[_Pair]]] = {
    "faster": _faster, "ratio": _ratio, "share": _share, "trend": _trend, "order": _order, "equal": _ratio,
}


def _pair(claim: Claim, one: Subject, other: Subject, case: Case, values: Mapping[Subject, ByRound],
          side: Side) -> _Pair:
    return _Pair(f"{one} / {other}", claim.named(case), values[one], values[other], side)


def _in_order(claim: Claim, values: Sequence[Value]) -> list[Value]:
    """As where lists them, else by size."""
    listed = claim.where.get(claim.along)
    return sorted(values, key=listed.index) if listed else sorted(values)


def _followed(claim: Claim, values: Mapping[Subject, ByRound]) -> ByRound:
    """What a trend follows: the quantity, or its ratio to the other subject's."""
    one, *others = (values[subject] for subject in claim.subjects)
    for other in others:
        one = {index: value / other[index] for index, value in one.items() if index in other}
    return one


def _above_one(claim: Claim, case: Case) -> Side:
    """Below one where the claim is turned, and once more where a trend goes down."""
    values = dict(zip(claim.over, case, strict=True))
    is_turned = any(all(values[name] == value for name, value in turned.items()) for turned in claim.turned_for)
    is_above = is_turned == (claim.direction == "down")
    return Side(1.0, math.inf, is_open=True) if is_above else Side(0.0, 1.0, is_open=True)


def _between(claim: Claim) -> Side:
    """What the thresholds allow."""
    middle = 1.0 if claim.kind == "equal" else claim.about
    if middle is not None and claim.within is not None:
        return Side(middle / (1 + claim.within), middle * (1 + claim.within))
    return Side(claim.at_least or 0.0, claim.at_most or math.inf)
