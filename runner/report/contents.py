"""A Summary and its measurements to a Report: what it says, in which order. Pure."""

import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from runner import formatting
from runner.analysis.summary_format import Failure, JudgedClaim, PaperClaim, Skip, Summary
from runner.grouping import grouped
from runner.report import breakdown, columns, environment, figures, rates, within_run
from runner.report.answer import answer, flagged
from runner.report.claims import beside_ours, wording
from runner.report.deviations import deviations, is_published
from runner.report.document import Answer, Chart, Report, Section, Standing
from runner.report.tables import Column, Form, Groups, Table, Texts, plain, table, texts
from runner.results.records import Experiment
from runner.results.rows import Measurements, Row, recorded
from runner.study import claims
from workloads.spec import measures

_OF_A_PAPER = ("What holds here holds on this machine, with these versions and sizes. It is no reproduction on the "
               "study's own hardware, and what does not hold here may hold there.")
_OF_OURS = "Rates, ratios and verdicts are of this machine, with these versions and sizes."


def report(summary: Summary, measured: Measurements) -> Report:
    """All that is to be written."""
    stacks = sorted({*(row.cell.stack for row in measured.rows), *(skip.cell.stack for skip in measured.skipped)})
    ordered = dict.fromkeys([*(column.stack for column in summary.columns), *stacks])      # the baseline first
    series, argv = {name: number for number, name in enumerate(ordered)}, measured.session.get("argv")
    found = answer(summary)
    results = rates.results(summary, summary.comparisons)
    return Report(
        name=summary.id, title=f"{summary.study}: {measured.title}" if measured.title else summary.study,
        machine=environment.machine(summary.machine, recorded(measured.session, "hardware")),
        began=summary.began or "an unknown time",
        command=shlex.join(["evenbench", *map(str, argv if isinstance(argv, list) else [])]),
        reading=_OF_A_PAPER if is_published(summary) else _OF_OURS,
        deviations=tuple(deviations(summary, measured, found.missing)),
        in_short=tuple(_in_short(summary, found)), claims=(*_index(measured), *_claims(summary)),
        sections=tuple(_sections(summary, measured, series)),
        environment=tuple(environment.tables(summary, measured)),
        left_out=(*_failed(summary.failures, measured.session_of), *_skipped(summary.skipped)),
        footnotes=tuple(_footnotes(summary)),
        methods=tuple((name.replace("_", " "), str(text)) for name, text in summary.methods.items()),
        made_by=f"evenbench {summary.evenbench}" if summary.evenbench else "evenbench", results=results,
        details=tuple(_details(summary, measured, results)),
        limits=tuple(rates.machine_limits(summary)),
        guide=" ".join(wording.reading(summary)) if summary.comparisons else "",
        answer=found, ratios=tuple(rates.ratios(found, series)), matrix=tuple(rates.matrix(found)),
    )


def _footnotes(summary: Summary) -> Iterator[tuple[str, str]]:
    """Number and text of each note, with the stacks that it holds for."""
    stacks_of = flagged(summary)
    for number, note in enumerate(summary.footnotes, 1):
        stacks = stacks_of.get(note.flag, ())
        whose = "all stacks" if len(stacks) == len(summary.columns) > 1 else ", ".join(stacks)
        yield f"[{number}]", f"{note.text} ({whose})" if whose else note.text


def _details(summary: Summary, measured: Measurements, results: Table[Standing]) -> Iterator[Table[Any]]:
    """Published numbers, rates and what was measured beside them, breakdowns: of all experiments as one."""
    yield from table(f"What {summary.study} published, and the same here", beside_ours.NUMBERS, {"": summary.published},
                     beside_ours.NOTE)
    yield from rates.tables(results)
    yield from rates.lanes(summary.lanes)
    yield from breakdown.tables(summary, summary.comparisons, measured.rows)
    yield from table("Measured again by", texts("stack", "command"), columns.commands(summary))


def _in_short(summary: Summary, found: Answer) -> Iterator[str]:
    """What the claims came to, and who won how often."""
    if summary.paper_claims:
        verdicts = [claim.verdict for claim in summary.paper_claims]
        yield f"{formatting.count(len(verdicts), 'claim')}: {_tally(verdicts)}."
    if count := sum(map(wording.is_on_a_cpu, summary.claims)):
        yield (f"{formatting.count(count, 'verdict')} on a CPU: the paper speaks of a GPU there, and what holds on one "
               "need not hold on the other.")
    if found.blocks:
        yield f"{found.verdict}."


# ---- experiments

def _sections(summary: Summary, measured: Measurements, series: Mapping[str, int]) -> Iterator[Section]:
    """A section an experiment, in the order of its paper's figures; then the published numbers of none of them."""
    numbers = beside_ours.by_experiment(summary, measured)
    places = [place.get("experiment") for place in measured.index]
    for each in sorted(measured.experiments, key=lambda one: (
            places.index(one.id) if one.id in places else len(places))):
        yield _section(summary, measured, series, each, numbers.pop(each.id, ()))
    if rest := tuple(itertools.chain.from_iterable(numbers.values())):
        yield Section("published", "Published numbers of no experiment here", tables=tuple(beside_ours.tables(rest)))


def _section(summary: Summary, measured: Measurements, series: Mapping[str, int], experiment: Experiment,
             numbers: beside_ours.Numbers) -> Section:
    keys = set(experiment.cells)
    rows = [row for row in measured.rows if row.key in keys]
    own = ((each, tuple(result for result in each.results if result.key in keys)) for each in summary.comparisons)
    compared = [each.model_copy(update={"results": results}) for each, results in own if results]
    results = {result.key: result for each in compared for result in each.results}
    lines = rates.results(summary, compared)
    drawn = figures.of_experiment(summary, experiment, rows, results, numbers)
    charts = [*drawn.charts, *beside_ours.charts([each for each in numbers if each.id not in drawn.numbers]),
              *within_run.loss_charts(rows, summary.baseline, series)]
    is_drawn = drawn.charts or (drawn.shows and drawn.shows.isdisjoint(figures.RATES))
    strips = dict(within_run.step_charts(rows, results, series))
    charts += _by_comparison(() if is_drawn else lines.groups, strips, series)
    charts += breakdown.charts(summary, compared, rows, series)
    if not drawn.shows or drawn.shows & figures.LEARNED:
        charts += within_run.learning_charts(rows, series, numbers)
    lanes = [each for each in summary.lanes if each.tuned in {other.key for other in compared}]
    tables = [*beside_ours.tables(numbers), *rates.tables(lines), *rates.lanes(lanes),
              *breakdown.tables(summary, compared, rows), *_others(rows, measured.session_of),
              *breakdown.own_names(summary, rows)]
    return Section(experiment.id, experiment.title, tuple(_notes(summary, measured, experiment, rows)),
                   tuple(sorted(experiment.assumed.items())), tuple(charts), tuple(tables))


def _by_comparison(groups: Groups[Standing], strips: dict[str, Chart], series: Mapping[str, int]
                   ) -> Iterator[Chart]:
    """Of each of the first comparisons its rates and its steps over time, then the steps of others; strips: by key."""
    for _, lines in groups[:within_run.MOST_CHARTS]:
        yield from rates.bars(lines, series)
        if strip := strips.pop(lines[0].comparison.key, None):
            yield strip
    yield from strips.values()


def _notes(summary: Summary, measured: Measurements, experiment: Experiment, rows: Sequence[Row]) -> Iterator[str]:
    if experiment.scaled:
        yield f'Scale "{summary.scale}" changes: {"; ".join(experiment.scaled)}.'
    if shared := sorted({row.experiment for row in rows} - {experiment.id}):
        yield f"Shares measurements with {', '.join(shared)}."
    if skipped := [skip for skip in measured.skipped if skip.experiment == experiment.id]:
        left_out = f"Left out: {formatting.count(len(skipped), 'cell')}." if rows else "Nothing of it ran."
        yield f"{left_out} {formatting.reasons(skipped)}."
    if rows and not any(row.runs for row in rows):
        yield "No run of it has ended yet."


def _others(rows: Sequence[Row], session_of: Callable[[str], str]) -> list[Table[Texts]]:
    """Cells that have no table above."""
    return plain("Runs without a rate", ("stack", "what", "ended", "again"), [
        (row.cell.stack, row.comparison.label, columns.endings(Counter(run.ending for run in row.runs)),
         formatting.rerun(session_of(row.key), row.key)) for row in rows
        if row.cell.measure in measures.BESIDE or (row.cell.measure in measures.PROFILES and not row.ok_runs)])


# ---- the paper's figures, tables and claims

def _index(measured: Measurements) -> list[Table[Any]]:
    """The paper's figures and tables by its own numbers, and what of each was measured here."""
    return plain("Figures and tables of the paper", ("figure", "title", "experiment", "here"), [
        (str(place["number"]), str(place["title"]), str(place.get("experiment", "")),
         "; ".join(filter(None, [_measured(measured, str(place.get("experiment", ""))), str(place.get("why", ""))])))
        for place in measured.index])


def _measured(measured: Measurements, experiment: str) -> str:
    """How many of an experiment's cells have a result, and why the others are left out."""
    if not experiment:
        return ""
    own = measured.of(experiment)
    reasons = formatting.reasons(own.skipped)
    if not own.rows:
        return reasons or "not in this session"
    done = sum(bool(row.ok_runs) for row in own.rows)
    return f"{done} of {formatting.count(len(own.rows) + len(own.skipped), 'cell')}" + (reasons and f": {reasons}")


def _claims(summary: Summary) -> Iterator[Table[Any]]:
    """What the runs say something of, and apart from these, where there are any, what they say nothing of."""
    judged, without = ([claim for claim in summary.claims if (claim.verdict is claims.Verdict.NO_DATA) is is_without]
                       for is_without in (False, True))
    yield from table(f"Claims of {summary.study}, on this machine", beside_ours.CLAIMS, {"": judged or without},
                     wording.HOW_CLAIMS_ARE_JUDGED,
                     tally=_tally([claim.verdict for claim in summary.claims], with_none=True))
    if judged and without:
        yield from table("Claims without data here", beside_ours.CLAIMS, {"": without}, is_extra=True)
    if len(summary.paper_claims) < len(summary.claims):
        yield from table("The paper's own claims, of which those above are parts", _of_paper(summary.claims),
                         {"": summary.paper_claims}, tally=_tally([claim.verdict for claim in summary.paper_claims]))
    yield from _numbers(summary.claims)


def _of_paper(judged: Sequence[JudgedClaim]) -> tuple[Column[PaperClaim], ...]:
    """The columns of the paper's own claims, of which the judged ones are parts."""
    by_id = {claim.id: claim for claim in judged}
    return (Column("claim", attrgetter("id")),
            Column("verdict", lambda claim: wording.verdict(claim, [by_id[part] for part in claim.parts])),
            Column("parts", lambda claim: ", ".join(claim.parts), forms=Form.PAGE),
            Column("its parts", lambda claim: _tally([by_id[part].verdict for part in claim.parts]),
                   forms=Form.SCREEN))


def _tally(verdicts: Sequence[claims.Verdict], with_none: bool = False) -> str:
    """The number of each verdict."""
    counts = {verdict: verdicts.count(verdict) for verdict in claims.Verdict}
    return ", ".join(f"{verdict.value} {count}" for verdict, count in counts.items() if count or with_none)


def _numbers(claims: Sequence[JudgedClaim]) -> Iterator[Table[Any]]:
    """The numbers of all claims, and the cells that they miss."""
    yield from table("The claims' numbers", texts("of", "case", "here", "rounds", "allowed", "verdict"), {
        f"{claim.id}: {claim.text}": [(
            number.what, ", ".join(f"{name} {value}" for name, value in number.case.items()),
            wording.amount(claim, number.value, number.interval), str(number.rounds), wording.allowed(number),
            wording.said(number.verdict, f": {number.reason}" if number.reason else ""))
            for number in claim.numbers] for claim in claims}, is_extra=True)
    yield from plain("What claims miss", ("claim", "cell and reason"), [
        (claim.id, why) for claim in claims for why in claim.missing], is_extra=True)


# ---- what has no result, and what stands out

_LONGEST_MESSAGE = 300         # of a failed run; all of it stands in events.jsonl


def _failed(failures: Sequence[Failure], session_of: Callable[[str], str]) -> list[Table[Any]]:
    """Runs that failed alike are one line, and so are all cells that a stack does not support."""
    def alike(failure: Failure) -> Texts:
        cell = "" if failure.ending == "unsupported" else failure.label
        message = failure.message[:_LONGEST_MESSAGE] + "…" * (len(failure.message) > _LONGEST_MESSAGE)
        return failure.stack, cell, failure.ending, message

    titles = texts("stack", "what", "ended", "rounds", "message", "what it wrote", on_page_alone="what it wrote")
    return table("Runs that did not end ok", titles, {"": [
        (stack, _cells(list(dict.fromkeys(one.label for one in runs))), ending,
         ", ".join(map(str, sorted({one.round for one in runs}))), message,
         formatting.show(session_of(runs[0].run.partition(".")[0]), runs[0].run))
        for (stack, _, ending, message), runs in grouped(failures, alike).items()]})


def _skipped(skips: Sequence[Skip]) -> list[Table[Any]]:
    """Skipped cells of one stack and reason are one line."""
    return table("Skipped", texts("experiment", "stack", "cells", "reason", on_page_alone="experiment"), {"": [
        (", ".join(dict.fromkeys(one.experiment for one in cells)), stack, _cells([one.label for one in cells]), reason)
        for (stack, reason), cells in grouped(skips, lambda skip: (skip.stack, skip.reason)).items()]})


def _cells(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else formatting.count(len(labels), "cell")
