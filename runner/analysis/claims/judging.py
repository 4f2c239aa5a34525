"""Whether a claim holds in what was measured: numbers with intervals, a verdict, the cells that it lacks. Pure."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from runner.analysis import doubts as doubting
from runner.analysis import stats
from runner.analysis.claims.differing import differences
from runner.analysis.stats import ByRound, Interval, Mean
from runner.analysis.summary_format import ClaimNumber, JudgedClaim
from runner.results.rows import Measurements, Row
from runner.study import quantities
from runner.study.claims import Case, Claim, Verdict, shown, together
from runner.study.subjects import Subject, Value, stand_ins
from workloads.spec.measures import OPEN

_ONE_SEED = "all rounds have one seed: another could train to another accuracy"
_TOO_FEW = f"needs {stats.LEAST_ROUNDS} rounds"


class Side(NamedTuple):
    """The range of values that a claim allows; its ends belong to it unless it is open."""

    low: float
    high: float
    is_open: bool = False

    def verdict(self, interval: Interval | None) -> Verdict:
        """Holds where the interval lies wholly inside, does not where it lies wholly outside; else inconclusive."""
        if interval is None:
            return Verdict.INCONCLUSIVE
        if self._inside(*interval):
            return Verdict.HOLDS
        return Verdict.DOES_NOT_HOLD if self._outside(*interval) else Verdict.INCONCLUSIVE

    def _inside(self, low: float, high: float) -> bool:
        return self.low < low and high < self.high if self.is_open else self.low <= low and high <= self.high

    def _outside(self, low: float, high: float) -> bool:
        return high <= self.low or self.high <= low if self.is_open else high < self.low or self.high < low


class _Pair(NamedTuple):
    """The two series of a ratio, and the range that it must lie in."""

    what: str
    case: Mapping[str, Value]
    one: ByRound
    other: ByRound
    side: Side
    doubts: tuple[str, ...] = ()     # why nothing may be said of it


class _Series(NamedTuple):
    """A subject's quantity in one case, by round, and the reason to doubt it."""

    values: ByRound
    doubt: str = ""


SeriesByCase = Mapping[Case, Mapping[Subject, ByRound]]     # values of every case that lacks no subject
Doubts = Mapping[Case, Sequence[str]]


def judge(asked: Claim, measured: Measurements, doubted: doubting.Doubts) -> JudgedClaim:
    """Whether a claim holds in what was measured; doubted: the doubts about its rows (doubts.of_rows)."""
    is_about = asked.selection()
    ran = [row for row in measured.rows if row.ok_runs and is_about(row.cell)
           and any(one.owns(row.cell) for one in asked.subjects)]
    ran_instead = stand_ins(asked.subjects, (row.cell for row in ran))
    claim = _named_as_ran(_with_seeds_as_rounds(asked), ran_instead)
    by_case, doubts, missing = _complete_cases(claim, measured, doubted if _is_of_steps(claim) else {})
    claim, by_case, doubts = _averaged(claim, by_case, doubts)
    pairs = [_doubted(claim, pair, doubts) for pair in _PAIRS[claim.kind](claim, by_case)]
    if not pairs and not missing:
        missing.append(f"the study has only one {f'value of {claim.along}' if claim.along else 'case'} at this scale"
                       + _elsewhere(claim))
    pairs = _over_cases(claim, pairs)
    numbers = []
    for pair in pairs:
        if pair.one.keys() & pair.other.keys():
            numbers.append(_number(claim, pair, len(pairs)))
        else:
            missing.append(", ".join([pair.what, *shown(pair.case)]) + ": no round in which all ended ok")
    lacks = [each for each in missing if not (claim.skips_oom and each.endswith(_OOM))]
    if asked.holds_for == "majority":
        verdict = _of_majority([number.verdict for number in numbers], len(claim.cases), bool(lacks))
    elif lacks and asked.is_over_cases:
        verdict = Verdict.NO_DATA
    else:
        verdict = together([*(number.verdict for number in numbers), *[Verdict.NO_DATA][:len(lacks)]])
    return JudgedClaim(**{name: value for name, value in asked if name != "cases"}, verdict=verdict,
                       numbers=tuple(numbers), missing=tuple(missing), differs=differences(asked.paper, ran),
                       stand_ins=ran_instead)


def _named_as_ran(claim: Claim, ran_instead: Mapping[str, str]) -> Claim:
    """The claim with subjects that are called what ran: "tf-2.21-gpu (for tf-1.15)"."""
    def named(one: Subject) -> Subject:
        name = ran_instead.get(one.stack)
        return one.called(f"{name} (for {one.stack})") if name else one

    return claim.model_copy(update={
        **{key: named(one) for key in ("of", "to") if (one := getattr(claim, key))},
        **{key: tuple(map(named, getattr(claim, key))) for key in ("order", "than")}})


def _of_majority(verdicts: Sequence[Verdict], cases: int, is_lacking: bool) -> Verdict:
    """Whether more than half of the cases hold; half of them that do not are enough against it."""
    if 2 * verdicts.count(Verdict.HOLDS) > cases:
        return Verdict.HOLDS
    if verdicts and 2 * verdicts.count(Verdict.DOES_NOT_HOLD) >= cases:
        return Verdict.DOES_NOT_HOLD
    return Verdict.NO_DATA if is_lacking else Verdict.INCONCLUSIVE


def judge_values(claim: Claim, values: Mapping[Case, Mapping[Subject, float]]) -> tuple[ClaimNumber, ...]:
    """The claim's numbers for exact values, such as printed ones: no intervals, so each holds or does not."""
    exact = {case: {subject: {0: value} for subject, value in each.items()} for case, each in values.items()}
    claim, by_case, _ = _averaged(claim, exact, {})
    return tuple(_exact(claim, pair) for pair in _over_cases(claim, list(_PAIRS[claim.kind](claim, by_case))))


def _exact(claim: Claim, pair: _Pair) -> ClaimNumber:
    value = _mean_of(claim, pair)[1].value
    # the logarithms on the way must not push a number over the threshold that it is equal to
    value = next((end for end in (pair.side.low, pair.side.high) if math.isclose(value, end, rel_tol=1e-9)), value)
    interval = Interval(value, value)
    return _of_pair(pair, value, interval, 1, pair.side.verdict(interval))


def _of_pair(pair: _Pair, value: float, interval: Interval | None, rounds: int, verdict: Verdict,
             reason: str = "") -> ClaimNumber:
    low, high, _ = pair.side
    return ClaimNumber(what=pair.what, case=dict(pair.case), value=value, interval=interval, rounds=rounds,
                       reason=reason, low=low if low and math.isfinite(low) else None,
                       high=high if math.isfinite(high) else None, verdict=verdict)


def _doubted(claim: Claim, pair: _Pair, doubts: Doubts) -> _Pair:
    """The pair with the doubts about all cases that it is made of."""
    cases = [case for case in doubts if _is_of(claim, pair.case, case)]
    return pair._replace(doubts=tuple(dict.fromkeys(each for case in cases for each in doubts[case])))


def _is_of(claim: Claim, named: Mapping[str, Value], case: Case) -> bool:
    """Whether a pair named so includes the case. A trend's pair covers two values of `along`, or all of them."""
    values = claim.named(case)
    if claim.at and all(values[name] == value for name, value in claim.at.items()):
        return True                      # which all others are held against
    for name, value in named.items():
        if name == claim.along and claim.kind == "trend":
            if str(values[name]) not in str(value).split(" to "):
                return False
        elif name != claim.along and values[name] != value:
            return False
    return True


def _number(claim: Claim, pair: _Pair, cases: int) -> ClaimNumber:
    """The pair's ratio or share with its verdict; cases: how many there are, for all of which intervals allow."""
    mean, scale = _mean_of(claim, pair)
    rounds = len(pair.one.keys() & pair.other.keys())
    too_few = _TOO_FEW.replace("rounds", "rounds or seeds") if _is_of_seeds(claim) else _TOO_FEW
    reason = ", ".join(pair.doubts) or (too_few if rounds < stats.LEAST_ROUNDS else "")
    interval = None
    if mean and rounds >= stats.LEAST_RUNS and _ONE_SEED not in pair.doubts:
        interval = scale.interval(mean, stats.error_of(cases))
    verdict = Verdict.INCONCLUSIVE if reason else pair.side.verdict(interval)
    return _of_pair(pair, scale.value, interval, rounds, verdict, reason)


class _Scale(NamedTuple):
    """How a mean of logarithms, or of plain values, becomes the number that people read."""

    value: float
    interval: Callable[[Mean, float], Interval]


def _mean_of(claim: Claim, pair: _Pair) -> tuple[Mean | None, _Scale]:
    """The mean of logarithms, or of plain values where a share is 0 or below. An mpe is 1 minus the mean of to / of."""
    rounds = sorted(pair.one.keys() & pair.other.keys())
    values = [pair.one[index] / pair.other[index] for index in rounds]
    if min(values) <= 0:
        return stats.mean_of(values), _Scale(math.fsum(values) / len(values), Mean.plain_interval)
    mean = stats.mean_of([math.log(value) for value in values])
    value = stats.geometric_mean(values) or 0.0
    if claim.kind == "mpe":
        return mean, _Scale(1 - value, lambda mean, error: _lacking(mean.interval(error)))
    return mean, _Scale(value, Mean.interval)


def _lacking(interval: Interval) -> Interval:
    return Interval(1 - interval.high, 1 - interval.low)


_OOM = ": ended oom"


def _complete_cases(claim: Claim, measured: Measurements, of_rows: doubting.Doubts
                    ) -> tuple[SeriesByCase, Doubts, list[str]]:
    """The values of complete cases, the doubts about them, and what the other cases lack."""
    is_about = claim.selection()
    rows: dict[tuple[Subject, Case], list[Row]] = {}
    for row in filter(lambda row: is_about(row.cell), measured.rows):
        for subject in claim.subjects:
            if subject.owns(row.cell):
                rows.setdefault((subject, claim.case(row.cell)), []).append(row)
    skipped = {(subject, claim.case(skip.cell)): skip.reason for skip in measured.skipped if is_about(skip.cell)
               for subject in claim.subjects if subject.owns(skip.cell)}
    complete: dict[Case, dict[Subject, ByRound]] = {}
    doubts: dict[Case, list[str]] = {}
    missing = [] if claim.cases else ["the study has no such cells at this scale" + _elsewhere(claim)]
    for case in claim.cases:
        values, doubted = {}, []
        for subject in claim.subjects:
            each = rows.get((subject, case))
            try:
                if not each:
                    raise _Lacks(skipped.get((subject, case)) or "not planned" + _elsewhere(claim))
                values[subject], doubt = _series(claim, each, of_rows)
            except _Lacks as reason:
                missing.append(", ".join([str(subject), *shown(claim.named(case))]) + f": {reason}")
                continue
            doubted += [f"{subject}: {doubt}"] if doubt and doubt != _ONE_SEED else [doubt] if doubt else []
        if len(values) == len(claim.subjects):
            complete[case], doubts[case] = values, doubted
    return complete, doubts, missing


class _Lacks(Exception):
    """A cell has no values; the text says why."""


def _elsewhere(claim: Claim) -> str:
    """Which scale has the cells that one lacks."""
    return f"; scale {claim.fuller} has" if claim.fuller else ""


def _averaged(claim: Claim, by_case: SeriesByCase, doubts: Doubts) -> tuple[Claim, SeriesByCase, Doubts]:
    """The claim, series and doubts of averages: cases that differ only in the averaged fields joined to one."""
    groups: dict[Case, list[Case]] = {}
    for case in by_case:
        groups.setdefault(case[len(claim.averaged):], []).append(case)
    means = {case: {subject: _plain_mean([by_case[each][subject] for each in group]) for subject in by_case[group[0]]}
             for case, group in groups.items()}
    doubted = {case: tuple(dict.fromkeys(doubt for each in group for doubt in doubts.get(each, ())))
               for case, group in groups.items()}
    return claim.averages, means, doubted


def _plain_mean(series: Sequence[ByRound]) -> ByRound:
    return {index: total / len(series) for index, total in _sum(series).items()}


def _is_of_steps(claim: Claim) -> bool:
    """Whether the claim is about seconds of steps, which can be doubted; memory and profiles cannot."""
    quantity = quantities.QUANTITIES[claim.quantity]
    return quantity.unit == "s" and quantity.measure in OPEN


def _series(claim: Claim, rows: Sequence[Row], doubted: doubting.Doubts) -> _Series:
    """The quantity of every ok run that has it, by round; of several rows, which differ in seed, by seed.

    Raises _Lacks.
    """
    of = quantities.share if claim.kind == "share" else quantities.of
    *_, last = rows
    by_seed: dict[int, list[float]] = {}
    values: dict[int, float] = {}
    for row in rows if _is_of_seeds(claim) else (last,):
        for run in row.ok_runs:
            value = of(claim.quantity, row, run)
            if value is not None and value <= 0 and claim.kind != "share":
                raise _Lacks(f"{value:g} in round {run.round}, of which no ratio can be taken")
            if value is not None:
                values[run.round] = value
                by_seed.setdefault(row.cell.seed if run.seed is None else run.seed, []).append(value)
    if not values:
        raise _Lacks(_reason(claim, last))
    if len(rows) > 1 and _is_of_seeds(claim):
        values = {seed: _middle(of_seed) for seed, of_seed in by_seed.items()}
    doubt = doubted.get(last.key)
    return _Series(values, doubt.text if doubt else _ONE_SEED if _is_of_seeds(claim) and len(by_seed) < 2 else "")


def _is_of_seeds(claim: Claim) -> bool:
    """Whether the claim is about what a seed changes: how well a model was trained, not how fast."""
    return claim.quantity in quantities.OF_SEEDS


def _with_seeds_as_rounds(claim: Claim) -> Claim:
    """The claim with cases that differ only in the seed as one: an accuracy varies between seeds, not between rounds.

    So a grid of seeds is what its interval is over, as the seeds of rounds are where the study says none.
    """
    if not _is_of_seeds(claim) or "seed" not in claim.over or any("seed" in turned for turned in claim.turned_for):
        return claim
    position = claim.over.index("seed")
    cases = tuple(dict.fromkeys(case[:position] + case[position + 1:] for case in claim.cases))
    return claim.model_copy(update={"over": claim.over[:position] + claim.over[position + 1:], "cases": cases})


def _reason(claim: Claim, row: Row) -> str:
    """Why a planned cell has no values."""
    if row.ok_runs:
        return f"its runs tell of no {claim.quantity}"
    return "ended " + ", ".join(sorted({run.ending for run in row.runs})) if row.runs else "not run"


def _over_cases(claim: Claim, pairs: Sequence[_Pair]) -> list[_Pair]:
    """The pairs as `holds_for` asks: each one, one of the means or sums over the cases, or the greatest."""
    if claim.holds_for in ("each", "majority"):
        return list(pairs)
    paired = [pair for pair in pairs if pair.one.keys() & pair.other.keys()]
    if claim.holds_for == "greatest":
        return [max(paired, key=lambda pair: _mean_of(claim, pair)[1].value)] if paired else []
    if claim.holds_for == "difference":
        return _joined([pair if _mean_of(claim, pair)[1].value >= 1 else pair._replace(one=pair.other, other=pair.one)
                        for pair in paired], _mean)
    return _joined(pairs, _mean if claim.holds_for == "mean" else _sum)


def _joined(pairs: Sequence[_Pair], one: Callable[[Sequence[ByRound]], ByRound]) -> list[_Pair]:
    """Pairs of the same name joined to one, in the rounds that all of them have."""
    groups: dict[str, list[_Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.what, []).append(pair)
    return [_Pair(what, {}, one([pair.one for pair in group]), one([pair.other for pair in group]), group[0].side,
                  tuple(dict.fromkeys(doubt for pair in group for doubt in pair.doubts)))
            for what, group in groups.items()]


def _common(series: Sequence[ByRound]) -> list[int]:
    """The rounds that all have, in order."""
    return sorted(set.intersection(*map(set, series)))


def _mean(series: Sequence[ByRound]) -> ByRound:
    return {index: _middle([each[index] for each in series]) for index in _common(series)}


def _sum(series: Sequence[ByRound]) -> ByRound:
    return {index: math.fsum(each[index] for each in series) for index in _common(series)}


def _middle(values: Sequence[float]) -> float:
    """The geometric mean; the arithmetic one of shares of which some are 0 or below."""
    mean = stats.geometric_mean(values) if min(values) > 0 else None
    return math.fsum(values) / len(values) if mean is None else mean


def _faster(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    of, to = claim.subjects
    for case, values in by_case.items():
        yield _pair(claim, to, of, case, values, _above_one(claim, case))


def _ratio(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    of, to = claim.compared
    for case, values in by_case.items():
        pair = _pair(claim, of, to, case, values, _between(claim))
        if claim.than:
            one, other = claim.than
            pair = pair._replace(what=f"({pair.what}) / ({one} / {other})", one=_quotient(values[of], values[to]),
                                 other=_quotient(values[one], values[other]))
        yield pair


def _share(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    (of,) = claim.subjects
    for case, values in by_case.items():
        yield _Pair(str(of), claim.named(case), values[of], dict.fromkeys(values[of], 1.0), _between(claim))


def _trend(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    for start, values in _chains(claim).items():
        for before, after in pairwise(values):
            first, second = by_case.get((*start, before)), by_case.get((*start, after))
            if first and second:
                step = claim.named((*start, f"{before} to {after}"))
                yield _Pair(_followed_name(claim), step, _followed(claim, second), _followed(claim, first),
                            _above_one(claim, start))


def _slope(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    for start, every in _chains(claim).items():
        values = [value for value in every if (*start, value) in by_case]
        if len(values) > 1:
            series = [_followed(claim, by_case[(*start, value)]) for value in values]
            changes = _fitted_changes([float(value) for value in values], series)
            side = _between(claim) if claim.direction == "flat" else _above_one(claim, start)
            yield _Pair(_followed_name(claim), claim.named((*start, f"{values[0]} to {values[-1]}")), changes,
                        dict.fromkeys(changes, 1.0), side)


def _fitted_changes(values: Sequence[float], series: Sequence[ByRound]) -> ByRound:
    """The fitted change from the least value of `along` to the greatest, by round; the line is fitted to logarithms."""
    rounds = _common(series)
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


def _mpe(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    """The arithmetic mean over the cases of to / of, in the rounds that all have."""
    of, to = claim.subjects
    quotients = [_quotient(values[to], values[of]) for values in by_case.values()]
    if quotients:
        means = _plain_mean(quotients)
        yield _Pair(f"{of}, {to}", {}, means, dict.fromkeys(means, 1.0), _between(claim))


def _extreme(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    """Every other case over the one that is the least, or the most."""
    own = next((case for case in by_case if claim.at.items() <= claim.named(case).items()), None)
    side = Side(1.0, math.inf, is_open=True) if claim.kind == "least" else Side(0.0, 1.0, is_open=True)
    for case, values in by_case.items():
        if own is not None and case != own:
            yield _Pair(_followed_name(claim), claim.named(case), _followed(claim, values),
                        _followed(claim, by_case[own]), side)


def _order(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    for case, values in by_case.items():
        for less, more in pairwise(claim.order):
            yield _pair(claim, more, less, case, values, _above_one(claim, case))


_PAIRS: dict[str, Callable[[Claim, SeriesByCase], Iterator[_Pair]]] = {
    "faster": _faster, "ratio": _ratio, "share": _share, "trend": _trend, "slope": _slope, "order": _order,
    "equal": _ratio, "mpe": _mpe, "least": _extreme, "most": _extreme,
}


def _pair(claim: Claim, one: Subject, other: Subject, case: Case, values: Mapping[Subject, ByRound],
          side: Side) -> _Pair:
    return _Pair(f"{one} / {other}", claim.named(case), values[one], values[other], side)


def _in_order(claim: Claim, values: Sequence[Value]) -> list[Value]:
    """The values in the order of `where`, or by size if it does not list them."""
    listed = claim.where.get(claim.along)
    return sorted(values, key=listed.index) if listed else sorted(values)


def _followed(claim: Claim, values: Mapping[Subject, ByRound]) -> ByRound:
    """What a trend follows: the quantity, or its ratio to the other subject's."""
    one, *others = (values[subject] for subject in claim.subjects)
    return _quotient(one, others[0]) if others else one


def _quotient(one: ByRound, other: ByRound) -> ByRound:
    return {index: value / other[index] for index, value in one.items() if index in other}


def _above_one(claim: Claim, case: Case) -> Side:
    """Above 1; below 1 for a case in `turned_for` or a trend that goes down, and above 1 again for both."""
    values = dict(zip(claim.over, case, strict=True))
    is_turned = any(all(values[name] == value for name, value in turned.items()) for turned in claim.turned_for)
    is_above = is_turned == (claim.direction == "down")
    return Side(1.0, math.inf, is_open=True) if is_above else Side(0.0, 1.0, is_open=True)


def _between(claim: Claim) -> Side:
    """The range between the claim's thresholds."""
    middle = 1.0 if claim.about is None else claim.about
    if claim.within is not None:
        low, high = sorted((middle / (1 + claim.within), middle * (1 + claim.within)))
        return Side(low, high)
    low = -math.inf if claim.kind == "mpe" else 0.0
    return Side(low if claim.at_least is None else claim.at_least,
                math.inf if claim.at_most is None else claim.at_most)
