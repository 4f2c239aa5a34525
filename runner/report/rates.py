"""How fast the stacks of an experiment are: charts and tables. Pure."""

from collections.abc import Iterator, Sequence

from runner import formatting
from runner.analysis.summary_format import Result, Summary
from runner.report.columns import (
    BESIDE,
    ENERGY,
    EPOCHS,
    RATES,
    RESULTS,
    SEQUENCES,
    Column,
    Form,
    Line,
    of,
    table,
    with_any,
)
from runner.report.comparisons import Context, Shown, cut, fitting
from runner.report.document import Chart, Curve, Curves, Dots, Mark, Table

_MOST_CURVE_CHARTS = 4
_LEAST_POINTS = 3              # of a curve; fewer are read better as single values
_OVER = ("batch", "image", "length", "hidden", "nodes", "cpus", "gpus", "epochs", "steps")
_UNITS = {"image": "pixels", "batch": "samples a step"}


def charts(context: Context, compared: Sequence[Shown]) -> Iterator[Chart]:
    """Curves over a number that the experiment varies, else a mark a stack."""
    timed = [shown for shown in compared if shown.comparison.measure != "phases"
             and any(result.rate_per_worker is not None for result in shown.results)]
    field = _varied(timed)
    if field:
        yield from _rate_curves(context, timed, field)
        return
    groups = [(shown.label, tuple(_rate_mark(context, result) for result in shown.results
                                  if result.rate_per_worker is not None)) for shown in timed]
    if groups:
        kept = fitting(groups)
        yield Dots("Samples a second of one worker, with 95 % intervals over runs" + cut(len(kept), len(groups)),
                   "samples/s", kept)


def _rate_mark(context: Context, result: Result) -> Mark:
    interval = result.rate_interval
    value = result.rate_per_worker or 0.0
    return Mark(result.stack, context.series.get(result.stack, 0), value, interval.low if interval else None,
                interval.high if interval else None, formatting.number(value) + "/s")


def _varied(timed: Sequence[Shown]) -> str | None:
    """The cell field that the experiment varies along, where it has enough values for a curve."""
    values = {name: {shown.comparison.settings[name] for shown in timed if name in shown.comparison.settings}
              for name in _OVER}
    name = max(_OVER, key=lambda name: len(values[name])) if timed else ""
    return name if name and len(values[name]) >= _LEAST_POINTS and len(
        _panels(timed, name)) <= _MOST_CURVE_CHARTS else None


def _panels(timed: Sequence[Shown], field: str) -> list[list[Shown]]:
    """Comparisons that differ in nothing but the field."""
    panels: dict[tuple[object, ...], list[Shown]] = {}
    for shown in timed:
        rest = tuple(value for name, value in shown.comparison.settings.items() if name != field)
        panels.setdefault(rest, []).append(shown)
    return list(panels.values())


def _rate_curves(context: Context, timed: Sequence[Shown], field: str) -> Iterator[Chart]:
    for panel in _panels(timed, field):
        first = panel[0].comparison.settings
        yield Curves(f"{first['task']} {first['measure']}: samples a second of one worker by {field}, "
                     "with 95 % intervals over runs", f"{field} ({_UNITS[field]})" if field in _UNITS else field,
                     "samples/s", tuple(_rate_curve(context, panel, stack, field) for stack in _stacks(panel)))


def _stacks(panel: Sequence[Shown]) -> list[str]:
    return list(dict.fromkeys(result.stack for shown in panel for result in shown.results
                              if result.rate_per_worker is not None))


def _rate_curve(context: Context, panel: Sequence[Shown], stack: str, field: str) -> Curve:
    points = sorted((float(shown.comparison.settings[field]), result.rate_per_worker, result.rate_interval)
                    for shown in panel for result in shown.results
                    if result.stack == stack and result.rate_per_worker is not None)
    has_band = all(interval for _, _, interval in points)
    return Curve(stack, context.series.get(stack, 0), tuple(x for x, _, _ in points), tuple(y for _, y, _ in points),
                 tuple(interval.low for _, _, interval in points if interval) if has_band else (),
                 tuple(interval.high for _, _, interval in points if interval) if has_band else ())


# caption and note of each table, and the parts of columns.RESULTS that it has
_TABLES = (
    ("Rates: samples a second of one worker, and the time of a step (geometric means), with 95 % intervals over runs",
     "First step, input wait, memory, loss and accuracy: medians over runs.", (RATES, BESIDE)),
    ("Tokens or time steps a second of one worker (geometric means), with 95 % intervals over runs", "", (SEQUENCES,)),
    ("Epochs", "Medians over runs; of the epochs after the first, the mean of each run.", (EPOCHS,)),
    ("What GPUs and CPU packages drew over the timed steps", "Medians over runs. A CPU package's power is that of "
     "all that it does, for this run and others.", (ENERGY,)),
)


def tables(summary: Summary, compared: Sequence[Shown], form: Form, results: Sequence[Column[Line]] = RESULTS,
           ) -> Iterator[Table]:
    """A line a stack and comparison; of what few sessions have, only the stacks that have it.

    The terminal draws rates in a way of its own, so that its first table has what was measured beside them.
    """
    groups = {shown.label: [Line(summary, shown.comparison, result) for result in shown.results] for shown in compared}
    for caption, note, parts in _TABLES:
        has_rates = RATES in parts and form is not Form.SCREEN
        columns = of(results, form, *(part for part in parts if has_rates or part != RATES))
        lines = groups if has_rates else with_any(groups, columns[1:])
        for made in table(caption if has_rates or RATES not in parts else "", columns, lines, form, note):
            titles = tuple(title.replace("{baseline}", summary.baseline) for title in made.columns)
            yield made._replace(columns=titles)


def machine_limits(summary: Summary) -> list[str]:
    """What shares of the machine are shares of: a line a device, precision and number of threads."""
    lines = []
    for limit in summary.limits:
        threads = formatting.count(limit.cpus, "thread") if limit.device == "cpu" else limit.device_name or "the GPU"
        sheet = f"; its data sheet says {formatting.flops(limit.data_sheet)}" if limit.data_sheet else ""
        lines.append(f"Of machine: the FLOPs that steps need a second, over this session's best matrix product in "
                     f"{limit.precision} on {threads}: {formatting.flops(limit.flops_per_second)} "
                     f"by {limit.stack}{sheet}")
    return lines
