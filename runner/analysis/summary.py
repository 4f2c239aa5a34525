"""Rows to a Summary: the results of a session, comparison by comparison, with intervals, verdicts and flags."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import methodcaller
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from runner.analysis import doubts, lanes, machine_share, stats, summary_profiles
from runner.analysis.claims import judging
from runner.analysis.claims.measured_here import ours
from runner.analysis.doubts import Doubts
from runner.analysis.flags import Flag, Proved, flags, left_off
from runner.analysis.paired import Paired, mean_rate
from runner.analysis.result_numbers import NUMBERS, Number
from runner.analysis.stats import Interval, One, Ratio, Verdict, middle
from runner.analysis.summary_format import (
    METHODS,
    Column,
    Comparison,
    Data,
    Failure,
    Footnote,
    Machine,
    PaperClaim,
    Result,
    Skip,
    Summary,
)
from runner.cells import key, settings
from runner.errors import InputError
from runner.formatting import rerun
from runner.grouping import grouped
from runner.results.contract import INTERRUPTED
from runner.results.lines import Facts
from runner.results.records import Product, Unit, best
from runner.results.rows import TOKENS, Measurements, Row, Skipped, by_comparison, recorded
from runner.results.runs import Run, step_seconds
from runner.results.turns import disturbed
from runner.study import claims, published, quantities
from workloads.spec.cell import Cell
from workloads.spec.measures import TIMED


class _Session(NamedTuple):
    """What each result of a session is made with."""

    measured: Measurements
    cpus: int | None                       # of the machine
    proved: Proved
    doubted: Doubts
    error: float                           # of each word
    products: Mapping[Unit, Product]       # the best of the machine
    plain: Mapping[Cell, Row]              # trainings whose steps are not stamped, by _unstamped
    skipped: Mapping[str, Sequence[Skipped]]      # by comparison

    def facts(self, row: Row) -> dict[str, Any]:
        """The fields of a Result that are no statistics."""
        marked = flags(row, self.cpus, self.proved)
        share = None if Flag.OTHER_PRECISION in marked else machine_share.of(row, self.products)
        return {"rerun": rerun(self.measured.session_of(row.key), row.key), "machine_share": share,
                "flags": (*marked, Flag.ABOVE_MACHINE) if share is not None and share > 1 else marked}


def summary_of(measured: Measurements, proved: Proved = MappingProxyType({}), said: int = 0) -> Summary:
    """The Summary of what was measured; proved: by task and stack whether a check passed. Raises InputError.

    said: how many words are said of it in all, where it is a part.
    """
    try:
        return _summary(measured, proved, said)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"the events cannot be summarised: {error.title} {where}: {first['msg']}") from error


def to_json(summary: Summary) -> str:
    """What summary.json holds."""
    try:
        return summary.model_dump_json(indent=2, by_alias=True)
    except PydanticSerializationError as error:
        if KeyboardInterrupt.__name__ in str(error):         # which pydantic makes an error of its own
            raise KeyboardInterrupt from error
        # a stranger's text that is no Unicode; this way takes five times as long
        return json.dumps(summary.model_dump(by_alias=True), indent=2, allow_nan=False)


def _summary(measured: Measurements, proved: Proved, said: int) -> Summary:
    session, planned = measured.session, [row for row in measured.rows if row.cell.measure in (*TIMED, "operators")]
    names = sorted(dict.fromkeys(row.cell.stack for row in planned), key=lambda name: name != measured.baseline)
    machine = Machine(**{name: value for name, value in recorded(session, "machine").items()
                         if name in Machine.model_fields})
    doubted = doubts.of(measured)
    numbers = _of_plan("published numbers", measured.published, published.from_record)
    judged = tuple(judging.judge(claim, measured, doubted)
                   for claim in _of_plan("claims", measured.claims, claims.from_record))
    parts = grouped(judged, lambda claim: claims.paper_claim(claim.id))
    groups = [dict(sorted(group.items(), key=lambda each: names.index(each[0]))) for group in timed(measured)]
    words = said or words_of(groups, measured.baseline)
    plain = {_unstamped(row.cell): row for row in measured.rows
             if row.cell.measure == "train" and any(map(step_seconds, row.ok_runs))}
    whole = _Session(measured, machine.cpus, proved, doubted, stats.error_of(words), best(measured.products), plain,
                     grouped(measured.skipped, lambda skip: skip.comparison.key))
    comparisons = tuple(_comparison(group, whole) for group in groups)
    return Summary(
        id=session.get("id", ""), study=session.get("study", ""),
        **{name: session.get(name) for name in ("scale", "evenbench", "began", "launcher", "seed")},
        is_complete=measured.is_done, words=words, machine=machine, data=_data(measured),
        rounds=measured.rounds, baseline=measured.baseline, columns=tuple(_column(name, measured) for name in names),
        comparisons=comparisons,
        failures=tuple(Failure(run=run.name, stack=row.cell.stack, label=row.comparison.label, round=run.round,
                               ending=run.ending, message=run.message)
                       for row in measured.rows for run in row.runs
                       if run.ending != "ok" and run.message != INTERRUPTED),
        skipped=tuple(Skip(experiment=each.experiment, stack=each.cell.stack, label=each.comparison.label,
                           reason=each.reason) for each in measured.skipped),
        **summary_profiles.tables(measured),
        published=tuple(ours(number, measured.of(number.experiment).rows) for number in numbers), claims=judged,
        paper_claims=tuple(PaperClaim(id=name, parts=tuple(claim.id for claim in each),
                                      verdict=claims.together(claim.verdict for claim in each))
                           for name, each in parts.items()),
        footnotes=_footnotes(comparisons, measured), methods=METHODS, limits=machine_share.limits(measured),
        lanes=tuple(lanes.tables(groups, comparisons, doubted, whole.error)))


def _of_plan(what: str, records: Iterable[Facts], read: Callable[[Facts], One]) -> list[One]:
    try:
        return [*map(read, records)]
    except ValueError as error:
        raise InputError(f"the plan's {what}: {' '.join(str(error).split())}") from error


def timed(measured: Measurements) -> lanes.Groups:
    """The comparisons that have rates, each as its rows by stack."""
    return [{row.cell.stack: row for row in rows} for rows in by_comparison(
        row for row in measured.rows if row.cell.measure in TIMED).values()]


def words_of(groups: lanes.Groups, baseline: str) -> int:
    """How many words the session's plan could say, whatever it measures.

    Of each comparison one of every stack against the baseline, and one of the fastest where that is not the same; of
    lanes one of every stack that has both.
    """
    of = [(len(group) - 1, baseline in group) for group in groups]
    return (sum(others for others, has_baseline in of if has_baseline)
            + sum(others > has_baseline for others, has_baseline in of) + lanes.words(groups))


def _fastest(rows: Sequence[Row], error: float) -> str | None:
    """The stack that is shown to be faster than every other measured stack; None where fewer than two were measured."""
    means = {row: mean for row in rows if (mean := mean_rate(row))}
    best = max(means, key=means.__getitem__, default=None)
    words = {Paired.of(best, row, error, {}).verdict for row in means if best and row is not best}
    return best.cell.stack if best and words == {Verdict.FASTER} else None


def _comparison(group: Mapping[str, Row], session: _Session) -> Comparison:
    rows, base = list(group.values()), group.get(session.measured.baseline)
    first, doubted, error = rows[0], session.doubted, session.error
    results = [_result(row, None if row is base else Paired.of(row, base, error, doubted), of_losses, session)
               for row, of_losses in zip(rows, _losses(rows), strict=True)]
    skipped = {skip.cell.stack: skip.cell for skip in session.skipped.get(first.comparison.key, ())}
    results += [Result(stack=name, key=key(cell), endings={"skipped": 1}, verdict=Verdict.NO_DATA)
                for name, cell in skipped.items() if name not in group]
    return Comparison(
        key=first.comparison.key, experiment=first.experiment, label=first.comparison.label, task=first.cell.task,
        measure=first.cell.measure, unit=first.unit, settings=settings(first.cell), results=tuple(results),
        winner=None if any(row.key in doubted for row in rows) else _fastest(rows, error),
        left_out=tuple(result.stack for result in results if result.rate_per_worker is None),
        unproved=tuple(result.stack for result in results if {Flag.UNPROVED, Flag.CHECK_FAILED} & {*result.flags}),
    )


def _word(row: Row, paired: Paired | None, doubted: Doubts) -> tuple[Verdict, str]:
    """The verdict on a stack, and what withholds any other: the stack's own doubt, else the baseline's; "" of none."""
    if paired is None:
        return Verdict.BASELINE, doubted[row.key].text if row.key in doubted else ""
    if paired.doubt:
        return paired.doubt
    if paired.other and (theirs := paired.other_doubt) and paired.ratio.value is not None:
        return theirs.verdict, f"{theirs.verdict.value}: {paired.other.cell.stack}"
    return stats.verdict(paired.ratio), ""


def _unstamped(cell: Cell) -> Cell:
    """The cell of the plain training that a cell of phases stamps; how many steps each takes does not matter."""
    return cell._replace(measure="train", steps=0, warmup=0, warm="fixed", seconds=0.0)


def _result(row: Row, paired: Paired | None, losses: Mapping[str, Any], session: _Session) -> Result:
    """paired: with the baseline; None of that itself."""
    runs, rates = row.ok_runs, row.rates
    ratio = paired.ratio if paired else Ratio(pairs=len(rates))
    (verdict, withheld), phases = _word(row, paired, session.doubted), _phases(row)
    seconds, step_interval = _typical(runs, step_seconds)
    plain = session.plain.get(_unstamped(row.cell)) if phases else None
    plain_seconds = _typical(plain.ok_runs, step_seconds)[0] if plain else None
    rate, rate_interval = stats.geometric_mean(rates.values()), stats.interval(list(rates.values()))
    tokens, padded = (_typical(runs, partial(_tokens_per_second, name)) for name in ("tokens", "padded_tokens"))
    if row.unit == TOKENS:
        tokens = rate, rate_interval
    return Result(
        stack=row.cell.stack, key=row.key, endings=dict(Counter(run.ending for run in row.runs)), runs=len(runs),
        rate_per_worker=rate, rate_interval=rate_interval,
        ratio=ratio.value, ratio_interval=ratio.interval, pairs=ratio.pairs,
        round_ratios=paired.round_ratios if paired else (),
        verdict=verdict, withheld=withheld, **session.facts(row), turns=sum(len(run.turns) for run in row.runs),
        disturbed_turns=sum(disturbed(run.turns) for run in row.runs),
        workers=len(runs[0].workers) if runs else 0, mode=_fact(runs, "mode"), phases=phases,
        step_seconds=seconds, step_interval=step_interval,
        communication=_fact(runs, "communication") if phases else None,
        stamping_cost=seconds / plain_seconds - 1 if seconds and plain_seconds else None,
        place_peaks=_place_peaks(runs),
        weights_agree=all(len(set(run.digests.values())) == 1 for run in runs if run.digests)
        if any(len(run.digests) > 1 for run in runs) else None,
        **losses,
        parameters=next((run.parameters for run in runs if run.parameters is not None), None),
        tokens_per_second=tokens[0], tokens_interval=tokens[1],
        padded_tokens_per_second=padded[0], padded_tokens_interval=padded[1],
        epochs=max((len(run.epochs) for run in runs if run.epochs), default=None),
        ran_as=_fact(runs, "loop"),
        ran_precision=_fact(runs, "precision"),
        **{name: _median(row, number) for name, number in NUMBERS.items()},
    )


def _median(row: Row, number: Number) -> float | None:
    values = [number.read(row, run) for run in row.ok_runs]
    value = None if number.is_of_all and None in values else stats.median([each for each in values if each is not None])
    return round(value) if number.is_whole and value is not None else value


def _typical(runs: Sequence[Run], of: Callable[[Run], float | None]) -> tuple[float | None, Interval | None]:
    """The geometric mean over the runs that have the value, with its interval: the statistic of rates."""
    values = [value for value in map(of, runs) if value]
    return stats.geometric_mean(values), stats.interval(values)


def _losses(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The fields of each row's Result about losses: medians over rounds, at the first and the last step.

    The rounds and steps are those of which all stacks reported a loss; a round that would leave no step is passed over.
    Rounds have seeds of their own and warm-ups are of unequal lengths: other rounds or steps are other losses.
    """
    told = [{run.round: dict(zip(run.first.loss_steps, run.first.losses.tolist(), strict=True))
             for run in row.ok_runs if run.first.loss_steps} for row in rows]
    of_all = [of_row for of_row in told if of_row]
    rounds: list[int] = []
    steps: set[int] = set()
    for index in sorted(set.intersection(*map(set, of_all))) if of_all else ():
        shared = set.intersection(*(set(of_row[index]) for of_row in of_all))
        if narrowed := shared & steps if rounds else shared:
            rounds.append(index)
            steps = narrowed
    ends = {"loss_first": min(steps), "loss_last": max(steps)} if steps else {}
    for of_row in told:
        yield {**{name: stats.median([of_row[index][step] for index in rounds]) for name, step in ends.items()},
               "loss_steps": tuple(step + 1 for step in ends.values())} if ends and of_row else {}


def _fact(runs: Sequence[Run], name: str) -> str | None:
    return next((str(run.facts[name]) for run in runs if name in run.facts), None)


def _phases(row: Row) -> dict[str, float]:
    if row.cell.measure != "phases":
        return {}
    medians = {name: middle(row.ok_runs, methodcaller("phase_seconds", name)) for name in quantities.PHASES}
    return {name: seconds for name, seconds in medians.items() if seconds is not None}


def _place_peaks(runs: Sequence[Run]) -> dict[str, int]:
    peaks = [quantities.place_peaks(run) for run in runs]
    return {name: round(middle(peaks, methodcaller("get", name)) or 0)
            for name in sorted({name for of_run in peaks for name in of_run})}


def _tokens_per_second(name: str, run: Run) -> float | None:
    """The tokens a second; None for data that are no sequences."""
    count, seconds = run.tokens(name), step_seconds(run)
    return count / seconds if count is not None and seconds else None


def _column(name: str, measured: Measurements) -> Column:
    """A stack as its first run reported it."""
    runs = [run for row in measured.rows if row.cell.stack == name for run in row.runs]
    facts: Facts = next((run.facts for run in runs if run.facts), {})
    environment: Facts = next((run.place for run in runs if run.place), {})
    return Column(stack=name,
                  **{field: facts.get(field) for field in ("framework", "version", "python", "onednn", "threads")},
                  **{field: environment.get(field) for field in ("isolation", "image", "base", "base_is_default")})


def _data(measured: Measurements) -> tuple[Data, ...]:
    reported = (recorded(run.facts, "data") for row in measured.rows for run in row.runs)
    data_sets = {tuple(map(facts.get, ("name", "images", "sha256"))): facts.get("stand_in") is True
                 for facts in reported if facts.get("name") is not None}
    return tuple(Data(name=name, images=images, is_stand_in=is_stand_in, sha256=sha256)
                 for (name, images, sha256), is_stand_in in data_sets.items())


def _footnotes(comparisons: Iterable[Comparison], measured: Measurements) -> tuple[Footnote, ...]:
    used = {flag for comparison in comparisons for result in comparison.results for flag in result.flags}
    runs = [run for row in measured.rows for run in row.runs]
    off = dict.fromkeys(f"{row.cell.stack}: {each}" for row in measured.rows for run in row.ok_runs
                        for each in left_off(run))
    counts = {"left_off": "; ".join(off), "runs": len(runs), "lost": sum(len(row.lost) for row in measured.rows),
              "turns": sum(len(run.turns) for run in runs), "disturbed": sum(disturbed(run.turns) for run in runs)}
    return tuple(Footnote(flag=flag, text=flag.text.format(**counts)) for flag in Flag if flag in used)
