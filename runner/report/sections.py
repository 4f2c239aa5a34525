"""The experiments of a study as sections: their charts and tables. Pure."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from runner import formatting
from runner.analysis.summary_format import Comparison, Result
from runner.report import breakdown, figures, rates
from runner.report.claims import beside_ours
from runner.report.columns import endings
from runner.report.comparisons import Context
from runner.report.document import Chart, Section
from runner.report.series import curves, steps
from runner.report.tables import Table, Texts, plain
from runner.results.records import Experiment
from runner.results.rows import Row
from workloads.spec import measures


def sections(context: Context) -> Iterator[Section]:
    """A section an experiment, in the study's order; then the published numbers that none of them is about."""
    numbers = beside_ours.by_experiment(context.summary, context.measured)
    for experiment in context.measured.experiments:
        yield _section(context, experiment, numbers.pop(experiment.id, ()))
    if rest := tuple(itertools.chain.from_iterable(numbers.values())):
        yield Section("published", "Published numbers of no experiment here", (), (), (),
                      tuple(beside_ours.tables(rest)))


def _section(context: Context, experiment: Experiment, numbers: beside_ours.Numbers) -> Section:
    keys = set(experiment.cells)
    rows = [row for row in context.measured.rows if row.key in keys]
    summary, profiled = context.summary, breakdown.of_rows(context.summary.operators, rows)
    own = ((each, tuple(result for result in each.results if result.key in keys)) for each in summary.comparisons)
    compared = [each.model_copy(update={"results": results}) for each, results in own if results]
    results = {result.key: result for each in compared for result in each.results}
    drawn = figures.of_experiment(context, experiment, rows, results, numbers)
    learned = curves.charts(rows, context.series, numbers) if not drawn.shows or drawn.shows & figures.LEARNED else ()
    is_drawn = bool(drawn.charts or (drawn.shows and drawn.shows.isdisjoint(figures.RATES)))
    charts = [*drawn.charts, *beside_ours.charts([each for each in numbers if each.id not in drawn.numbers]),
              *curves.step_charts(rows, context.measured.baseline, context.series),
              *_by_comparison(context, compared, rows, results, is_drawn),
              *breakdown.phase_charts(compared), *breakdown.operator_charts(context, profiled),
              *breakdown.kernel_charts(breakdown.of_rows(summary.kernels, rows)), *learned]
    own_lanes = [each for each in summary.lanes if each.tuned in {other.key for other in compared}]
    tables = [*beside_ours.tables(numbers), *rates.tables(rates.results(summary, compared)), *rates.lanes(own_lanes),
              *breakdown.tables(summary, compared, rows), *_others(rows, context.measured.session_of),
              *breakdown.own_names(profiled)]
    return Section(experiment.id, experiment.title, tuple(_notes(context, experiment, rows)),
                   tuple(sorted(experiment.assumed.items())), tuple(charts), tuple(tables))


def _by_comparison(context: Context, compared: Sequence[Comparison], rows: Sequence[Row], results: Mapping[str, Result],
                   is_drawn: bool) -> Iterator[Chart]:
    """Of each comparison its rates and its steps over time; only these of the first where a figure has the rates."""
    over_time = dict(steps.charts(rows, results, context.series))
    for each in compared[:steps.MOST_CHARTS] if not is_drawn else ():
        yield from rates.bars(context, each)
        if each.key in over_time:
            yield over_time.pop(each.key)
    yield from over_time.values()


def _notes(context: Context, experiment: Experiment, rows: Sequence[Row]) -> Iterator[str]:
    if experiment.scaled:
        yield f'Scale "{context.summary.scale}" changes: {"; ".join(experiment.scaled)}.'
    shared = sorted({row.experiment for row in rows} - {experiment.id})
    if shared:
        yield f"Shares measurements with {', '.join(shared)}."
    skipped = [skip for skip in context.summary.skipped if skip.experiment == experiment.id]
    reasons = dict.fromkeys(f"{skip.stack}: {skip.reason}" for skip in skipped)
    if skipped and not rows:
        yield f"Nothing of it could run here. {'; '.join(reasons)}."
    elif skipped:
        yield f"Left out: {formatting.count(len(skipped), 'cell')}. {'; '.join(reasons)}."
    if rows and not any(row.runs for row in rows):
        yield "No run of it has ended yet."


def _others(rows: Sequence[Row], session_of: Callable[[str], str]) -> list[Table[Texts]]:
    """Cells that have no table above."""
    return plain("Runs without a rate", ("stack", "what", "ended", "again"), [
        (row.cell.stack, row.comparison.label, endings(Counter(run.ending for run in row.runs)),
         formatting.rerun(session_of(row.key), row.key)) for row in rows
        if row.cell.measure in measures.BESIDE or (row.cell.measure in measures.PROFILES and not row.ok_runs)])
