"""How fast the stacks of an experiment are: charts and a table. Pure."""

from collections.abc import Iterator, Sequence

from runner import formatting
from runner.analysis.stats import Verdict
from runner.analysis.summary_format import Comparison, Result, Summary
from runner.report import claim_text
from runner.report.comparisons import Given, Shown, cut, endings, fitting, without_empty
from runner.report.document import Chart, Curve, Curves, Dots, Group, Mark, Table

_MOST_CURVE_CHARTS = 4
_LEAST_POINTS = 3              # of a curve; fewer are read better as single values
_OVER = ("batch", "image", "length", "hidden", "nodes", "cpus", "gpus", "epochs", "steps")
_UNITS = {"image": "pixels", "batch": "samples a step"}


def charts(given: Given, compared: Sequence[Shown]) -> Iterator[Chart]:
    """Curves over a number that the experiment varies, else a mark a stack."""
    timed = [shown for shown in compared if shown.comparison.measure != "phases"
             and any(result.rate_per_worker is not None for result in shown.results)]
    field = _varied(timed)
    if field:
        yield from _rate_curves(given, timed, field)
        return
    groups = [(shown.label, tuple(_rate_mark(given, result) for result in shown.results
                                  if result.rate_per_worker is not None)) for shown in timed]
    if groups:
        kept = fitting(groups)
        yield Dots("Samples a second of one worker, with 95 % intervals over runs" + cut(len(kept), len(groups)),
                   "samples/s", kept)


def _rate_mark(given: Given, result: Result) -> Mark:
    interval = result.rate_interval
    value = result.rate_per_worker or 0.0
    return Mark(result.stack, given.series.get(result.stack, 0), value, interval.low if interval else None,
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
    found: dict[tuple[object, ...], list[Shown]] = {}
    for shown in timed:
        rest = tuple(value for name, value in shown.comparison.settings.items() if name != field)
        found.setdefault(rest, []).append(shown)
    return list(found.values())


def _rate_curves(given: Given, timed: Sequence[Shown], field: str) -> Iterator[Chart]:
    for panel in _panels(timed, field):
        first = panel[0].comparison.settings
        yield Curves(f"{first['task']} {first['measure']}: samples a second of one worker by {field}, "
                     "with 95 % intervals over runs", f"{field} ({_UNITS[field]})" if field in _UNITS else field,
                     "samples/s", tuple(_rate_curve(given, panel, stack, field) for stack in _stacks(panel)))


def _stacks(panel: Sequence[Shown]) -> list[str]:
    return list(dict.fromkeys(result.stack for shown in panel for result in shown.results
                              if result.rate_per_worker is not None))


def _rate_curve(given: Given, panel: Sequence[Shown], stack: str, field: str) -> Curve:
    points = sorted((float(shown.comparison.settings[field]), result.rate_per_worker, result.rate_interval)
                    for shown in panel for result in shown.results
                    if result.stack == stack and result.rate_per_worker is not None)
    has_band = all(interval for _, _, interval in points)
    return Curve(stack, given.series.get(stack, 0), tuple(x for x, _, _ in points), tuple(y for _, y, _ in points),
                 tuple(interval.low for _, _, interval in points if interval) if has_band else (),
                 tuple(interval.high for _, _, interval in points if interval) if has_band else ())


_RATES = ("stack", "samples/s", "to {}", "verdict", "notes", "ok runs", "step", "first step", "input wait",
          "of machine", "peak memory", "loss", "accuracy")


def tables(given: Given, compared: Sequence[Shown]) -> Iterator[Table]:
    """A line a stack and comparison; none where nothing was compared."""
    if compared:
        columns = tuple(column.format(given.summary.baseline) for column in _RATES)
        groups = tuple(Group(shown.label, tuple(_rate_line(given, shown.comparison, result)
                                                for result in shown.results)) for shown in compared)
        yield without_empty(Table("Rates: samples a second of one worker (geometric means), with 95 % intervals over "
                                  "runs", columns, groups))


def machine_limits(summary: Summary) -> list[str]:
    """What a share of the machine is a share of: a line for each device, precision and number of threads."""
    found = []
    for limit in summary.limits:
        threads = formatting.count(limit.cpus, "thread") if limit.device == "cpu" else limit.device_name or "the GPU"
        sheet = f"; its data sheet says {formatting.flops(limit.data_sheet)}" if limit.data_sheet else ""
        found.append(f"Of machine: the FLOPs that steps need a second, over this session's best matrix product in "
                     f"{limit.precision} on {threads}: {formatting.flops(limit.flops_per_second)} "
                     f"by {limit.stack}{sheet}")
    return found


def _rate_line(given: Given, comparison: Comparison, result: Result) -> tuple[str, ...]:
    marks = f"[{','.join(given.marks[flag] for flag in result.flags)}]" if result.flags else ""
    if result.rate_per_worker is None:
        return (result.stack, endings(result.endings), "", "no data", marks, *[""] * 8)
    verdict = " ".join(filter(None, (claim_text.word(comparison, result) or result.verdict.value,
                                     claim_text.smallest(result))))
    loss = (f"{result.loss_first:.3g} to {result.loss_last:.3g}"
            if result.loss_first is not None and result.loss_last is not None else "")
    seen = [(result.step_seconds, formatting.milliseconds), (result.first_step_seconds, formatting.seconds),
            (result.load_share, formatting.share), (result.machine_share, formatting.share),
            (result.peak_bytes, formatting.size)]
    return (result.stack, formatting.rate(result.rate_per_worker, result.rate_interval),
            "1" if result.verdict is Verdict.BASELINE else
            "" if result.ratio is None else formatting.ratio(result.ratio, result.ratio_interval), verdict, marks,
            f"{result.endings.get('ok', 0)} of {given.summary.rounds}",
            *("" if value is None else shown(value) for value, shown in seen),
            loss, "" if result.accuracy is None else formatting.share(result.accuracy))
