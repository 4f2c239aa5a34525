"""The figures of an experiment as its paper draws them, the paper's own values inside: curves and bars. Pure.

What a figure shows is what claims and published numbers are about: rates where nothing else is, else epochs, shares of
a GPU's time, nodes of a graph, watts. A number that varies is the axis, and all else that does has panels or groups.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from runner.analysis.claims.measured_here import over_runs
from runner.analysis.stats import Interval
from runner.analysis.summary_format import PublishedNumber, Result, Summary
from runner.cells import compared
from runner.grouping import grouped
from runner.report.claims import wording
from runner.report.claims.beside_ours import THEIRS
from runner.report.document import Chart, Curve, Curves, Mark, fitted
from runner.results.records import Experiment
from runner.results.rows import Row
from runner.study import quantities
from runner.study.claims import shown
from runner.study.operators import WORDS
from runner.study.subjects import Value
from workloads.spec import measures
from workloads.spec.cell import CHOICES, Cell

_MOST_PANELS = 25              # of a figure: patel's five models at five sizes
_MOST_ABSOLUTE = 9             # panels; more, of two stacks, are curves of their ratio, a panel a task
_LEAST_POINTS = 3              # of a curve; fewer are read better as single values
_OVER = ("batch", "image", "length", "hidden", "nodes", "cpus", "gpus", "epochs", "steps")
_UNITS = {"image": "pixels", "batch": "samples a step"}
RATES = frozenset({"step", "inference", "first_token", "token"})
LEARNED = frozenset(quantities.OF_SEEDS)
# drawn as phases, operators and learning curves
_ELSEWHERE = LEARNED | {*quantities.PHASES, *WORDS, "parameters"}
# what a figure shows together, where it shows one of them
_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("nodes_removed", *quantities.PASSES), ("removed_expensive", "removed_cheap", "removed_noop"))
# what a paper compares in one panel, each with a curve of its own: PT-profiling, TF mode 1, SGD
SWITCHES = ("conv", "lstm", "graph_opt", "precision", "optimizer", "loop", "parallel")
_EPOCHS = ("first_epoch", "epoch")      # in one chart, where both are asked for
_AXES = {"s": ("seconds", 1.0), "ms": ("milliseconds", 1e3), "%": ("%", 100.0), "count": ("number", 1.0),
         "W": ("watts", 1.0), "bytes": ("MB", 1e-6)}


class _Point(NamedTuple):
    """A value of a cell, and the name of its sign or curve."""

    cell: Cell                   # as it is compared
    row: Row
    name: str
    value: float
    interval: Interval | None = None
    seconds: float = 0.0         # of a step, of rates


class Figures(NamedTuple):
    """The charts of an experiment, and the published numbers that they hold."""

    charts: list[Chart]
    numbers: set[str]
    shows: frozenset[str]        # quantities that claims and published numbers are about; none: any


def of_experiment(summary: Summary, experiment: Experiment, rows: Sequence[Row], results: Mapping[str, Result],
                  numbers: Sequence[PublishedNumber]) -> Figures:
    """All figures of an experiment; results: by the cell's key."""
    found = Figures([], set(), _shown(summary, experiment, numbers))
    if found.shows & RATES or not found.shows:
        found.charts.extend(_of_rates(summary, experiment.id, rows, results, numbers, found.numbers))
    for family in _families(found.shows - _ELSEWHERE - RATES):
        found.charts.extend(_of_quantities(family, rows, numbers, found.numbers))
    return found


def _shown(summary: Summary, experiment: Experiment, numbers: Sequence[PublishedNumber]) -> frozenset[str]:
    """The quantities of the claims on an experiment, or on the figure of its title, and of its published numbers."""
    head = re.compile(rf"\b{re.escape(experiment.title.split(':')[0])}\b")
    claims = (claim for claim in summary.claims if claim.experiment == experiment.id or (
        not claim.experiment and experiment.title and head.search(claim.source)))
    return frozenset([*(claim.quantity for claim in claims), *(number.quantity for number in numbers)])


def _families(shown: frozenset[str]) -> list[tuple[str, ...]]:
    whole = [family for family in _FAMILIES if not shown.isdisjoint(family)]
    epochs = tuple(name for name in _EPOCHS if name in shown)
    held = {*epochs, *(name for family in whole for name in (*family, "arithmetic_dependency"))}
    return [*whole, *filter(None, [epochs]), *((name,) for name in quantities.QUANTITIES if name in shown - held)]


def _varying(cells: Sequence[Cell], names: Sequence[str]) -> list[str]:
    """The fields in which cells of one task differ: what only goes with a task, its name says."""
    tasks = grouped(cells, lambda cell: cell.task).values()
    return [name for name in names if any(len({getattr(cell, name) for cell in alike}) > 1 for alike in tasks)]


def _point(row: Row, told: Sequence[str], value: float, interval: Interval | None = None, seconds: float = 0.0
           ) -> _Point:
    cell = compared(row.cell)
    name = " ".join([cell.stack, *(str(getattr(cell, name)) for name in told)])
    return _Point(cell, row, name, value, interval, seconds)


def _signs(points: Sequence[_Point]) -> dict[str, int]:
    return {name: index for index, name in enumerate(dict.fromkeys(point.name for point in points))}


# ---- rates

def _of_rates(summary: Summary, experiment: str, rows: Sequence[Row], results: Mapping[str, Result],
              numbers: Sequence[PublishedNumber], inside: set[str]) -> Sequence[Chart]:
    """Curves over a number that varies; bars of what differs in switches; nothing of a comparison by itself."""
    timed = [row for row in rows if row.cell.measure in measures.TIMED and row.cell.measure != "phases"
             and row.key in results and results[row.key].rate_per_worker is not None]
    told = _varying([compared(row.cell) for row in timed], SWITCHES)
    points = [_point(row, told, results[row.key].rate_per_worker or 0.0, results[row.key].rate_interval,
                     results[row.key].step_seconds or 0.0) for row in timed]
    # as a claim on averages in the figure says that it is
    field, averaged = next(((fields[0], claim.averaged) for claim in summary.claims
                            if claim.experiment == experiment and claim.averaged
                            and (fields := (*claim.over, *filter(None, [claim.along])))), (_varied(points), ()))
    signs = _signs(points)
    if panels := _panelled(points, field, averaged):
        if len(panels) > _MOST_ABSOLUTE and len(signs) == 2 and not averaged:
            return list(_relative(points, field, summary.baseline))
        return [_rate_panel(panel, title, field, averaged, signs) for title, panel in panels.items()]
    return _switched(points, told, numbers, inside) if told else []


def _varied(points: Sequence[_Point]) -> str:
    """The cell field with the most values that the experiment varies; "" where these are too few for a curve."""
    values = {name: {getattr(point.cell, name) for point in points} for name in _OVER}
    name = max(_OVER, key=lambda name: len(values[name]))
    return name if len(values[name]) >= _LEAST_POINTS else ""


def _panelled(points: Sequence[_Point], field: str, averaged: Sequence[str] = ()) -> dict[str, list[_Point]]:
    """The panels of curves over the field, of means over others; none where they are too many, or all too short."""
    panels = _panels(points, (field, *averaged)) if field else {}
    is_long = any(len({getattr(point.cell, field) for point in panel}) >= _LEAST_POINTS for panel in panels.values())
    return panels if is_long and len(panels) <= _MOST_PANELS else {}


def _panels(points: Sequence[_Point], apart: Sequence[str]) -> dict[str, list[_Point]]:
    """The points of each panel by its title: what is equal in it and not in others, of all but the fields `apart`."""
    cells = [point.cell for point in points]
    telling = _varying(cells, [name for name in Cell._fields if name not in (*apart, *SWITCHES, *_OF_STACKS)])
    if "task" not in apart and len({cell.task for cell in cells}) > 1:
        telling.insert(0, "task")
    return grouped(points, lambda point: ", ".join(
        shown({name: getattr(point.cell, name) for name in telling})) or point.cell.task)


_OF_STACKS = ("stack", "cpus", "memory_bytes", "source")


def _axis(field: str) -> str:
    return f"{field} ({_UNITS[field]})" if field in _UNITS else field


def _rate_panel(panel: Sequence[_Point], title: str, field: str, averaged: Sequence[str], signs: Mapping[str, int]
                ) -> Curves:
    if averaged:
        curves = (_mean_curve([point for point in panel if point.name == name], field, averaged, signs[name])
                  for name in dict.fromkeys(point.name for point in panel))
        return Curves(f"{title}: milliseconds of a step by {field}, means over {' and '.join(averaged)}",
                      _axis(field), "ms", tuple(curve for curve in curves if curve.x))
    unit = panel[0].row.unit
    return Curves(f"{title} {panel[0].cell.measure}: {unit} of one worker by {field}, with 95 % intervals over runs",
                  _axis(field), unit, _curves(panel, field, signs))


def _mean_curve(points: Sequence[_Point], field: str, averaged: Sequence[str], sign: int) -> Curve:
    """Mean milliseconds of a step at each value of the field that has all combinations of the averaged fields."""
    seconds: dict[float, dict[tuple[Value, ...], float]] = {}
    for point in points:
        over = tuple(getattr(point.cell, each) for each in averaged)
        seconds.setdefault(float(getattr(point.cell, field)), {})[over] = point.seconds
    most = max(map(len, seconds.values()))
    return Curve.of(points[0].name, sign, [(x, 1000 * sum(each.values()) / most, None)
                                           for x, each in sorted(seconds.items()) if len(each) == most])


def _curves(panel: Sequence[_Point], field: str, signs: Mapping[str, int], scale: float = 1.0) -> tuple[Curve, ...]:
    """A curve a name, with a band where each value has an interval."""
    ordered = sorted(panel, key=lambda point: getattr(point.cell, field))
    return tuple(Curve.of(name, signs[name], [(float(getattr(point.cell, field)), point.value, point.interval)
                                              for point in ordered if point.name == name], scale)
                 for name in dict.fromkeys(point.name for point in panel))


def _relative(points: Sequence[_Point], field: str, baseline: str) -> Iterator[Chart]:
    """Of two stacks the time of the one over the other's: a panel a task, a curve for each of its other settings."""
    names = list(_signs(points))
    base = baseline if baseline in names else names[0]
    other = next(name for name in names if name != base)
    for task, panel in _panels(points, [name for name in Cell._fields if name != "task"]).items():
        lines = _panels(panel, (field, "task"))
        curves = []
        for sign, (line, own) in enumerate(lines.items()):
            rates = {name: {getattr(point.cell, field): point.value for point in own if point.name == name}
                     for name in names}
            both = sorted(rates[base].keys() & rates[other].keys())
            curves.append(Curve(line if len(lines) > 1 else other, sign, tuple(map(float, both)),
                                tuple(rates[base][x] / rates[other][x] for x in both)))
        yield Curves(f"{task} {panel[0].cell.measure}: time of {other} over {base}'s by {field}; below 1 "
                     f"{other} is the faster", _axis(field), "ratio of times", tuple(curves))


def _switched(points: Sequence[_Point], told: Sequence[str], numbers: Sequence[PublishedNumber], inside: set[str]
              ) -> Sequence[Chart]:
    """Rates by switch, each against the first of its stack; of modes of many places times of a step."""
    stacks = list(dict.fromkeys(point.cell.stack for point in points))
    points = sorted(points, key=lambda point: (stacks.index(point.cell.stack), *(
        CHOICES[name].index(getattr(point.row.cell, name)) for name in told)))
    signs = _signs(points)
    if "parallel" in told:
        return fitted("Time of a step", "milliseconds", (
            (title, tuple(Mark(point.name, signs[point.name], 1000 * point.seconds,
                               wording.IN_UNIT["s"](point.seconds)) for point in panel))
            for title, panel in _panels(points, ()).items()))
    groups = []
    for title, panel in _panels(points, ()).items():
        marks = []
        for point in panel:
            first = next(each for each in panel if each.cell.stack == point.cell.stack)
            ratio = point.value / first.value
            marks.append(Mark(point.name, signs[point.name], ratio, f"{ratio:.2f}x"))
            for number in numbers:
                if point is not first and (value := _times(number, point, first)) is not None:
                    marks.append(_published(number, value, f"{value:.2f}x", inside))
        groups.append((title, tuple(marks)))
    caption = f"Speed by {' and '.join(told)}, times that of each stack's first{_framed(numbers, inside)}"
    return fitted(caption, "ratio of speeds", groups, is_bars=True)


def _times(number: PublishedNumber, point: _Point, first: _Point) -> float | None:
    """How many times as fast as `first` the study has `point`, where a number of two subjects, and one cell, says."""
    if number.unit not in ("x", "% more") or number.to is None or number.cells != 1:
        return None
    for one, other, value in ((first, point, number.ratio), (point, first, 1 / number.ratio)):
        if wording.is_of(number, number.of, one.row.cell) and wording.is_of(number, number.to, other.row.cell):
            return value
    return None


def _framed(numbers: Sequence[PublishedNumber], inside: Set[str]) -> str:
    """What a caption says of the paper's own values in a chart, and of how ours are of something else."""
    held = [number for number in numbers if number.id in inside]
    differs = dict.fromkeys(text for number in held for text in number.differs)
    return ("; frames: the paper's" + (f", here {', '.join(differs)}" if differs else "")) if held else ""


def _published(number: PublishedNumber, value: float, text: str, inside: set[str]) -> Mark:
    inside.add(number.id)
    return Mark("published", THEIRS, value, f"{text}, {number.source}", is_hollow=True)


# ---- other quantities

def _of_quantities(family: Sequence[str], rows: Sequence[Row], numbers: Sequence[PublishedNumber], inside: set[str]
                   ) -> Sequence[Chart]:
    """Quantities of a family: curves of each over a number that varies, else bars of all."""
    own = [row for row in rows if row.cell.measure == quantities.QUANTITIES[family[0]].measure]
    told = _varying([compared(row.cell) for row in own], SWITCHES)
    values = {name: [_point(row, told, value) for row in own if (value := over_runs(name, row)) is not None]
              for name in family}
    values = {name: points for name, points in values.items() if points}
    charts: list[Chart] = []
    for name, points in values.items():
        field, (axis, scale) = _varied(points), _scaled(name, points)
        charts += [Curves(f"{title}: {name.replace('_', ' ')} by {field}", _axis(field), axis,
                          _curves(panel, field, _signs(points), scale))
                   for title, panel in _panelled(points, field).items()]
    if charts or not values:
        return charts
    axis, scale = _scaled(family[0], [point for points in values.values() for point in points])
    own_numbers = [each for each in numbers if each.quantity in values and each.to is None and each.cells == 1]
    groups = _bars(values, own_numbers, inside, scale)
    caption = ", ".join(map(wording.called, values)) + _framed(own_numbers, inside)
    return fitted(caption, axis, groups, is_bars=True)


def _scaled(name: str, points: Sequence[_Point]) -> tuple[str, float]:
    """The axis of a quantity, and what its values are multiplied by."""
    unit = quantities.QUANTITIES[name].unit
    if unit == "s" and max(abs(point.value) for point in points) < 1:
        unit = "ms"
    return _AXES["%" if unit == "share" else unit]


def _bars(values: Mapping[str, Sequence[_Point]], numbers: Sequence[PublishedNumber], inside: set[str], scale: float
          ) -> list[tuple[str, tuple[Mark, ...]]]:
    """A group a case; of several quantities one for each of them, but where one stack is all that there is."""
    signs = _signs([point for points in values.values() for point in points])
    is_of_one = len(signs) == 1 and len(values) > 1
    groups: dict[str, list[Mark]] = {}
    for sign, (name, points) in enumerate(values.items()):
        word = wording.called(name)
        unit = quantities.units(name)[-1] if quantities.QUANTITIES[name].unit == "share" else quantities.units(name)[0]
        for title, panel in _panels(points, ()).items():
            group = groups.setdefault(title if is_of_one or len(values) == 1 else f"{title}: {word}", [])
            for point in panel:
                shown = quantities.converted(name, unit, point.cell, point.value)
                group.append(Mark(word if is_of_one else point.name, sign if is_of_one else signs[point.name],
                                  point.value * scale, wording.IN_UNIT[unit](shown)))
                for number in numbers:
                    if number.quantity == name and wording.is_of(number, number.of, point.row.cell):
                        raw = number.value / (100 if number.unit == "%" else 1) / number.steps
                        of = f" {number.unit} of {number.steps:,} steps" if number.steps > 1 else ""
                        group.append(_published(number, raw * scale, wording.printed(number) + of, inside))
    return [(title, tuple(marks)) for title, marks in groups.items()]
