"""Rows to a Summary: the results of a session, comparison by comparison, with intervals, verdicts and flags."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from runner.analysis import doubts, lanes, machine_share, stats, summary_profiles
from runner.analysis.claims import judging
from runner.analysis.claims.measured_here import ours
from runner.analysis.doubts import Doubt, Doubts
from runner.analysis.flags import Flag, Proved, flags, left_off
from runner.analysis.paired import Paired
from runner.analysis.result_numbers import NUMBERS, Number
from runner.analysis.stats import Interval, One, Ratio, Verdict, middle
from runner.analysis.summary_format import (
    METHODS,
    Column,
    Comparison,
    Data,
    Failure,
    Footnote,
    Lanes,
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
from runner.results.rows import TOKENS, Measurements, Row, by_comparison, recorded
from runner.results.runs import Run, step_seconds
from runner.results.turns import disturbed
from runner.study import claims, published, quantities
from workloads.spec.cell import Cell
from workloads.spec.measures import TIMED


class _Group(NamedTuple):
    """The cells of a comparison by stack: planned ones with their rows, and skipped ones."""

    rows: dict[str, Row]
    skipped: dict[str, Cell]


class _Losses(NamedTuple):
    """Rounds and steps whose loss all stacks of a comparison reported."""

    rounds: frozenset[int]
    steps: tuple[int, int] | None          # the first and the last, from 0; None where they share none


class _Statistics(NamedTuple):
    """The stacks of one comparison, held against the baseline."""

    pairs: Mapping[str, Paired]            # each stack with the baseline, but that itself
    winner: str | None                     # faster than every other one, where none is doubted
    doubt: Doubt | None                    # about the baseline


def summary_of(measured: Measurements, proved: Proved = frozenset()) -> Summary:
    """The Summary of what was measured; proved: the (task, stack) whose check has passed. Raises InputError."""
    try:
        return _summary(measured, proved)
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


def _summary(measured: Measurements, proved: Proved) -> Summary:
    session, planned = measured.session, [row for row in measured.rows if row.cell.measure in (*TIMED, "operators")]
    names = sorted(dict.fromkeys(row.cell.stack for row in planned), key=lambda name: name != measured.baseline)
    machine = Machine(**_known(session.get("machine"), Machine.model_fields))
    doubted = doubts.of(measured)
    numbers = _of_plan("published numbers", measured.published, published.from_record)
    judged = tuple(judging.judge(claim, measured, doubted)
                   for claim in _of_plan("claims", measured.claims, claims.from_record))
    parts = grouped(judged, lambda claim: claims.paper_claim(claim.id))
    groups = _groups(measured, names)
    words = _words(groups, measured.baseline)
    comparisons, of_lanes = _comparisons(measured, groups, machine.cpus, proved, doubted, stats.error_of(words))
    comparisons = machine_share.shared(comparisons, measured)
    return Summary(
        **{"id": "", "study": "", "scale": None, "evenbench": None, "began": None, "launcher": None, "seed": None,
           **_known(session, ("id", "study", "scale", "evenbench", "began", "launcher", "seed"))},
        is_complete=measured.is_done, words=words, machine=machine, data=_data(measured),
        rounds=measured.rounds, baseline=measured.baseline, columns=tuple(_column(name, measured) for name in names),
        comparisons=comparisons,
        failures=tuple(Failure(run=run.name, stack=row.cell.stack, label=row.comparison.label, round=run.round,
                               ending=run.ending, message=run.message)
                       for row in measured.rows for run in row.runs
                       if run.ending != "ok" and run.message != INTERRUPTED),
        skipped=tuple(Skip(experiment=each.experiment, stack=each.cell.stack, label=each.comparison.label,
                           reason=each.reason) for each in measured.skipped),
        **summary_profiles.tables(measured.rows, measured.session_of),
        published=tuple(ours(number, measured.of(number.experiment).rows) for number in numbers), claims=judged,
        paper_claims=tuple(PaperClaim(id=name, parts=tuple(claim.id for claim in each),
                                      verdict=claims.together(claim.verdict for claim in each))
                           for name, each in parts.items()),
        footnotes=_footnotes(comparisons, measured), methods=METHODS,
        limits=machine_share.limits(measured), lanes=of_lanes)


def _of_plan(what: str, records: Iterable[Facts], read: Callable[[Facts], One]) -> list[One]:
    try:
        return [*map(read, records)]
    except ValueError as error:
        raise InputError(f"the plan's {what}: {' '.join(str(error).split())}") from error


def _known(values: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values} if isinstance(values, dict) else {}


def _comparisons(measured: Measurements, groups: Sequence[_Group], cpus: int | None, proved: Proved, doubted: Doubts,
                 error: float) -> tuple[tuple[Comparison, ...], tuple[Lanes, ...]]:
    unstamped, by_stack = _unstamped(measured), [group.rows for group in groups]
    comparisons = tuple(_comparison(group, _statistics(group, measured.baseline, doubted, error),
                                    lambda row: {"flags": flags(row, cpus, proved),
                                                 "rerun": rerun(measured.session_of(row.key), row.key)}, unstamped)
                        for group in groups)
    return comparisons, tuple(lanes.tables(by_stack, comparisons, doubted, error))


def _words(groups: Sequence[_Group], baseline: str) -> int:
    """How many words the session's plan could say, whatever it measures.

    Of each comparison one of every stack against the baseline, and one of the fastest where that is not the same; of
    lanes one of every stack that has both.
    """
    of = [(len(group.rows) - 1, baseline in group.rows) for group in groups]
    return (sum(others for others, has_baseline in of if has_baseline)
            + sum(others > has_baseline for others, has_baseline in of)
            + lanes.words([group.rows for group in groups]))


def _groups(measured: Measurements, names: Sequence[str]) -> list[_Group]:
    """A group a comparison, in the plan's order; stacks in the order of names."""
    groups = {}
    for group_key, rows in by_comparison(row for row in measured.rows if row.cell.measure in TIMED).items():
        rows.sort(key=lambda row: names.index(row.cell.stack))
        groups[group_key] = _Group({row.cell.stack: row for row in rows}, {})
    for skip in measured.skipped:
        group = groups.get(skip.comparison.key) if skip.cell.measure in TIMED else None
        if group and skip.cell.stack not in group.rows:
            group.skipped[skip.cell.stack] = skip.cell
    return list(groups.values())


def _statistics(group: _Group, baseline: str, doubted: Doubts, error: float) -> _Statistics:
    base = group.rows.get(baseline)
    pairs = {name: Paired.of(row, base, error, doubted) for name, row in group.rows.items() if name != baseline}
    is_doubted = any(row.key in doubted for row in group.rows.values())
    return _Statistics(pairs, None if is_doubted else _fastest(list(group.rows.values()), error),
                       doubted.get(base.key) if base else None)


def _fastest(rows: Sequence[Row], error: float) -> str | None:
    """The stack that is shown to be faster than every other measured stack; None where fewer than two were measured."""
    means = {row: mean for row in rows if (mean := stats.geometric_mean(row.rates.values()))}
    best = max(means, key=means.__getitem__, default=None)
    words = {Paired.of(best, row, error).verdict for row in means if best and row is not best}
    return best.cell.stack if best and words == {Verdict.FASTER} else None


def _comparison(group: _Group, statistics: _Statistics, facts: Callable[[Row], dict[str, Any]],
                unstamped: Mapping[Cell, float]) -> Comparison:
    first = next(iter(group.rows.values()))
    losses = _shared_losses(list(group.rows.values()))
    results = [_result(row, statistics, facts(row), unstamped.get(_unstamped_key(row.cell)), losses)
               for row in group.rows.values()]
    results += [Result(stack=cell.stack, key=key(cell), endings={"skipped": 1}, verdict=Verdict.NO_DATA)
                for cell in group.skipped.values()]
    return Comparison(
        key=first.comparison.key, experiment=first.experiment, label=first.comparison.label, task=first.cell.task,
        measure=first.cell.measure, unit=first.unit, settings=settings(first.cell),
        results=tuple(results), winner=statistics.winner,
        left_out=tuple(result.stack for result in results if result.rate_per_worker is None),
        unproved=tuple(result.stack for result in results if Flag.UNPROVED in result.flags),
    )


def _word(name: str, statistics: _Statistics) -> tuple[Verdict, str]:
    """The verdict on a stack, and what withholds any other: the stack's own doubt, else the baseline's; "" of none."""
    paired, theirs = statistics.pairs.get(name), statistics.doubt
    if paired is None:
        return Verdict.BASELINE, theirs.text if theirs else ""
    if paired.doubt:
        return paired.doubt
    if theirs and paired.other and paired.ratio.value is not None:
        return theirs.verdict, f"{theirs.verdict.value}: {paired.other.cell.stack}"
    return stats.verdict(paired.ratio), ""


def _unstamped_key(cell: Cell) -> Cell:
    """The cell of the plain training that a cell of phases stamps; how many steps each takes does not matter."""
    return cell._replace(measure="train", steps=0, warmup=0, warm="fixed", seconds=0.0)


def _unstamped(measured: Measurements) -> dict[Cell, float]:
    """Seconds of a plain training step where any are stamped: the geometric mean over runs."""
    if not any(row.cell.measure == "phases" for row in measured.rows):
        return {}
    return {_unstamped_key(row.cell): seconds for row in measured.rows if row.cell.measure == "train"
            and (seconds := _typical(row.ok_runs, step_seconds)[0]) is not None}


def _result(row: Row, statistics: _Statistics, facts: Mapping[str, Any], plain_seconds: float | None,
            losses: _Losses) -> Result:
    name, runs, rates = row.cell.stack, row.ok_runs, row.rates
    paired = statistics.pairs.get(name)
    ratio = paired.ratio if paired else Ratio(pairs=len(rates))      # the baseline's, to itself
    (verdict, withheld), turns = _word(name, statistics), row.turns
    (seconds, step_interval), phases = _typical(runs, step_seconds), _phases(row)
    rate, rate_interval = stats.geometric_mean(rates.values()), stats.interval(list(rates.values()))
    tokens, padded = (_typical(runs, lambda run, name=name: _tokens_per_second(run, name))  # type: ignore[misc]
                      for name in ("tokens", "padded_tokens"))
    if row.unit == TOKENS:
        tokens = rate, rate_interval
    return Result(
        stack=name, key=row.key, endings=dict(Counter(run.ending for run in row.runs)), runs=len(runs),
        rate_per_worker=rate, rate_interval=rate_interval,
        ratio=ratio.value, ratio_interval=ratio.interval, pairs=ratio.pairs,
        round_ratios=paired.round_ratios if paired else (),
        verdict=verdict, withheld=withheld, **facts, turns=len(turns),
        disturbed_turns=sum(disturbed(run.turns) for run in row.runs),
        workers=len(runs[0].workers) if runs else 0, mode=_fact(runs, "mode"), phases=phases,
        step_seconds=seconds, step_interval=step_interval,
        communication=_fact(runs, "communication") if phases else None,
        stamping_cost=seconds / plain_seconds - 1 if phases and seconds and plain_seconds else None,
        place_peaks=_place_peaks(runs),
        weights_agree=all(len(set(run.digests.values())) == 1 for run in runs if run.digests)
        if any(len(run.digests) > 1 for run in runs) else None,
        **_losses(runs, losses),
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


def _shared_losses(rows: Sequence[Row]) -> _Losses:
    """The rounds and the steps of which all stacks reported a loss; a round that would leave no step is passed over.

    Rounds have seeds of their own and warm-ups are of unequal lengths: other rounds or steps are other losses.
    """
    steps_of = [{run.round: set(run.first.loss_steps) for run in row.ok_runs if run.first.loss_steps} for row in rows]
    steps_of = [of_row for of_row in steps_of if of_row]
    rounds: list[int] = []
    steps: set[int] = set()
    for index in sorted(set.intersection(*map(set, steps_of))) if steps_of else ():
        shared = set.intersection(*(of_row[index] for of_row in steps_of))
        if narrowed := shared & steps if rounds else shared:
            rounds.append(index)
            steps = narrowed
    return _Losses(frozenset(rounds), (min(steps), max(steps)) if steps else None)


def _losses(runs: Sequence[Run], shared: _Losses) -> dict[str, Any]:
    """The fields of a Result about losses: medians over the shared rounds, at the first and the last shared step."""
    steps = shared.steps
    of_runs = [dict(zip(run.first.loss_steps, run.first.losses.tolist(), strict=True))
               for run in runs if steps and run.round in shared.rounds and run.first.loss_steps]
    first, last = (stats.median([losses[step] for losses in of_runs]) for step in steps or (0, 0))
    return {"loss_first": first, "loss_last": last,
            "loss_steps": None if steps is None or first is None else (steps[0] + 1, steps[1] + 1)}


def _fact(runs: Sequence[Run], name: str) -> str | None:
    return next((str(run.facts[name]) for run in runs if name in run.facts), None)


def _phases(row: Row) -> dict[str, float]:
    if row.cell.measure != "phases":
        return {}
    return {name: seconds for name in quantities.PHASES
            if (seconds := middle(row.ok_runs, lambda run, name=name: run.phase_seconds(name)))  # type: ignore[misc]
            is not None}


def _place_peaks(runs: Sequence[Run]) -> dict[str, int]:
    peaks = [quantities.place_peaks(run) for run in runs]
    return {name: round(middle(peaks, lambda of_run, name=name: of_run.get(name)) or 0)  # type: ignore[misc]
            for name in sorted({name for of_run in peaks for name in of_run})}


def _tokens_per_second(run: Run, name: str) -> float | None:
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
    reported = [recorded(run.facts, "data") for row in measured.rows for run in row.runs]
    data_sets = {tuple(facts.get(name) for name in ("name", "images", "sha256")): facts for facts in reported
                 if facts.get("name") is not None}
    return tuple(Data(name=facts["name"], images=facts.get("images"), is_stand_in=facts.get("stand_in") is True,
                      sha256=facts.get("sha256")) for facts in data_sets.values())


def _footnotes(comparisons: Iterable[Comparison], measured: Measurements) -> tuple[Footnote, ...]:
    used = {flag for comparison in comparisons for result in comparison.results for flag in result.flags}
    runs = [run for row in measured.rows for run in row.runs]
    off = dict.fromkeys(f"{row.cell.stack}: {each}" for row in measured.rows for run in row.ok_runs
                        for each in left_off(run))
    counts = {"left_off": "; ".join(off), "runs": len(runs), "lost": sum(not run.counts for run in runs),
              "turns": sum(len(run.turns) for run in runs), "disturbed": sum(disturbed(run.turns) for run in runs)}
    return tuple(Footnote(flag=flag, text=flag.text.format(**counts)) for flag in Flag if flag in used)
