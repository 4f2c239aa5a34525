"""How fast the stacks of an experiment are: charts and tables. Pure."""

from collections.abc import Iterator, Sequence

from runner import formatting
from runner.analysis.summary_format import Result, Summary
from runner.report.columns import BESIDE, ENERGY, EPOCHS, RATES, RESULTS, SEQUENCES, Line
from runner.report.comparisons import Context, Shown, cut, fitting
from runner.report.document import Chart, Curve, Curves, Dots, Mark
from runner.report.tables import EVERY, Column, Form, Group, Table, of, table, with_any

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


_CAPTION = ("Rates: samples a second of one worker, and the time of a step (geometric means), with 95 % intervals over "
            "runs")
_NOTE = "First step, input wait, memory, loss and accuracy: medians over runs."
# caption, note and part of columns.RESULTS of what few sessions have
_RARE = (
    ("Tokens or time steps a second of one worker (geometric means), with 95 % intervals over runs", "", SEQUENCES),
    ("Epochs", "Medians over runs; of the epochs after the first, the mean of each run.", EPOCHS),
    ("GPUs and CPU packages", "Medians over runs; power and clock are of the timed steps. A CPU package's power is "
     "that of all that it does, for this run and others; GPU memory is the most that the framework held, searches "
     "for algorithms included.", ENERGY),
)


def results(summary: Summary, compared: Sequence[Shown], columns: Sequence[Column[Line]] = RESULTS) -> Table[Line]:
    """A line a stack and comparison, with every column of every form."""
    titled = (column._replace(title=column.title.replace("{baseline}", summary.baseline)) for column in columns)
    return Table(_CAPTION, tuple(titled), tuple(
        Group(shown.label, tuple(Line(summary, shown.comparison, result) for result in shown.results))
        for shown in compared), _NOTE)


def of_parts(results: Table[Line], *parts: str) -> Table[Line]:
    """The table with the columns of those parts alone."""
    return results._replace(columns=tuple(column for column in results.columns if column.part in (EVERY, *parts)))


def tables(results: Table[Line]) -> Iterator[Table[Line]]:
    """Rates with what was measured beside them, then what few sessions have."""
    if results.groups:
        yield of_parts(results, RATES, BESIDE)
    yield from _of_those_that_have_it(results, _RARE)


def beside(results: Table[Line]) -> Iterator[Table[Line]]:
    """The same without the rates, for a form that has those in a table of their own."""
    yield from _of_those_that_have_it(results, (("", _NOTE, BESIDE), *_RARE))


def _of_those_that_have_it(results: Table[Line], rows: Sequence[tuple[str, str, str]]) -> Iterator[Table[Line]]:
    """A table for each caption, note and part, with the stacks that have a value in it."""
    for caption, note, part in rows:
        columns = of_parts(results, part).columns
        yield from table(caption, columns, with_any(results.groups, of(columns, Form.PAGE)[1:]), note)


def machine_limits(summary: Summary) -> list[str]:
    """The best matrix product behind "of machine": a line for each device, precision and number of threads."""
    lines = []
    for limit in summary.limits:
        threads = formatting.count(limit.cpus, "thread") if limit.device == "cpu" else limit.device_name or "the GPU"
        sheet = f"; its data sheet says {formatting.flops(limit.data_sheet)}" if limit.data_sheet else ""
        lines.append(f"Of machine: the FLOPs that steps need a second, over this session's best matrix product in "
                     f"{limit.precision} on {threads}: {formatting.flops(limit.flops_per_second)} "
                     f"by {limit.stack}{sheet}")
    return lines
