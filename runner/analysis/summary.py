"""Rows to a Summary: the results of a session, comparison by comparison, with intervals, verdicts and flags."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from runner.analysis import gate, lanes, machine_share, stats, summary_profiles
from runner.analysis.claims import judging
from runner.analysis.claims.published import ours
from runner.analysis.flags import FOOTNOTES, Flag, Proved, flags
from runner.analysis.gate import NO_STEPS, Runs
from runner.analysis.stats import Interval, Ratio, Verdict, middle
from runner.analysis.summary_format import (
    Column,
    Comparison,
    Data,
    Failure,
    Footnote,
    GeometricMean,
    JudgedClaim,
    Lanes,
    Machine,
    Methods,
    PaperClaim,
    PublishedNumber,
    Result,
    Skip,
    Summary,
)
from runner.cells import key, settings
from runner.errors import InputError
from runner.formatting import rerun
from runner.results.rows import Measurements, Row, SessionSpread, by_comparison, measurements
from runner.results.runs import Run, rate_per_worker, step_seconds
from runner.results.values import Facts
from runner.study import claims, published, quantities
from workloads.spec.cell import Cell

_OF_EPOCHS = {"first_epoch_seconds": "first_epoch", "epoch_seconds": "epoch", "validation_seconds": "validation",
              "best_accuracy": "accuracy"}
TIMED = ("train", "infer", "epochs", "phases", "prefill", "decode")       # measures that have a rate


class _Group(NamedTuple):
    """The cells of a comparison by stack: planned ones with their rows, and skipped ones."""

    rows: dict[str, Row]
    skipped: dict[str, Cell]


class _Statistics(NamedTuple):
    """The rates, ratios and steadiness of one comparison, by stack."""

    runs: Mapping[str, Runs]               # how steady they were
    rates: Mapping[str, Mapping[int, float]]
    ratios: Mapping[str, Ratio]            # to the baseline, of all others
    best: str | None                       # the stack with the highest rate
    against: Mapping[str, Ratio]           # of the best to each other that was measured
    baseline: str

    def withheld(self, name: str) -> Runs:
        """The runs that withhold the stack's verdict: its own, or the baseline's."""
        own = self.runs.get(name, NO_STEPS)
        return own if own.verdict else self.runs.get(self.baseline, NO_STEPS)

    def reason(self, name: str) -> str:
        """Why the stack has no verdict; "" where it may have one."""
        runs = self.withheld(name)
        if runs.verdict is None or runs is self.runs.get(name, NO_STEPS):
            return runs.text
        return f"{runs.verdict.value}: {self.baseline}"

    def has_winner(self) -> bool:
        """Whether a winner may be named: another stack was measured, and every stack was steady."""
        return bool(self.against) and not any(
            self.runs.get(name, NO_STEPS).verdict for name, rates in self.rates.items() if rates)


class _PValues(NamedTuple):
    """The p values of a session's verdicts, adjusted together (Holm)."""

    ratios: Mapping[tuple[int, str], float]    # by the comparison's index and the stack
    winners: Mapping[int, float]
    lanes: Mapping[tuple[int, str], float]     # of tuned against common, by the tuned comparison's index and the stack
    tests: int                                 # of all verdicts that there could be

    @property
    def level(self) -> float:
        """The unadjusted p value that the session's strictest test must reach."""
        return stats.ERROR / max(1, self.tests)


def summarise(records: Iterable[Mapping[str, Any]], proved: Proved = frozenset()) -> Summary:
    """The Summary of a store's records. proved: the (task, stack) whose check has passed. Raises InputError."""
    return summary_of(measurements(records), proved)


def summary_of(measured: Measurements, proved: Proved = frozenset()) -> Summary:
    """The Summary of what was measured. Raises InputError."""
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
    session, names = measured.session, _names(measured)
    machine = Machine(**_known(session.get("machine"), Machine.model_fields))
    steady = gate.of_rows(measured.rows)
    judged = _claims(measured, steady)
    comparisons, of_lanes = _comparisons(measured, names, machine.cpus, proved, steady)
    comparisons = _with_reruns(machine_share.shared(comparisons, measured), measured)
    return Summary(
        **{"id": "", "study": "", "scale": None, "evenbench": None, "began": None, "launcher": None, "seed": None,
           **_known(session, ("id", "study", "scale", "evenbench", "began", "launcher", "seed"))},
        is_complete=measured.is_done, session_spread=measured.session_spread.share,
        session_scatter=measured.session_spread.of_scatter, machine=machine, data=_data(measured),
        rounds=measured.rounds, baseline=measured.baseline, columns=tuple(_column(name, measured) for name in names),
        comparisons=comparisons, geometric_means=_geometric_means(comparisons, names, measured.baseline),
        failures=_failures(measured),
        skipped=tuple(Skip(experiment=each.experiment, stack=each.cell.stack, label=each.comparison.label,
                           reason=each.reason)
                      for each in measured.skipped),
        **summary_profiles.tables(measured.rows, _id(measured)), published=_published(measured), claims=judged,
        paper_claims=_paper_claims(judged), footnotes=_footnotes(comparisons), methods=Methods(),
        limits=machine_share.limits(measured), lanes=of_lanes,
    )


def _published(measured: Measurements) -> tuple[PublishedNumber, ...]:
    numbers = []
    for record in measured.published:
        try:
            number = published.from_record(record)
        except ValueError as error:
            raise InputError(f"the plan's published numbers: {' '.join(str(error).split())}") from error
        here = ours(number, measured.rows)
        numbers.append(PublishedNumber(**{**number.record(), "ours": here.value, "cells": here.cells}))
    return tuple(numbers)


def _claims(measured: Measurements, steady: Mapping[str, Runs]) -> tuple[JudgedClaim, ...]:
    judged = []
    for record in measured.claims:
        try:
            claim = claims.from_record(record)
        except ValueError as error:
            raise InputError(f"the plan's claims: {' '.join(str(error).split())}") from error
        judged.append(judging.judge(claim, measured, steady))
    return tuple(judged)


def _paper_claims(judged: Sequence[JudgedClaim]) -> tuple[PaperClaim, ...]:
    parts: dict[str, list[JudgedClaim]] = {}
    for claim in judged:
        parts.setdefault(claims.paper_claim(claim.id), []).append(claim)
    return tuple(PaperClaim(id=name, parts=tuple(claim.id for claim in each),
                            verdict=claims.together(claim.verdict for claim in each))
                 for name, each in parts.items())


def _known(values: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values} if isinstance(values, dict) else {}


def _names(measured: Measurements) -> list[str]:
    """The stacks that were planned, the baseline first."""
    names = list(dict.fromkeys(row.cell.stack for row in measured.rows if row.cell.measure in (*TIMED, "operators")))
    return sorted(names, key=lambda name: name != measured.baseline)


def _comparisons(measured: Measurements, names: Sequence[str], cpus: int | None, proved: Proved,
                 runs: Mapping[str, Runs]) -> tuple[tuple[Comparison, ...], tuple[Lanes, ...]]:
    groups, unstamped = _groups(measured, names), _unstamped(measured)
    spread = measured.session_spread
    statistics = [_statistics(group, measured.baseline, runs, spread) for group in groups]
    by_stack = [group.rows for group in groups]
    pairs = lanes.pairs(by_stack, runs, spread)
    p_values = _p_values(statistics, pairs)
    comparisons = tuple(
        _comparison(index, group, of_group, p_values, lambda row: flags(row, cpus, proved, runs.get(row.key)),
                    unstamped)
        for index, (group, of_group) in enumerate(zip(groups, statistics, strict=True)))
    return comparisons, lanes.tables(pairs, by_stack, comparisons, p_values.lanes)


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


def _statistics(group: _Group, baseline: str, runs: Mapping[str, Runs], spread: SessionSpread) -> _Statistics:
    rates = {name: row.rates for name, row in group.rows.items()}
    best = _fastest(rates)
    others, rivals = _others(rates, baseline), _rivals(rates, best) if best else []
    ratios = stats.ratios([(rates[name], rates.get(baseline, {})) for name in others], *spread)
    against = stats.ratios([(rates[best or ""], rates[name]) for name in rivals], *spread)
    return _Statistics({name: runs.get(row.key, NO_STEPS) for name, row in group.rows.items()}, rates,
                       dict(zip(others, ratios, strict=True)), best, dict(zip(rivals, against, strict=True)), baseline)


def _p_values(statistics: Sequence[_Statistics], pairs: Sequence[lanes.Pair] = ()) -> _PValues:
    """The adjusted p values of all verdicts and winners. Of two stacks, their ratio already says who wins."""
    own_p: dict[tuple[int, str], float] = {}
    of_lanes = {key: own for pair in pairs for key, own in pair.p_values().items()}
    for index, one in enumerate(statistics):
        for name, ratio in one.ratios.items():
            own = stats.p_value(ratio)
            if own is not None and not one.withheld(name).verdict:
                own_p[index, name] = own
        own = _winner_p(one)
        if own is not None and not _is_told_by_a_ratio(one):
            own_p[index, ""] = own
    every = stats.holm([*own_p.values(), *of_lanes.values()])
    adjusted = dict(zip(own_p, every[:len(own_p)], strict=True))
    winners = {index: adjusted.get((index, ""), adjusted.get((index, _only_other(one)), 1.0))
               for index, one in enumerate(statistics) if _winner_p(one) is not None}
    return _PValues({key: value for key, value in adjusted.items() if key[1]}, winners,
                    dict(zip(of_lanes, every[len(own_p):], strict=True)), len(every))


def _winner_p(one: _Statistics) -> float | None:
    """The p value of "the best is faster than every other": its largest one, since all must hold."""
    if not one.has_winner():
        return None
    every = [stats.p_value(ratio) for ratio in one.against.values()]
    known = [each for each in every if each is not None]
    return max(known) if len(known) == len(every) else None


def _is_told_by_a_ratio(one: _Statistics) -> bool:
    return len(one.against) == 1 and one.baseline in (one.best, *one.against)


def _only_other(one: _Statistics) -> str:
    """The first stack that is not the baseline."""
    return next((name for name in (one.best or "", *one.against) if name != one.baseline), "")


def _others(names: Iterable[str], baseline: str) -> list[str]:
    """All but the baseline."""
    return [name for name in names if name != baseline]


def _fastest(rates: Mapping[str, Mapping[int, float]]) -> str | None:
    means = {name: stats.geometric_mean(list(by_round.values())) for name, by_round in rates.items()}
    return max(means, key=lambda name: means[name] or 0.0) if any(means.values()) else None


def _rivals(rates: Mapping[str, Mapping[int, float]], best: str) -> list[str]:
    """The other stacks that were measured."""
    return [name for name, by_round in rates.items() if name != best and by_round]


def _comparison(index: int, group: _Group, statistics: _Statistics, p_values: _PValues,
                flagged: Callable[[Row], tuple[Flag, ...]], unstamped: Mapping[Cell, float]) -> Comparison:
    first = next(iter(group.rows.values()))
    results = [_result(row, statistics, _word(index, row.cell.stack, statistics, p_values), flagged(row),
                       unstamped.get(_unstamped_key(row.cell)))
               for row in group.rows.values()]
    results += [_skipped_result(cell) for cell in group.skipped.values()]
    wins = p_values.winners.get(index, 1.0) <= stats.ERROR and all(
        (ratio.value or 0.0) > 1 for ratio in statistics.against.values())
    return Comparison(
        key=first.comparison.key, experiment=first.experiment, label=first.comparison.label, task=first.cell.task,
        measure=first.cell.measure,
        settings=settings(first.cell),
        results=tuple(results), winner=statistics.best if wins else None,
        left_out=tuple(result.stack for result in results if result.rate_per_worker is None),
        unproved=tuple(result.stack for result in results if Flag.UNPROVED in result.flags),
    )


def _with_reruns(comparisons: Sequence[Comparison], measured: Measurements) -> tuple[Comparison, ...]:
    """The comparisons, each result of a cell of the plan with the command that measures it again."""
    name, planned = _id(measured), {row.key for row in measured.rows}
    return tuple(each.model_copy(update={"results": tuple(
        result.model_copy(update={"rerun": rerun(name, result.key)}) if result.key in planned else result
        for result in each.results)}) for each in comparisons)


def _id(measured: Measurements) -> str:
    return str(measured.session.get("id", ""))


class _Word(NamedTuple):
    """What is said of a stack."""

    verdict: Verdict
    withheld: str = ""
    p_value: float | None = None
    smallest: float | None = None


def _word(index: int, name: str, statistics: _Statistics, p_values: _PValues) -> _Word:
    reason = statistics.reason(name)
    if name not in statistics.ratios:
        return _Word(Verdict.BASELINE, reason)
    ratio, withholding = statistics.ratios[name], statistics.withheld(name).verdict
    if withholding and ratio.value is not None:
        return _Word(withholding, reason)
    adjusted = p_values.ratios.get((index, name))
    said = stats.verdict(ratio, adjusted)
    is_open = said is Verdict.NO_DIFFERENCE and ratio.mean is not None
    return _Word(said, "", adjusted, ratio.mean.smallest(p_values.level) if is_open and ratio.mean else None)


def _unstamped_key(cell: Cell) -> Cell:
    """The cell of the plain training that a cell of phases stamps; how many steps each takes does not matter."""
    return cell._replace(measure="train", steps=0, warmup=0, warm="fixed", seconds=0.0)


def _unstamped(measured: Measurements) -> dict[Cell, float]:
    """Seconds of a plain training step where any are stamped: the geometric mean over runs."""
    if not any(row.cell.measure == "phases" for row in measured.rows):
        return {}
    steps = {_unstamped_key(row.cell): _typical(row.ok_runs, step_seconds).value for row in measured.rows
             if row.cell.measure == "train"}
    return {cell: seconds for cell, seconds in steps.items() if seconds is not None}


def _result(row: Row, statistics: _Statistics, word: _Word, flagged: tuple[Flag, ...], plain_seconds: float | None
            ) -> Result:
    name, runs, rates = row.cell.stack, row.ok_runs, row.rates
    ratio = statistics.ratios.get(name, Ratio(None, None, len(rates)))      # the baseline's, to itself
    steady = statistics.runs[name]
    step, phases = _typical(runs, step_seconds), _phases(row)
    tokens, padded = (_typical(runs, lambda run, name=name: _tokens_per_second(run, name))  # type: ignore[misc]
                      for name in ("tokens", "padded_tokens"))
    seconds = step.value
    parameters = [run.parameters for run in runs if run.parameters is not None]
    return Result(
        stack=name, key=row.key, endings=dict(Counter(run.ending for run in row.runs)),
        rate_per_worker=stats.geometric_mean(list(rates.values())),
        rate_interval=stats.interval(list(rates.values())),
        ratio=ratio.value, ratio_interval=ratio.interval, pairs=ratio.pairs,
        rounds_interval=ratio.of_rounds and ratio.of_rounds.interval(), verdict=word.verdict, withheld=word.withheld,
        p_value=word.p_value, smallest_difference=word.smallest,
        steady_runs=steady.steady, unsteady_runs=steady.unsteady, drifting_runs=steady.drifting,
        move_alike=steady.move_alike if steady.moved else None, short_runs=steady.short, flags=flagged,
        outlier_rounds=tuple(list(rates)[index] for index in stats.outliers(list(rates.values()))),
        workers=len(runs[0].workers) if runs else 0, mode=_fact(runs, "mode"), phases=phases,
        step_seconds=seconds, step_interval=step.interval, repeated_runs=sum(bool(run.repeats) for run in runs),
        disturbed_runs=sum(run.is_disturbed for run in runs),
        communication=_fact(runs, "communication") if phases else None,
        stamping_cost=seconds / plain_seconds - 1 if phases and seconds and plain_seconds else None,
        place_peaks=_place_peaks(runs),
        weights_agree=all(len(set(run.digests.values())) == 1 for run in runs if run.digests)
        if any(len(run.digests) > 1 for run in runs) else None,
        first_step_seconds=middle(runs, lambda run: _first_step_seconds(row.cell, run)),
        compile_seconds=middle(runs, lambda run: run.compiled.seconds if run.compiled else None),
        compiled_programs=_rounded(middle(runs, lambda run: run.compiled.programs if run.compiled else None)),
        load_share=middle(runs, _load_share),
        loss_first=middle(runs, lambda run: _loss(run, 0)),
        loss_last=middle(runs, lambda run: _loss(run, -1)),
        accuracy=middle(runs, lambda run: run.accuracy), peak_bytes=_most_of_one_node(runs, "peak_bytes"),
        parameters=parameters[0] if parameters else None,
        tokens_per_second=tokens.value, tokens_interval=tokens.interval,
        padded_tokens_per_second=padded.value, padded_tokens_interval=padded.interval,
        gpu_watts=middle(runs, quantities.watts),
        joules_per_sample=middle(runs, lambda run: _joules(row.cell.batch, run, quantities.watts(run))),
        cpu_watts=middle(runs, _cpu_watts),
        cpu_joules_per_sample=middle(runs, lambda run: _joules(row.cell.batch, run, _cpu_watts(run))),
        gpu_sm_clock=middle(runs, lambda run: run.after.get("gpu_sm_clock")),
        gpu_peak_bytes=_most_of_one_node(runs, "gpu_allocated_bytes"),
        epochs=max((len(run.epochs) for run in runs if run.epochs), default=None),
        places_peak_bytes=_rounded(middle(runs, _places_peak_bytes)), ran_precision=_fact(runs, "precision"),
        **{field: middle(runs, lambda run, name=name: quantities.of(name, row, run))  # type: ignore[misc]
           for field, name in _OF_EPOCHS.items()},
    )


def _skipped_result(cell: Cell) -> Result:
    return Result(
        stack=cell.stack, key=key(cell), endings={"skipped": 1}, rate_per_worker=None, rate_interval=None, ratio=None,
        ratio_interval=None, pairs=0, verdict=Verdict.NO_DATA, flags=(), outlier_rounds=(), workers=0, mode=None,
        step_seconds=None, phases={}, communication=None, stamping_cost=None, place_peaks={}, weights_agree=None,
        first_step_seconds=None,
        load_share=None, loss_first=None, loss_last=None, accuracy=None, peak_bytes=None, parameters=None,
    )


class _Typical(NamedTuple):
    """A number over all runs, as a rate is: the geometric mean with its interval."""

    value: float | None
    interval: Interval | None


def _typical(runs: Sequence[Run], of: Callable[[Run], float | None]) -> _Typical:
    """The geometric mean over the runs that have the value, with its interval: the statistic of rates."""
    values = [value for value in map(of, runs) if value]
    return _Typical(stats.geometric_mean(values), stats.interval(values))


def _first_step_seconds(cell: Cell, run: Run) -> float | None:
    is_waited = cell.sync != "end" or cell.warm == "steady"        # for each step of the warm-up
    if not is_waited or not len(run.first.warmup_seconds):
        return None                        # with sync=end no single step is waited for
    return float(run.first.warmup_seconds[0])


def _loss(run: Run, index: int) -> float | None:
    return float(run.first.losses[index]) if len(run.first.losses) else None


def _fact(runs: Sequence[Run], name: str) -> str | None:
    return next((str(run.facts[name]) for run in runs if name in run.facts), None)


def _phases(row: Row) -> dict[str, float]:
    if row.cell.measure != "phases":
        return {}
    medians = {name: middle(row.ok_runs, lambda run, name=name: run.phase_seconds(name))  # type: ignore[misc]
             for name in quantities.PHASES}
    return {name: seconds for name, seconds in medians.items() if seconds is not None}


def _place_peaks(runs: Sequence[Run]) -> dict[str, int]:
    peaks = [quantities.place_peaks(run) for run in runs]
    names = sorted({name for of_run in peaks for name in of_run})
    return {name: round(stats.median([of_run[name] for of_run in peaks if name in of_run]) or 0) for name in names}


def _load_share(run: Run) -> float | None:
    load, step = run.phase_seconds("load"), step_seconds(run)
    return load / step if load is not None and step else None


def _tokens_per_second(run: Run, name: str) -> float | None:
    """The tokens a second; None for data that are no sequences."""
    data = run.facts.get("data")
    count = data.get(name) if isinstance(data, dict) else None
    if isinstance(count, bool) or not isinstance(count, int | float):
        return None
    seconds = step_seconds(run)
    return count / seconds if seconds else None


def _cpu_watts(run: Run) -> float | None:
    return run.after.get("cpu_watts")


def _joules(batch: int, run: Run, watts: float | None) -> float | None:
    """The energy of a sample: watts over samples a second."""
    rate = None if watts is None else rate_per_worker(batch, run)
    return watts / (rate * len(run.workers)) if watts is not None and rate else None


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)


def _places_peak_bytes(run: Run) -> float | None:
    """The peak of all nodes together; None of a run on one."""
    return quantities.peak_bytes(run) if quantities.place_peaks(run) else None


def _most_of_one_node(runs: Sequence[Run], name: str) -> int | None:
    """The bytes that runs on one node used at most, by that name; None of runs on many."""
    return _rounded(middle(runs, lambda run: None if run.usage else run.after.get(name)))


def _column(name: str, measured: Measurements) -> Column:
    """A stack as its first run reported it."""
    runs = [run for row in measured.rows if row.cell.stack == name for run in row.runs]
    facts: Facts = next((run.facts for run in runs if run.facts), {})
    environment: Facts = next((run.place for run in runs if run.place), {})
    return Column(stack=name,
                  **{field: facts.get(field) for field in ("framework", "version", "python", "onednn", "threads")},
                  **{field: environment.get(field) for field in ("isolation", "image", "base", "base_is_default")})


def _data(measured: Measurements) -> tuple[Data, ...]:
    data_sets: dict[tuple[Any, ...], Facts] = {}
    for row in measured.rows:
        for run in row.runs:
            facts = run.facts.get("data")
            if isinstance(facts, dict) and facts.get("name") is not None:
                data_sets[tuple(facts.get(name) for name in ("name", "images", "sha256"))] = facts
    return tuple(Data(name=facts["name"], images=facts.get("images"), is_stand_in=facts.get("stand_in") is True,
                      sha256=facts.get("sha256"))
                 for facts in data_sets.values())


_NOT_TOLD = (Verdict.NOT_STEADY, Verdict.TOO_SHORT)


def _geometric_means(comparisons: Sequence[Comparison], names: Sequence[str], baseline: str
                     ) -> tuple[GeometricMean, ...]:
    """A mean for each measure and lane, over the comparisons in which every stack was steady and has a ratio."""
    others = _others(names, baseline)
    by_lane: dict[tuple[str, bool], list[dict[str, float]]] = {}
    for comparison in comparisons:
        ratios = {result.stack: result.ratio for result in comparison.results if result.ratio is not None}
        is_steady = not any(result.verdict in _NOT_TOLD for result in comparison.results)
        if others and is_steady and all(name in ratios for name in others):
            by_lane.setdefault((comparison.measure, comparison.is_tuned), []).append(ratios)
    return tuple(
        GeometricMean(measure=measure, comparisons=len(rows), is_tuned=is_tuned,
                      ratios={name: stats.geometric_mean([ratios[name] for ratios in rows]) for name in others})
        for (measure, is_tuned), rows in by_lane.items() if len(rows) > 1
    )


def _failures(measured: Measurements) -> tuple[Failure, ...]:
    return tuple(
        Failure(run=run.name, stack=row.cell.stack, label=row.comparison.label, round=run.round, ending=run.ending,
                message=run.message)
        for row in measured.rows for run in row.runs if run.ending != "ok"
    )


def _footnotes(comparisons: Iterable[Comparison]) -> tuple[Footnote, ...]:
    used = {flag for comparison in comparisons for result in comparison.results for flag in result.flags}
    return tuple(Footnote(flag=flag, text=FOOTNOTES[flag]) for flag in Flag if flag in used)
