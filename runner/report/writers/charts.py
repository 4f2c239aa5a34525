"""Charts as SVG text, names on the lines that they are about. The same values give the same bytes.

No library draws them: matplotlib's import took 0.4 s, as long as a page of 10,000 runs, and each chart 0.1 s.
"""

import hashlib
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from runner.formatting import clean, number
from runner.report.document import Chart, Curve, Curves, Dots, Mark, Strip, Strips
from runner.report.writers import drawing
from runner.report.writers.drawing import SERIES, WIDTH, Axis, colour, path, text

_LEFT, _RIGHT = 112.0, 12.0    # beside the axes, at least: names, and room for the last number of the axis
_TEXT = 104.0                  # beside the axes on the right, where values stand in words
_LETTER, _OF_NAME = 5.8, 6.3    # about the widths of a letter of these, and of a name
_LINE, _LABEL, _GAP = 17.0, 17.0, 7.0      # heights of a line, of a group's label, and below a group
_TOP, _BOTTOM = 6.0, 36.0
_CURVES_LEFT, _CURVES_HEIGHT = 60.0, 210.0
_MARKED = 10                    # points of a curve that have a sign; all where there are few
_IN_A_ROW, _ENTRY = 3, 18.0     # entries of a legend, and the height of a row
_LABEL_LETTERS, _NAME_LETTERS, _ENTRY_LETTERS = 74, 26, 24     # that fit
_LEAST_REACH = 1.05            # of an axis beyond its reference
_LOG_FROM = 6.0                # largest over smallest value from which an axis is logarithmic
_DOUBLING = 8.0                # last over first x of so few values that each has its number, on a logarithmic axis
_MOST_NAMED = 10


def svg(chart: Chart, salt: str) -> str:
    """The <svg> element. salt tells the ids of one chart of a page from those of another."""
    if isinstance(chart, Dots):
        return _dots(chart, f"h{hashlib.sha256(salt.encode()).hexdigest()[:10]}")
    return _curves(chart) if isinstance(chart, Curves) else _strips(chart)


def _placed(groups: Sequence[tuple[str, Sequence[Mark]]], top: float, left: float
            ) -> tuple[list[str], list[tuple[float, Mark]], float]:
    """Lines below each other: their names as drawn, each mark with the height of its middle, the height of the axis."""
    names, placed, y = [], [], top
    for label, marks in groups:
        for part in textwrap.wrap(clean(label), _LABEL_LETTERS):
            names.append(text(0, y + 12, part, weight="bold", size=9.5, is_above=True))
            y += _LABEL
        for mark in marks:
            names.append(text(left - 6, y + 12, drawing.cut(mark.name, _NAME_LETTERS), "end", size=10.5))
            placed.append((y + _LINE / 2, mark))
            y += _LINE
        y += _GAP
    return names, placed, y


def _scale(values: Sequence[float], left: float, right: float, reference: float | None) -> Axis:
    """The x axis: logarithmic with a reference, or for values that differ much; else from zero."""
    positive = [value for value in values if value > 0]
    low, high = min(positive, default=1.0), max(positive, default=1.0)
    if reference is None and high / low < _LOG_FROM:
        return drawing.linear(0.0, high * 1.06, left, right, 7)
    if reference is not None:
        low, high = min(low, reference / _LEAST_REACH), max(high, reference * _LEAST_REACH)
    return drawing.logarithmic(low / 1.15, high * 1.15, left, right)


def _dots(chart: Dots, salt: str) -> str:
    marks = [mark for _, marks in chart.groups for mark in marks]
    parts = list(dict.fromkeys(name for mark in marks for name, _ in mark.parts))
    fills = {name: f"url(#{salt}{index % SERIES})" for index, name in enumerate(parts)}
    letters = min(_NAME_LETTERS, max((len(clean(mark.name)) for mark in marks), default=0))
    top = _TOP + _ENTRY * -(-len(parts) // _IN_A_ROW)
    left = max(_LEFT, _OF_NAME * letters + 12)
    right = WIDTH - max(_TEXT, _LETTER * max((len(mark.text) for mark in marks), default=0) + 12)
    names, placed, base = _placed(chart.groups, top, left)
    values = [value for mark in marks for value in _drawn(mark)]
    axis = (drawing.linear(0.0, max(values, default=1.0) * 1.02, left, right, 7 if parts else 5) if chart.is_bars
            else _scale(values, left, right, chart.reference))
    reference = [] if chart.reference is None else [
        path(f"M{axis.at(chart.reference):.1f} {top:g}V{base:g}", "currentColor", 1)]
    return drawing.svg(base + _BOTTOM, [
        *drawing.below(axis, top, base, chart.axis), *reference,
        *(drawing.hatch(f"{salt}{series}", series) for series in range(min(len(parts), SERIES))),
        *_legend([(name, drawing.box(0, 30, 0, 8, fills[name], "var(--paper)")) for name in parts]), *names,
        *chain.from_iterable(_dot(mark, y, axis, chart.is_bars, fills) for y, mark in placed)])


def _drawn(mark: Mark) -> Iterator[float]:
    """All values of a mark, which the axis must reach."""
    yield from (mark.value, *mark.dots)
    if mark.ends:
        yield from (mark.ends.low, mark.ends.high)


def _dot(mark: Mark, y: float, axis: Axis, has_bar: bool, fills: Mapping[str, str]) -> Iterator[str]:
    """A bar, of parts or whole, or a sign, and the interval: over a bar in the page's ink, with ends that stand out."""
    left = 0.0
    for name, value in mark.parts:
        yield drawing.box(axis.at(left), axis.at(left + value), y, 12, fills[name], "var(--paper)")
        left += value
    if has_bar and not mark.parts:
        yield drawing.box(axis.begin, axis.at(mark.value), y, 11,
                          "var(--paper)" if mark.is_hollow else colour(mark.series), colour(mark.series))
    if mark.ends:
        low, high = axis.at(mark.ends.low), axis.at(mark.ends.high)
        yield path(f"M{low:.1f} {y - 3:g}v6M{low:.1f} {y:g}H{high:.1f}M{high:.1f} {y - 3:g}v6", "currentColor", 1.2
                   ) if has_bar else path(f"M{low:.1f} {y:g}H{high:.1f}", colour(mark.series), 2)
    yield from (f'<circle cx="{axis.at(value):.1f}" cy="{y:g}" r="2" fill="{colour(mark.series)}" fill-opacity="0.45"/>'
                for value in mark.dots)
    if not has_bar:
        yield drawing.marker(axis.at(mark.value), y, mark.series)
    yield text(axis.end + 8, y + 3.5, mark.text, size=9.5)


def _legend(entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Names with their signs, which are 30 wide and stand around 0: above the axes, three in a row."""
    for index, (name, sign) in enumerate(entries):
        row, column = divmod(index, _IN_A_ROW)
        yield (f'<g transform="translate({column * WIDTH / _IN_A_ROW:g} {_TOP + 4 + row * _ENTRY:g})">{sign}'
               f'{text(36, 3.5, drawing.cut(name, _ENTRY_LETTERS))}</g>')


def _curves(chart: Curves) -> str:
    top = _TOP + _ENTRY * -(-len(chart.curves) // _IN_A_ROW)
    base = top + _CURVES_HEIGHT
    x, y = _across([each.x for each in chart.curves]), _up(chart, base, top)
    return drawing.svg(base + _BOTTOM, [
        *_legend([(each.name, path("M0 0h30", colour(each.series), 1.8, drawing.dashed(each.series))
                   + drawing.marker(15, 0, each.series)) for each in chart.curves]),
        *drawing.below(x, top, base, chart.x_axis),
        *_rows(y, _CURVES_LEFT, "{:.0e}".format if chart.is_logarithmic else drawing.shown),
        f'<g transform="translate(10 {(base + top) / 2:g}) rotate(-90)">{text(0, 0, chart.y_axis, "middle")}</g>',
        *chain.from_iterable(_curve(each, x, y) for each in chart.curves)])


def _curve(curve: Curve, x: Axis, y: Axis) -> Iterator[str]:
    points = list(zip(curve.x, curve.y, strict=True))
    if curve.low:
        around = [*zip(curve.x, curve.low, strict=True), *reversed(list(zip(curve.x, curve.high, strict=True)))]
        band = drawing.joined([each for each in around if x.has(each[0]) and y.has(each[1])], x, y)
        yield f'<path d="{band}z" fill="{colour(curve.series)}" fill-opacity="0.18"/>' if band else ""
    yield path(drawing.joined(points, x, y), colour(curve.series), 1.8, drawing.dashed(curve.series))
    every = max(1, len(points) // _MARKED)
    first = curve.series % SERIES % every             # series begin apart, so that equal curves show
    yield from (drawing.marker(x.at(one), y.at(other), curve.series) for one, other in points[first::every]
                if x.has(one) and y.has(other))


def _across(every: Sequence[Sequence[float]]) -> Axis:
    """The x axis of curves. An x that doubles gets a logarithmic axis with just its values."""
    values = sorted({drawing.bounded(value) for value in chain.from_iterable(every)}) or [0.0, 1.0]
    low, high = values[0], values[-1]
    begin, end = _CURVES_LEFT, WIDTH - _RIGHT
    if 2 < len(values) <= _MOST_NAMED and low > 0 and high / low >= _DOUBLING:
        margin = drawing.bounded(high / low) ** 0.05
        return Axis(low / margin, high * margin, begin, end, True, tuple(values))
    margin = (high - low) / 20
    return drawing.linear(low - margin, high + margin, begin, end, 8, all(value == int(value) for value in values))


def _up(chart: Curves, begin: float, end: float) -> Axis:
    """The y axis of curves."""
    values = [value for curve in chart.curves for value in (*curve.y, *curve.low, *curve.high)
              if value == value and (value > 0 or not chart.is_logarithmic)]
    low, high = min(values, default=1.0), max(values, default=1.0)
    if chart.is_logarithmic:
        margin = max(drawing.bounded(high / low) ** 0.05, 1.5)
        return drawing.logarithmic(low / margin, high * margin, begin, end)
    if chart.is_zero_based:
        return drawing.linear(0.0, high * 1.06, begin, end, 8)
    return drawing.linear(low - (high - low) / 20, high + (high - low) / 20, begin, end, 8)


def _rows(axis: Axis, left: float, shown: Callable[[float], str], size: float = 0.0) -> Iterator[str]:
    """Lines at the numbers of a vertical axis, and these at their left."""
    for tick in axis.ticks:
        yield path(f"M{left:g} {axis.at(tick):.1f}H{WIDTH - _RIGHT:g}", "var(--line)", 0.7)
        yield text(left - 4, axis.at(tick) + 3.5, shown(tick), "end", size=size)


# ---- strips

_STRIP_LEFT = 52.0
_HEAD, _HEIGHT, _FOOT = 18.0, 70.0, 22.0       # of a strip: its name, its axes, the numbers below
_STRIPS_BOTTOM = 18.0          # for the name of the x axis
_SHORTEST_NAMED = 48.0         # of a shaded part that has room for its name
_STRIP_LETTERS = 30
_STRIPS_AXIS = "seconds since the first step (thin: a run, thick: their median, red: disturbed turns)"


def _strips(chart: Strips) -> str:
    """A strip is a stack: the warm-up shaded, the timed part underlined, a thin line a run, a thick one their median.

    What is higher than the scale is cut off at its top and marked by a triangle there.
    """
    of_one = _HEAD + _HEIGHT + _FOOT
    height = len(chart.strips) * of_one + _STRIPS_BOTTOM
    strips = ((f'<g transform="translate(0 {index * of_one:g})">', *_strip(strip), "</g>")
              for index, strip in enumerate(chart.strips))
    return drawing.svg(height, [*chain.from_iterable(strips), text(
        (_STRIP_LEFT + WIDTH - _RIGHT) / 2, height - 5, _STRIPS_AXIS, "middle")])


def _strip(strip: Strip) -> Iterator[str]:
    end = max((x for line in (*strip.runs, strip.median) for x in line.x), default=1.0) or 1.0
    base = _HEAD + _HEIGHT
    across = Axis(0.0, end, _STRIP_LEFT, WIDTH - _RIGHT)
    up = Axis(0.0, strip.top, base, _HEAD, False, drawing.ticks(0.0, strip.top, 3))
    begin, ink = across.at(strip.warmup), colour(strip.series)
    yield text(2, 12, drawing.cut(strip.name, _STRIP_LETTERS), weight="bold")
    yield text(WIDTH - _RIGHT, 12, strip.text, "end")
    yield (f'<rect x="{_STRIP_LEFT:g}" y="{_HEAD:g}" width="{begin - _STRIP_LEFT:.1f}" height="{_HEIGHT:g}" '
           'fill="var(--line)" fill-opacity="0.6"/>')
    yield from _rows(up, _STRIP_LEFT, lambda value: f"{_tick(value, up.high)} ms" if value else "0", 8.5)
    for value in drawing.ticks(0.0, across.high, 6):
        yield text(across.at(value), base + 12, _tick(value, across.high), "middle", size=8.5)
    for line in strip.runs:
        yield path(drawing.joined(zip(*line, strict=True), across, up), ink, 0.7, ' stroke-opacity="0.45"')
    yield path(drawing.joined(zip(*strip.median, strict=True), across, up), ink, 2.2)
    yield from _cut_off(strip, across)
    yield path(f"M{begin:.1f} {base:g}H{WIDTH - _RIGHT:g}", "currentColor", 2.5)
    yield from (path(f"M{across.at(start):.1f} {base + 3:g}H{across.at(stop):.1f}", "var(--bad)", 3,
                     ' stroke-opacity="0.5"') for start, stop in strip.disturbed)
    yield from (text((left + right) / 2, base - 4, name, "middle", size=8.5, is_above=True) for name, left, right in (
        ("warm-up", _STRIP_LEFT, begin), ("timed", begin, WIDTH - _RIGHT)) if right - left >= _SHORTEST_NAMED)


def _tick(value: float, like: float) -> str:
    return f"{value:.10g}" if like >= 1e-3 and value < 1e5 else number(value)


def _cut_off(strip: Strip, across: Axis) -> Iterator[str]:
    """Triangles at the top, and what the first step took."""
    high = {round(across.at(x)) for line in (*strip.runs, strip.median)
            for x, y in zip(*line, strict=True) if y > strip.top}
    if strip.first:
        high.add(round(_STRIP_LEFT))
        yield text(_STRIP_LEFT + 4, _HEAD + 15, strip.first, size=8.5, is_above=True)
    yield from (f'<path d="M{x - 3:g} {_HEAD + 5:g}h6l-3 -5z" fill="currentColor"/>' for x in sorted(high))
