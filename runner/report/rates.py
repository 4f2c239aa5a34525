"""How fast the stacks of an experiment are: charts and tables. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from runner import formatting
from runner.analysis.summary_format import Result, Summary
from runner.report.columns import BESIDE, ENERGY, EPOCHS, RATES, RESULTS, SEQUENCES, Line
from runner.report.comparisons import SWITCHES, Context, Shown, cut, fitting
from runner.report.document import Answer, Chart, Curve, Curves, Dots, Mark, Standing
from runner.report.tables import EVERY, Column, Form, Group, Table, of, table, with_any
from runner.study.subjects import Value

_MOST_PANELS = 25              # of a figure: patel's five models at five sizes
_LEAST_POINTS = 3              # of a curve; fewer are read better as single values
_OVER = ("batch", "image", "length", "hidden", "nodes", "cpus", "gpus", "epochs", "steps")
_UNITS = {"image": "pixels", "batch": "samples a step"}


class _Point(NamedTuple):
    """A result with the settings that it was measured in, and its sign's and curve's name."""

    settings: Mapping[str, Value]
    result: Result
    name: str


class _Figure(NamedTuple):
    """How a figure is drawn: the field along the axis, and those over whose values it shows means."""

    field: str
    averaged: tuple[str, ...] = ()


def charts(context: Context, compared: Sequence[Shown], experiment: str = "") -> Iterator[Chart]:
    """Curves over a number that the experiment varies, a panel for all else that it varies; none where it varies none.

    The axis and the averages are the paper's, where a claim on the experiment says that it shows averages.
    """
    timed = [shown for shown in compared if shown.comparison.measure != "phases"
             and any(result.rate_per_worker is not None for result in shown.results)]
    points = _points(timed)
    figure = _of_claims(context.summary, experiment) or _varied(points)
    panels = _panels(points, figure) if figure else {}
    if figure and 0 < len(panels) <= _MOST_PANELS and any(
            len({point.settings[figure.field] for point in panel}) >= _LEAST_POINTS for panel in panels.values()):
        signs = {name: index for index, name in enumerate(dict.fromkeys(point.name for point in points))}
        yield from (_panel(panel, title, figure, signs) for title, panel in panels.items())
        return


def bars(context: Context, shown: Shown) -> Iterator[Chart]:
    """A bar a stack of a comparison, the fastest first."""
    block, own = context.blocks.get(shown.comparison.key), {result.stack for result in shown.results}
    if block is None:
        return
    marks = tuple(_mark(each, context.series, each.rate, each.rate_ends, f"{formatting.number(each.rate)}/s")
                  for each in block.standings if each.rate is not None and each.stack in own)
    yield Dots(f"{block.heading}: {block.unit} of one worker, with 95 % intervals over runs", block.unit,
               (("", marks),), is_bars=True)


def _mark(standing: Standing, series: Mapping[str, int], value: float, ends: tuple[float, float] | None, text: str
          ) -> Mark:
    low, high = ends or (None, None)
    return Mark(standing.stack, series.get(standing.stack, 0), value, low, high, text)


def ratios(answer: Answer, series: Mapping[str, int]) -> Iterator[Chart]:
    """The ratios of all comparisons, the fastest stack of each first."""
    groups = [(block.heading, tuple(
        _mark(each, series, each.ratio, each.ends, " ".join(filter(None, [
            each.ratio_text, each.ends_text and f"({each.ends_text})", each.word])))
        for each in block.standings if each.ratio is not None)) for block in answer.blocks]
    groups = [group for group in groups if len(group[1]) > 1]
    if groups:
        kept = fitting(groups)
        yield Dots(f"Times as fast as {answer.baseline}, with the intervals that decide the words"
                   + cut(len(kept), len(groups)), f"times {answer.baseline}, on a logarithmic scale", kept, 1.0)


def _points(timed: Sequence[Shown]) -> list[_Point]:
    """Every result that has a rate; a curve is named after its stack and the switches in which curves differ."""
    told = [name for name in SWITCHES if len({shown.comparison.settings.get(name) for shown in timed}) > 1]
    return [_Point(shown.comparison.settings, result,
                   " ".join([result.stack, *(str(shown.comparison.settings[name]) for name in told)]))
            for shown in timed for result in shown.results if result.rate_per_worker is not None]


def _of_claims(summary: Summary, experiment: str) -> _Figure | None:
    """The figure as a claim on averages in it says that it is."""
    return next((_Figure(fields[0], claim.averaged) for claim in summary.claims if claim.experiment == experiment
                 and claim.averaged and (fields := (*claim.over, *filter(None, [claim.along])))), None)


def _varied(points: Sequence[_Point]) -> _Figure | None:
    """The cell field with the most values that the experiment varies, where it has enough of them for a curve."""
    values = {name: {point.settings.get(name) for point in points} for name in _OVER}
    name = max(_OVER, key=lambda name: len(values[name]))
    return _Figure(name) if len(values[name]) >= _LEAST_POINTS else None


def _panels(points: Sequence[_Point], figure: _Figure) -> dict[str, list[_Point]]:
    """The points of each panel by its title: what is equal in it and not in others."""
    apart = (figure.field, *figure.averaged, *SWITCHES)
    telling = [name for name in points[0].settings if name not in apart
               and len({point.settings[name] for point in points}) > 1] if points else []
    panels: dict[str, list[_Point]] = {}
    for point in points:
        said = (str(point.settings[name]) if isinstance(point.settings[name], str) else
                f"{name} {point.settings[name]}" for name in telling)
        panels.setdefault(", ".join(said) or str(point.settings["task"]), []).append(point)
    return panels


def _panel(panel: Sequence[_Point], title: str, figure: _Figure, signs: Mapping[str, int]) -> Curves:
    field = figure.field
    axis = f"{field} ({_UNITS[field]})" if field in _UNITS else field
    names = dict.fromkeys(point.name for point in panel)
    if figure.averaged:
        return Curves(f"{title}: milliseconds of a step by {field}, means over {' and '.join(figure.averaged)}", axis,
                      "ms", tuple(curve for name in names if (curve := _mean_curve(panel, name, figure, signs)).x))
    return Curves(f"{title} {panel[0].settings['measure']}: samples a second of one worker by {field}, with 95 % "
                  "intervals over runs", axis, "samples/s", tuple(_rate_curve(panel, name, field, signs)
                                                                 for name in names))


def _mean_curve(panel: Sequence[_Point], name: str, figure: _Figure, signs: Mapping[str, int]) -> Curve:
    """Mean seconds of a step at each value of the field that has all combinations of the averaged fields."""
    seconds: dict[float, dict[tuple[Value, ...], float]] = {}
    for point in panel:
        if point.name == name and point.result.step_seconds is not None:
            over = tuple(point.settings[each] for each in figure.averaged)
            seconds.setdefault(float(point.settings[figure.field]), {})[over] = point.result.step_seconds
    most = max(map(len, seconds.values()), default=0)
    means = sorted((x, 1000 * sum(each.values()) / most) for x, each in seconds.items() if len(each) == most)
    return Curve(name, signs[name], tuple(x for x, _ in means), tuple(y for _, y in means))


def _rate_curve(panel: Sequence[_Point], name: str, field: str, signs: Mapping[str, int]) -> Curve:
    points = sorted((float(point.settings[field]), point.result.rate_per_worker or 0.0, point.result.rate_interval)
                    for point in panel if point.name == name)
    has_band = all(interval for _, _, interval in points)
    return Curve(name, signs[name], tuple(x for x, _, _ in points), tuple(y for _, y, _ in points),
                 tuple(interval.low for _, _, interval in points if interval) if has_band else (),
                 tuple(interval.high for _, _, interval in points if interval) if has_band else ())


_CAPTION = ("Rates: samples a second of one worker, and the time of a step (geometric means), with 95 % intervals over "
            "runs")
_BESIDE = ("First step, input wait, memory, loss and accuracy: medians over runs. Loss: at the first and the last "
           "step, warm-up and all, that all stacks of a comparison told in a round.")
# caption, note and part of columns.RESULTS
_TABLES = (
    (_CAPTION, "", RATES), ("Measured beside the rates", _BESIDE, BESIDE),
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
        for shown in compared))


def tables(results: Table[Line]) -> Iterator[Table[Line]]:
    """Rates, what was measured beside them, and what few sessions have: each of the stacks that have a value in it."""
    for caption, note, part in _TABLES:
        columns = tuple(column for column in results.columns if column.part in (EVERY, part))
        told = with_any(results.groups, of(columns, Form.PAGE)[1:])
        yield from table(caption, columns, told, note)


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
