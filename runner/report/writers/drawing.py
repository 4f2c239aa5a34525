"""What charts are drawn with, as SVG text: places, texts, axes with round numbers, signs, lines and hatches.

Signs differ by shape, line and hatch, so that a chart is read without colour. Colours are the page's own CSS variables
(--c0 ...), so that it follows a dark page. All texts are escaped here.
"""

import math
from collections.abc import Iterable, Iterator
from html import escape
from typing import NamedTuple

from runner.formatting import clean

WIDTH = 480.0                  # of all charts, in points, which are the units of the drawing
SERIES = 8                     # signs that can be told apart
_MARKERS = (                   # circle, square, triangle, diamond, triangle on its head, plus, cross, star
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "M-3.2 -3.2h6.4v6.4h-6.4z", "M0 -3.8L3.8 3.2H-3.8z",
    "M0 -4.4L4.4 0L0 4.4L-4.4 0z", "M0 3.8L3.8 -3.2H-3.8z",
    "M-1.4 -4h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z",
    "M0 -1.9L2 -3.9L3.9 -2L1.9 0L3.9 2L2 3.9L0 1.9L-2 3.9L-3.9 2L-1.9 0L-3.9 -2L-2 -3.9z",
    "M0 -4.6L1.1 -1.5L4.4 -1.4L1.8 .6L2.7 3.7L0 1.9L-2.7 3.7L-1.8 .6L-4.4 -1.4L-1.1 -1.5z")
_DASHES = ("", "7 3", "7 2 2 2", "2 2", "9 2", "2 4", "5 2 2 2 2 2", "11 5")
_HATCHES = (                   # the side of a tile, and the lines in it
    (6, ""), (6, "M-1 1l2 -2M0 6l6 -6M5 7l2 -2"), (4, "M2 0v4"), (6, "M-1 5l2 2M0 0l6 6M5 -1l2 2"),
    (6, "M0 6l6 -6M0 0l6 6"), (4, "M0 2h4"), (6, "M3 0v6M0 3h6"), (12, "M-1 1l2 -2M0 12l12 -12M11 13l2 -2"))
_NAME_LETTERS = 70             # of an axis, that fit below it
_LEAST_TICKS = 3               # of any axis: fewer tell no scale
_MOST_POWERS = 12              # of ten that have a number
_LARGEST = 1e150               # that an axis shows: what is computed with it stays a number


def svg(height: float, parts: Iterable[str]) -> str:
    """The <svg> element."""
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" aria-hidden="true" '
                      'font-family="system-ui, sans-serif" font-size="10">', *parts, "</svg>"])


def text(x: float, y: float, content: str, anchor: str = "start", weight: str = "", size: float = 0.0,
         is_above: bool = False) -> str:
    """A text; is_above: over lines, of which it keeps a margin."""
    settings = [f'x="{x:.1f}" y="{y:.1f}"', f'text-anchor="{anchor}"' if anchor != "start" else "",
                f'font-weight="{weight}"' if weight else "", f'font-size="{size:g}"' if size else "",
                'paint-order="stroke" stroke="var(--paper)" stroke-width="3"' if is_above else ""]
    return f"<text {' '.join(filter(None, settings))}>{escape(clean(content))}</text>"


def cut(content: str, letters: int) -> str:
    """The text, shortened to so many letters."""
    cleaned = clean(content)
    return cleaned if len(cleaned) <= letters else cleaned[:letters - 1] + "…"


def colour(series: int) -> str:
    """The page's own."""
    return f"var(--c{series % SERIES})"


def path(lines: str, stroke: str, width: float, more: str = "") -> str:
    """Lines of that colour and width."""
    return f'<path d="{lines}" fill="none" stroke="{stroke}" stroke-width="{width:g}"{more}/>'


def dashed(series: int) -> str:
    """What makes a line one of a series."""
    dashes = _DASHES[series % SERIES]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def marker(x: float, y: float, series: int) -> str:
    """The sign of a series."""
    return (f'<path transform="translate({x:.1f} {y:.1f})" d="{_MARKERS[series % SERIES]}" fill="{colour(series)}" '
            'stroke="var(--paper)" stroke-width="0.7"/>')


def box(left: float, right: float, y: float, height: float, fill: str, edge: str) -> str:
    """A box whose middle is at y."""
    return (f'<rect x="{left:.1f}" y="{y - height / 2:.1f}" width="{max(right - left, 0):.1f}" height="{height:g}" '
            f'fill="{fill}" stroke="{edge}"/>')


def hatch(name: str, series: int) -> str:
    """The definition of a filling with the lines of a series."""
    side, lines = _HATCHES[series]
    return (f'<pattern id="{name}" width="{side}" height="{side}" patternUnits="userSpaceOnUse"><rect width="{side}" '
            f'height="{side}" fill="{colour(series)}"/><path d="{lines}" stroke="var(--paper)" stroke-width="0.8"/>'
            '</pattern>')


class Axis(NamedTuple):
    """Values from low to high on a line of the drawing, and the numbers beside it."""

    low: float
    high: float
    begin: float                 # the place of low
    end: float
    is_logarithmic: bool = False
    ticks: tuple[float, ...] = ()

    def at(self, value: float) -> float:
        """The place of a value, that of the nearest end where it lies outside."""
        low, high, value = ((math.log(max(each, 1 / _LARGEST)) for each in (self.low, self.high, value))
                            if self.is_logarithmic else (self.low, self.high, value))
        return self.begin + (self.end - self.begin) * min(max((value - low) / (high - low), 0.0), 1.0)

    def has(self, value: float) -> bool:
        """Whether a value can be drawn."""
        return math.isfinite(value) and (value > 0 or not self.is_logarithmic)


def bounded(value: float) -> float:
    """The value, or the nearest that an axis shows."""
    return min(max(value, -_LARGEST), _LARGEST)


def linear(low: float, high: float, begin: float, end: float, most: int, is_whole: bool = False) -> Axis:
    """An axis with about so many round numbers; whole ones where is_whole."""
    low, high = bounded(low), bounded(high)
    if not high - low > 1 / _LARGEST:
        low, high = (low - abs(low) / 20, low + abs(low) / 20) if low else (0.0, 1.0)
    return Axis(low, high, begin, end, False, ticks(low, high, most, is_whole))


def ticks(low: float, high: float, most: int, is_whole: bool = False) -> tuple[float, ...]:
    """Round numbers from low to high, about so many, at least three; whole ones where is_whole."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [factor * scale for scale in (power, power / 10) for factor in (10, 5, 2, 1)]
    for step in steps[next(index for index, step in enumerate(steps) if step < rough * (1 - 1e-9)) - 1:]:
        step = max(step, 1.0) if is_whole else step
        found = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        if len(found) >= _LEAST_TICKS or (is_whole and step <= 1):
            break
    return tuple(index * step for index in found)


def logarithmic(low: float, high: float, begin: float, end: float) -> Axis:
    """An axis with numbers at 1, 2 and 5 times powers of ten, or at powers alone; a short one with round numbers."""
    low, high = max(low, 1 / _LARGEST), bounded(high)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors, every = (1, 2, 5) if high / low < 300 else (1,), -(-(last - first) // _MOST_POWERS)
    numbers = (factor * 10.0**power for power in range(first, last + 1, max(1, every)) for factor in factors)
    shown = tuple(number for number in numbers if low <= number <= high)
    return Axis(low, high, begin, end, True, shown if len(shown) >= _LEAST_TICKS or not high - low > 1 / _LARGEST
                else ticks(low, high, 4))


def below(axis: Axis, top: float, base: float, name: str) -> Iterator[str]:
    """A horizontal axis at base: lines up to top, numbers, and what they are."""
    for tick in axis.ticks:
        yield path(f"M{axis.at(tick):.1f} {top:g}V{base:g}", "var(--line)", 0.7)
        yield text(axis.at(tick), base + 13, shown(tick), "middle")
    yield path(f"M{axis.begin:g} {base:g}H{axis.end:g}", "currentColor", 0.8)
    yield text((axis.begin + axis.end) / 2, base + 29, cut(name, _NAME_LETTERS), "middle")


def shown(value: float) -> str:
    """A number beside an axis."""
    return f"{value:,.10g}"


def joined(points: Iterable[tuple[float, float]], x: Axis, y: Axis) -> str:
    """The points as a line, which stops where one cannot be drawn."""
    parts, is_open = [], False
    for one, other in points:
        is_there = x.has(one) and y.has(other)
        if is_there:
            parts.append(f"{'L' if is_open else 'M'}{x.at(one):.1f} {y.at(other):.1f}")
        is_open = is_there
    return "".join(parts)
