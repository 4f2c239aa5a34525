"""Whether a claim holds in what was measured: numbers with intervals, a verdict, the cells that it lacks. Pure."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from runner.analysis import stats
from runner.analysis.stats import ByRound, Interval
from runner.results.rows import Measurements, Row
from runner.study import quantities
from runner.study.claims import Case, Claim, Verdict, shown, together
from runner.study.subjects import Subject, Value

# a share of nothing, which has no logarithm, counts as one in so many
_NOTHING = 1e-12


class Side(NamedTuple):
    """The values that a claim allows; the ends are among them unless it is open."""

    low: float
    high: float
    is_open: bool = False
    is_turned: bool = False      # the values outside of them instead

    def verdict(self, interval: Interval | None) -> Verdict:
        """Whether an interval lies wholly inside, wholly outside or neither; without one nothing is said."""
        if interval is None:
            return Verdict.INCONCLUSIVE
        low, high = interval
        if self.is_open:
            is_inside, is_outside = self.low < low and high < self.high, high <= self.low or self.high <= low
        else:
            is_inside, is_outside = self.low <= low and high <= self.high, high < self.low or self.high < low
        if self.is_turned:
            is_inside, is_outside = is_outside, is_inside
        return Verdict.HOLDS if is_inside else Verdict.DOES_NOT_HOLD if is_outside else Verdict.INCONCLUSIVE


class Number(NamedTuple):
    """A number that a claim is judged by: a ratio, a share or an mpe."""

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
    """A ratio before it is taken, and its side."""

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
        numbers.append(_number(claim, pair, ratio.value, ratio))
    lacks = [each for each in missing if not (claim.skips_oom and each.endswith(_OOM))]
    verdict = Verdict.NO_DATA if lacks else together(number.verdict for number in numbers)
    return Finding(verdict, tuple(numbers), tuple(missing))


def _number(claim: Claim, pair: _Pair, value: float, ratio: stats.Ratio) -> Number:
    """An mpe is what its mean of to / of lacks to 1."""
    interval = ratio.interval
    if claim.kind == "mpe":
        value, interval = 1 - value, interval and Interval(1 - interval.high, 1 - interval.low)
    return Number(pair.what, pair.case, value, interval, ratio.pairs, pair.side, pair.side.verdict(interval))


_OOM = ": ended oom"


def _found(claim: Claim, measured: Measurements) -> tuple[Found, list[str]]:
    """The values of complete cases, and what the others lack."""
    is_about = claim.selection()
    rows = {(subject, claim.case(row.cell)): row for row in measured.rows if is_about(row.cell)
            for subject in claim.subjects if subject.owns(row.cell)}
    skipped = {(subject, claim.case(skip.cell)): skip.reason for skip in measured.skipped if is_about(skip.cell)
               for subject in claim.subjects if subject.owns(skip.cell)}
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
        if claim.kind == "share":
            value = quantities.share(claim.quantity, row, run)
            value = _NOTHING if value == 0 else value
        else:
            value = quantities.of(claim.quantity, row, run)
        if value is not None and value > 0:
            found[run.round] = value
    return found


def _reason(claim: Claim, row: Row) -> str:
    """Why a planned cell has no values."""
    if row.ok_runs:
        return f"its runs tell of no {claim.quantity}"
    return "ended " + ", ".join(sorted({run.ending for run in row.runs})) if row.runs else "not run"


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
    for start, values in _chains(claim).items():
        for before, after in pairwise(values):
            first, second = found.get((*start, before)), found.get((*start, after))
            if first and second:
                step = claim.named((*start, f"{before} to {after}"))
                yield _Pair(_followed_name(claim), step, _followed(claim, second), _followed(claim, first),
                            _above_one(claim, start))


def _slope(claim: Claim, found: Found) -> Iterator[_Pair]:
    for start, every in _chains(claim).items():
        values = [value for value in every if (*start, value) in found]
        if len(values) > 1:
            series = [_followed(claim, found[(*start, value)]) for value in values]
            changes = _fitted_changes([float(value) for value in values], series)
            side = _between(claim) if claim.direction == "flat" else _above_one(claim, start)
            yield _Pair(_followed_name(claim), claim.named((*start, f"{values[0]} to {values[-1]}")), changes,
                        dict.fromkeys(changes, 1.0), side)


def _fitted_changes(values: Sequence[float], series: Sequence[ByRound]) -> ByRound:
    """By round, what the series changes by from the least value to the greatest on the line fitted to logarithms."""
    rounds = sorted(set.intersection(*(set(each) for each in series)))
    logs = np.log(np.array(values, dtype=np.float64))
    away = logs - logs.mean()
    slopes = {index: float(away @ np.log([each[index] for each in series]) / (away @ away)) for index in rounds}
    return {index: math.exp(slope * float(np.ptp(logs))) for index, slope in slopes.items()}


def _chains(claim: Claim) -> dict[Case, list[Value]]:
    """The values of `along` in order, by the rest of the case."""
    chains: dict[Case, list[Value]] = {}
    for case in claim.cases:
        chains.setdefault(case[:-1], []).append(case[-1])
    return {start: _in_order(claim, values) for start, values in chains.items()}


def _followed_name(claim: Claim) -> str:
    return " / ".join(map(str, claim.subjects))


def _mpe(claim: Claim, found: Found) -> Iterator[_Pair]:
    """The arithmetic mean over the cases of to / of, in the rounds that all have."""
    of, to = claim.subjects
    quotients = [{index: values[to][index] / values[of][index] for index in values[of] if index in values[to]}
                 for values in found.values()]
    if quotients:
        rounds = sorted(set.intersection(*(set(each) for each in quotients)))
        means = {index: math.fsum(each[index] for each in quotients) / len(quotients) for index in rounds}
        yield _Pair(f"{of}, {to}", {}, means, dict.fromkeys(means, 1.0), _between(claim))


def _order(claim: Claim, found: Found) -> Iterator[_Pair]:
    for case, values in found.items():
        for less, more in pairwise(claim.order):
            yield _pair(claim, more, less, case, values, _above_one(claim, case))


_PAIRS: dict[str, Callable[[Claim, Found], Iterator[_Pair]]] = {
    "faster": _faster, "ratio": _ratio, "share": _share, "trend": _trend, "slope": _slope, "order": _order,
    "equal": _ratio, "differ": _ratio, "mpe": _mpe,
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
    middle = 1.0 if claim.about is None else claim.about
    if claim.within is not None:
        low, high = sorted((middle / (1 + claim.within), middle * (1 + claim.within)))
        return Side(low, high, is_turned=claim.kind == "differ")
    low = -math.inf if claim.kind == "mpe" else 0.0
    return Side(low if claim.at_least is None else claim.at_least,
                math.inf if claim.at_most is None else claim.at_most)
