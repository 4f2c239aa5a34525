"""Whether a claim holds in what was measured: numbers with intervals, a verdict, the cells that it lacks. Pure."""

import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import numpy as np

from runner.analysis import doubts as doubting
from runner.analysis import stats
from runner.analysis.claims.measured_here import differences
from runner.analysis.stats import ByRound, Interval
from runner.analysis.summary_format import ClaimNumber, JudgedClaim
from runner.grouping import grouped
from runner.results.rows import Measurements, Row
from runner.study import quantities
from runner.study.claims import Case, Claim, Verdict, shown, together
from runner.study.subjects import Subject, Value, of_several_forms, stand_ins
from workloads.spec.measures import OPEN

_ONE_SEED = "all rounds have one seed: another could train to another accuracy"


class Side(NamedTuple):
    """The range of values that a claim allows; its ends belong to it unless it is open."""

    low: float
    high: float
    is_open: bool = False

    def verdict(self, interval: Interval | None) -> Verdict:
        """Holds where the interval lies wholly inside, does not where it lies wholly outside; else inconclusive."""
        if interval is None:
            return Verdict.INCONCLUSIVE
        inside, outside = (operator.lt, operator.le) if self.is_open else (operator.le, operator.lt)
        if inside(self.low, interval.low) and inside(interval.high, self.high):
            return Verdict.HOLDS
        is_outside = outside(interval.high, self.low) or outside(self.high, interval.low)
        return Verdict.DOES_NOT_HOLD if is_outside else Verdict.INCONCLUSIVE


_ABOVE_ONE, _BELOW_ONE = Side(1.0, math.inf, is_open=True), Side(0.0, 1.0, is_open=True)


class _Pair(NamedTuple):
    """The two series of a ratio, and the range that it must lie in."""

    what: str
    case: Mapping[str, Value]
    one: ByRound
    other: ByRound
    side: Side
    cases: Collection[Case]          # whose values are in it
    doubts: tuple[str, ...] = ()     # why nothing may be said of it

    @property
    def ratios(self) -> list[float]:
        """One over the other in each round that both have."""
        return [*stats.quotients(self.one, self.other).values()]


SeriesByCase = Mapping[Case, Mapping[Subject, ByRound]]     # values of every case that lacks no subject
Doubts = Mapping[Case, Sequence[str]]


def judge(asked: Claim, measured: Measurements, doubted: doubting.Doubts) -> JudgedClaim:
    """Whether a claim holds in what was measured; doubted: the doubts about its rows (doubts.of)."""
    is_about, measured = asked.selection(), measured.of(asked.experiment)
    ran = [row for row in measured.rows if row.ok_runs and is_about(row.cell)
           and any(one.owns(row.cell) for one in asked.subjects)]
    ran_instead = stand_ins(asked.subjects, (row.cell for row in ran))
    claim = _named_as_ran(_with_seeds_as_rounds(asked), ran_instead)
    quantity = quantities.QUANTITIES[claim.quantity]
    can_be_doubted = quantity.unit == "s" and quantity.measure in OPEN        # seconds of steps
    by_case, doubts, missing = _complete_cases(claim, measured, {
        key: each for key, each in doubted.items() if can_be_doubted or each.verdict is stats.Verdict.UNFINISHED})
    if mixed := of_several_forms(ran_instead):
        by_case, missing = {}, [mixed]
    claim, by_case, doubts = _averaged(claim, by_case, doubts)
    pairs = [pair._replace(doubts=tuple(dict.fromkeys(
        doubt for case, told in doubts.items() if case in pair.cases for doubt in told)))
        for pair in _PAIRS[claim.kind](claim, by_case)]
    if not pairs and not missing:
        missing.append(f"the study has only one {f'value of {claim.along}' if claim.along else 'case'} at this scale"
                       + (f"; scale {claim.fuller} has" if claim.fuller else ""))
    pairs = _over_cases(claim, pairs)
    numbers, error = [], stats.error_of(len(pairs)) * min((row.look.share for row in ran), default=1.0)
    for pair in pairs:
        if pair.ratios:
            numbers.append(_number(claim, pair, error))
        else:
            missing.append(", ".join([pair.what, *shown(pair.case)]) + ": no round in which all ended ok")
    lacks = [each for each in missing if not (claim.skips_oom and each.endswith(_OOM))]
    verdict = (Verdict.NO_DATA if lacks and asked.is_over_cases else
               together([*(number.verdict for number in numbers), *[Verdict.NO_DATA][:len(lacks)]]))
    beside = asked.model_copy(update={"quantity": quantity.beside}) if quantity.beside else None
    return JudgedClaim(**{name: value for name, value in asked if name != "cases"}, verdict=verdict,
                       numbers=tuple(numbers), missing=tuple(missing), differs=differences(asked.paper, ran),
                       stand_ins=ran_instead, beside=judge(beside, measured, doubted).numbers if beside else ())


def _named_as_ran(claim: Claim, ran_instead: Mapping[str, str]) -> Claim:
    """The claim with subjects that are called what ran: "tf-2.21-gpu (for tf-1.15)"."""
    def named(one: Subject | None) -> Subject | None:
        name = one and ran_instead.get(one.stack)
        return one.called(f"{name} (for {one.stack})") if one and name else one

    return claim.model_copy(update={
        "of": named(claim.of), "to": named(claim.to),
        **{key: tuple(map(named, getattr(claim, key))) for key in ("order", "than")}})


def judge_values(claim: Claim, values: Mapping[Case, Mapping[Subject, float]]) -> tuple[ClaimNumber, ...]:
    """The claim's numbers for exact values, such as printed ones: no intervals, so each holds or does not."""
    exact = {case: {subject: {0: value} for subject, value in each.items()} for case, each in values.items()}
    claim, by_case, _ = _averaged(claim, exact, {})
    return tuple(_number(claim, pair, None) for pair in _over_cases(claim, _PAIRS[claim.kind](claim, by_case)))


def _number(claim: Claim, pair: _Pair, error: float | None) -> ClaimNumber:
    """The pair's ratio or share with its verdict; error: of its interval, None of exact values."""
    ratios, value, interval = pair.ratios, _value(claim, pair), None
    reason = ", ".join(pair.doubts)
    if error is None:
        # the logarithms on the way must not push a number over the threshold that it is equal to
        value = next((end for end in pair.side[:2] if math.isclose(value, end, rel_tol=1e-9)), value)
        interval = Interval(value, value)
    else:
        if len(ratios) < stats.LEAST_ROUNDS:
            reason = reason or f"needs {stats.LEAST_ROUNDS} rounds{' or seeds' if _is_of_seeds(claim) else ''}"
        if _ONE_SEED not in pair.doubts:
            interval = _interval(claim, ratios, error)
    low, high, _ = pair.side
    return ClaimNumber(what=pair.what, case=dict(pair.case), value=value, interval=interval, rounds=len(ratios),
                       reason=reason, low=low if low and math.isfinite(low) else None,
                       high=high if math.isfinite(high) else None,
                       verdict=Verdict.INCONCLUSIVE if reason else pair.side.verdict(interval))


def _value(claim: Claim, pair: _Pair) -> float:
    """The mean over the rounds. An mpe is 1 minus that of to / of."""
    value = _middle(pair.ratios)
    return 1 - value if claim.kind == "mpe" else value


def _interval(claim: Claim, values: Sequence[float], error: float) -> Interval | None:
    """Of the mean of logarithms, or of plain values where a share is 0 or below."""
    if min(values) <= 0:
        return (mean := stats.mean_of(values)) and mean.plain_interval(error)
    interval = (mean := stats.mean_of([*map(math.log, values)])) and mean.interval(error)
    return Interval(1 - interval.high, 1 - interval.low) if interval and claim.kind == "mpe" else interval


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
    elsewhere = f"; scale {claim.fuller} has" if claim.fuller else ""
    missing = [] if claim.cases else [f"the study has no such cells at this scale{elsewhere}"]
    for case in claim.cases:
        values, doubted = {}, []
        for subject in claim.subjects:
            found, why = _series(claim, subject, rows.get((subject, case), ()), of_rows)
            if found:
                values[subject] = found
                doubted += [why] if why else []
            else:
                why = why or skipped.get((subject, case)) or f"not planned{elsewhere}"
                missing.append(", ".join([str(subject), *shown(claim.named(case))]) + f": {why}")
        if len(values) == len(claim.subjects):
            complete[case], doubts[case] = values, doubted
    return complete, doubts, missing


def _averaged(claim: Claim, by_case: SeriesByCase, doubts: Doubts) -> tuple[Claim, SeriesByCase, Doubts]:
    """The claim, series and doubts of averages: cases that differ only in the averaged fields joined to one."""
    groups = grouped(by_case, lambda case: case[len(claim.averaged):])
    means = {case: {subject: _by_round([by_case[each][subject] for each in group], fmean)
                    for subject in by_case[group[0]]} for case, group in groups.items()}
    doubted = {case: tuple(dict.fromkeys(doubt for each in group for doubt in doubts.get(each, ())))
               for case, group in groups.items()}
    return claim.averages, means, doubted


def _series(claim: Claim, subject: Subject, rows: Sequence[Row], doubted: doubting.Doubts) -> tuple[ByRound, str]:
    """The quantity of a subject's ok runs, by round, or by seed of rows that differ in it, and the reason to doubt it.

    Without any value the reason says why; "" without a row.
    """
    if not rows:
        return {}, ""
    of, is_of_seeds = quantities.share if claim.kind == "share" else quantities.of, _is_of_seeds(claim)
    *_, last = rows
    by_seed: dict[int, list[float]] = {}
    values: dict[int, float] = {}
    for row in rows if is_of_seeds else (last,):
        for run in row.ok_runs:
            value = of(claim.quantity, row, run)
            if value is not None and value <= 0 and claim.kind != "share":
                return {}, f"{value:g} in round {run.round}, of which no ratio can be taken"
            if value is not None:
                values[run.round] = value
                by_seed.setdefault(row.cell.seed if run.seed is None else run.seed, []).append(value)
    if not values:
        endings = ", ".join(sorted({run.ending for run in last.runs}))
        return {}, (f"its runs tell of no {claim.quantity}" if last.ok_runs else f"ended {endings}" if endings
                    else "not run")
    if len(rows) > 1 and is_of_seeds:
        values = {seed: _middle(of_seed) for seed, of_seed in by_seed.items()}
    doubt = doubted.get(last.key)
    return values, f"{subject}: {doubt.text}" if doubt else _ONE_SEED if is_of_seeds and len(by_seed) < 2 else ""


def _is_of_seeds(claim: Claim) -> bool:
    """Whether the claim is about what a seed changes: how well a model was trained, not how fast."""
    return claim.quantity in quantities.OF_SEEDS


def _with_seeds_as_rounds(claim: Claim) -> Claim:
    """The claim with cases that differ only in the seed as one: an accuracy varies between seeds, not between rounds.

    So a grid of seeds is what its interval is over, as the seeds of rounds are where the study says none.
    """
    if not _is_of_seeds(claim) or "seed" not in claim.over or any("seed" in turned for turned in claim.turned_for):
        return claim
    position, over = claim.fields.index("seed"), tuple(name for name in claim.over if name != "seed")
    cases = tuple(dict.fromkeys(case[:position] + case[position + 1:] for case in claim.cases))
    return claim.model_copy(update={"over": over, "cases": cases})


def _over_cases(claim: Claim, pairs: Iterable[_Pair]) -> list[_Pair]:
    """The pairs as `holds_for` asks: each, the greatest, or one a name of means or sums in rounds that all have."""
    if claim.holds_for == "each":
        return list(pairs)
    if claim.holds_for == "greatest":
        paired = (pair for pair in pairs if pair.ratios)
        return sorted(paired, key=lambda pair: _value(claim, pair), reverse=True)[:1]
    of = _middle if claim.holds_for == "mean" else math.fsum
    return [_Pair(what, {}, _by_round([pair.one for pair in group], of), _by_round([pair.other for pair in group], of),
                  group[0].side, [case for pair in group for case in pair.cases],
                  tuple(dict.fromkeys(doubt for pair in group for doubt in pair.doubts)))
            for what, group in grouped(pairs, lambda pair: pair.what).items()]


def _by_round(series: Sequence[ByRound], of: Callable[[list[float]], float]) -> ByRound:
    """That of all series in each round that all have."""
    return {index: of([each[index] for each in series]) for index in sorted(set.intersection(*map(set, series)))}


def _middle(values: Sequence[float]) -> float:
    """The geometric mean; the arithmetic one of shares of which some are 0 or below."""
    return fmean(values) if min(values) <= 0 else stats.geometric_mean(values) or 0.0


def _order(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    for case, values in by_case.items():
        for less, more in pairwise(claim.subjects):
            yield _pair(claim, case, values, [more], [less], _above_one(claim, case))


def _ratio(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    """Of a share, which has no `to`, the quantity as it is."""
    one, other = (claim.compared, claim.than) if claim.than else (claim.compared[:1], claim.compared[1:])
    for case, values in by_case.items():
        yield _pair(claim, case, values, one, other, _between(claim))


def _pair(claim: Claim, case: Case, values: Mapping[Subject, ByRound], one: Sequence[Subject],
          other: Sequence[Subject], side: Side) -> _Pair:
    what = " / ".join(f"({_named(each)})" if len(each) > 1 else _named(each) for each in (one, other) if each)
    first = _followed(one, values)
    return _Pair(what, claim.named(case), first, _followed(other, values) if other else dict.fromkeys(first, 1.0), side,
                 [case])


def _trend(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    for start, values in _chains(claim).items():
        for before, after in pairwise(values):
            first, second = cases = (*start, before), (*start, after)
            if first in by_case and second in by_case:
                step = claim.named((*start, f"{before} to {after}"))
                yield _Pair(_named(claim.compared), step, _followed(claim.compared, by_case[second]),
                            _followed(claim.compared, by_case[first]), _above_one(claim, start), cases)


def _slope(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    for start, every in _chains(claim).items():
        cases = [case for value in every if (case := (*start, value)) in by_case]
        if len(cases) > 1:
            values = [case[-1] for case in cases]
            changes = _fitted_changes([*map(float, values)], [
                _followed(claim.compared, by_case[case]) for case in cases])
            side = _between(claim) if claim.direction == "flat" else _above_one(claim, start)
            whole = claim.named((*start, f"{values[0]} to {values[-1]}"))
            yield _Pair(_named(claim.compared), whole, changes, dict.fromkeys(changes, 1.0), side, cases)


def _fitted_changes(values: Sequence[float], series: Sequence[ByRound]) -> ByRound:
    """The fitted change from the least value of `along` to the greatest, by round; the line is fitted to logarithms."""
    logs = np.log(np.array(values, dtype=np.float64))
    away = logs - logs.mean()
    return _by_round(series, lambda of_round: math.exp(
        float(away @ np.log(of_round) / (away @ away)) * float(np.ptp(logs))))


def _chains(claim: Claim) -> dict[Case, list[Value]]:
    """The values of `along` by the rest of the case, in the order of `where`, or by size if it does not list them."""
    listed = claim.where.get(claim.along)
    return {start: sorted((case[-1] for case in cases), key=listed.index if listed else None)
            for start, cases in grouped(claim.cases, lambda case: case[:-1]).items()}


def _mpe(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    """The arithmetic mean over the cases of to / of, in the rounds that all have."""
    of, to = claim.subjects
    quotients = [stats.quotients(values[to], values[of]) for values in by_case.values()]
    if quotients:
        means = _by_round(quotients, fmean)
        yield _Pair(f"{of}, {to}", {}, means, dict.fromkeys(means, 1.0), _between(claim), by_case)


def _extreme(claim: Claim, by_case: SeriesByCase) -> Iterator[_Pair]:
    """Every other case, and every case of the others in `than`, over the one that is the least, or the most."""
    own = next((case for case in by_case if claim.at.items() <= claim.named(case).items()), None)
    side = _ABOVE_ONE if claim.kind == "least" else _BELOW_ONE
    for case, values in by_case.items():
        for subjects in (claim.compared, *claim.rivals):
            if own is not None and (case, subjects) != (own, claim.compared):
                yield _Pair(_named(subjects), claim.named(case), _followed(subjects, values),
                            _followed(claim.compared, by_case[own]), side, (own, case))


_PAIRS: dict[str, Callable[[Claim, SeriesByCase], Iterator[_Pair]]] = {
    "faster": _order, "ratio": _ratio, "share": _ratio, "trend": _trend, "slope": _slope, "order": _order,
    "equal": _ratio, "mpe": _mpe, "least": _extreme, "most": _extreme,
}


def _named(subjects: Sequence[Subject]) -> str:
    return " / ".join(map(str, subjects))


def _followed(subjects: Sequence[Subject], values: Mapping[Subject, ByRound]) -> ByRound:
    """The quantity of a subject, or its ratio to the other one's."""
    one, *others = (values[subject] for subject in subjects)
    return stats.quotients(one, others[0]) if others else one


def _above_one(claim: Claim, case: Case) -> Side:
    """Above 1; below 1 for a case in `turned_for` or a trend that goes down, and above 1 again for both."""
    values = dict(zip(claim.over, case, strict=True))
    is_turned = any(all(values[name] == value for name, value in turned.items()) for turned in claim.turned_for)
    return _ABOVE_ONE if is_turned == (claim.direction == "down") else _BELOW_ONE


def _between(claim: Claim) -> Side:
    """The range between the claim's thresholds."""
    middle = 1.0 if claim.about is None else claim.about
    if claim.within is not None:
        low, high = sorted((middle / (1 + claim.within), middle * (1 + claim.within)))
        return Side(low, high)
    low = -math.inf if claim.kind == "mpe" else 0.0
    return Side(low if claim.at_least is None else claim.at_least,
                math.inf if claim.at_most is None else claim.at_most)
