"""Steps over time as SVG text.

A strip is a stack: the warm-up shaded, the timed part underlined, a thin line a run and a thick one for their median.
What is higher than the scale is cut off at its top and marked by a triangle there.
"""

from collections.abc import Iterator

from runner.formatting import number
from runner.report.document import Strip, Strips
from runner.report.writers import drawing
from runner.report.writers.drawing import WIDTH, Axis, colour, cut, joined, path, text, ticks

_LEFT, _RIGHT = 52.0, 12.0
_HEAD, _HEIGHT, _FOOT = 18.0, 70.0, 22.0       # of a strip: its name, its axes, the numbers below
_BOTTOM = 18.0                 # for the name of the x axis
_SHORTEST_NAMED = 48.0         # of a shaded part that has room for its name
_NAME_LETTERS = 30


def svg(chart: Strips) -> str:
    """The <svg> element; the same bytes for the same values, and no ids."""
    height = len(chart.strips) * (_HEAD + _HEIGHT + _FOOT) + _BOTTOM
    return drawing.svg(height, _parts(chart, height))


def _parts(chart: Strips, height: float) -> Iterator[str]:
    for index, strip in enumerate(chart.strips):
        yield f'<g transform="translate(0 {index * (_HEAD + _HEIGHT + _FOOT):g})">'
        yield from _strip(strip, chart.y_axis)
        yield "</g>"
    yield text((_LEFT + WIDTH - _RIGHT) / 2, height - 5, chart.x_axis, "middle")


def _strip(strip: Strip, unit: str) -> Iterator[str]:
    end = max((x for line in (*strip.runs, strip.median) for x in line.x), default=1.0) or 1.0
    base = _HEAD + _HEIGHT
    across, up = Axis(0.0, end, _LEFT, WIDTH - _RIGHT), Axis(0.0, strip.top, base, _HEAD)
    begin, ink = across.at(strip.warmup), colour(strip.series)
    yield text(2, 12, cut(strip.name, _NAME_LETTERS), weight="bold")
    yield text(WIDTH - _RIGHT, 12, strip.text, "end")
    yield f'<rect x="{_LEFT:g}" y="{_HEAD:g}" width="{begin - _LEFT:.1f}" height="{_HEIGHT:g}" fill="var(--line)" ' \
          'fill-opacity="0.6"/>'
    for value in ticks(0.0, up.high, 3):
        y = up.at(value)
        yield path(f"M{_LEFT:g} {y:.1f}H{WIDTH - _RIGHT:g}", "var(--line)", 0.7)
        yield text(_LEFT - 4, y + 3.5, f"{_tick(value, up.high)} {unit}" if value else "0", "end", size=8.5)
    for value in ticks(0.0, across.high, 6):
        yield text(across.at(value), base + 12, _tick(value, across.high), "middle", size=8.5)
    for line in strip.runs:
        yield path(joined(line.points, across, up), ink, 0.7, ' stroke-opacity="0.45"')
    yield path(joined(strip.median.points, across, up), ink, 2.2)
    yield from _cut_off(strip, across)
    yield path(f"M{begin:.1f} {base:g}H{WIDTH - _RIGHT:g}", "currentColor", 2.5)
    yield from (path(f"M{across.at(start):.1f} {base + 3:g}H{across.at(stop):.1f}", "var(--bad)", 3,
                     ' stroke-opacity="0.5"') for start, stop in strip.disturbed)
    yield from (text((left + right) / 2, base - 4, name, "middle", size=8.5, is_above=True) for name, left, right in (
        ("warm-up", _LEFT, begin), ("timed", begin, WIDTH - _RIGHT)) if right - left >= _SHORTEST_NAMED)


def _tick(value: float, like: float) -> str:
    return f"{value:.10g}" if like >= 1e-3 and value < 1e5 else number(value)


def _cut_off(strip: Strip, across: Axis) -> Iterator[str]:
    """Triangles at the top, and what the first step took."""
    high = {round(across.at(x)) for line in (*strip.runs, strip.median)
            for x, y in line.points if y > strip.top}
    if strip.first:
        high.add(round(_LEFT))
        yield text(_LEFT + 4, _HEAD + 15, strip.first, size=8.5, is_above=True)
    yield from (f'<path d="M{x - 3:g} {_HEAD + 5:g}h6l-3 -5z" fill="currentColor"/>' for x in sorted(high))
