"""Charts as SVG text: readable without colour, text kept as text, the same bytes for the same values.

Names stand on the lines that they are about, signs differ by shape, line and hatch. Colours are the page's own CSS
variables (--c0 ...), so that a chart follows a dark page; the page gives them. Only this module imports matplotlib.
"""

import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from runner.formatting import clean
from runner.report.document import Bar, Bars, Box, Boxes, Chart, Curves, Dots, Mark, Strips
from runner.report.writers import strips

SERIES = 8                     # signs that can be told apart
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (6, 3)))
_HATCHES = ("", "////", "||||", "\\\\\\\\", "xxxx", "----", "++++", "//")     # no dots: circles take 250 kB of a page
# stands for the page's colours, which matplotlib does not know
_COLOURS = tuple(f"#c0ffe{number}" for number in range(SERIES))
_INK, _QUIET, _PAPER = "#000000", "#c0fff0", "#c0fff1"
_WIDTH = 480.0                 # of all charts, in points, which are the units of the drawing
_LEFT, _RIGHT = 112.0, 12.0    # beside the axes: names, and room for the last number of the axis
_TEXT = 104.0                  # beside the axes on the right, where values stand in words
_LINE, _LABEL, _GAP = 17.0, 17.0, 7.0      # heights of a line, of a group's label, and below a group
_TOP, _BOTTOM = 6.0, 36.0
_MARKED = 10                    # points of a curve that have a sign; all where there are few
_IN_A_ROW = 3                   # entries of a legend
_LABEL_LETTERS, _NAME_LETTERS = 74, 18     # that fit
_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "text.parse_math": False, "font.size": 10.5,
                             "axes.unicode_minus": False, "hatch.linewidth": 0.6, "font.family": ["DejaVu Sans"]}
_LOG_FROM = 6.0                # largest over smallest value from which an axis is logarithmic
Groups = Sequence[tuple[str, Sequence[Any]]]


def svg(chart: Chart, salt: str) -> str:
    """The <svg> element. salt tells the ids of one chart of a page from those of another."""
    if isinstance(chart, Strips):
        return strips.svg(chart)
    drawn: dict[type, Callable[[Any], Figure]] = {Dots: _dots, Boxes: _boxes, Bars: _bars, Curves: _curves}
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": salt}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)       # the reader's fonts have it
        figure = drawn[type(chart)](chart)
        file = io.StringIO()
        figure.savefig(file, format="svg", dpi=72, metadata={"Date": None, "Creator": None, "Type": None,
                                                             "Format": None})
    return _inline(file.getvalue())


def _inline(text: str) -> str:
    """The drawing without its prologue and ids, in the page's colours, as a page can hold it."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r' width="[\d.]+pt" height="[\d.]+pt"', ' aria-hidden="true"', text, count=1)
    text = re.sub(r"<style type=\"text/css\">.*?</style>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"#c0ffe(\d)", r"var(--c\1)", text)
    text = text.replace(_INK, "currentColor").replace(_QUIET, "var(--line)").replace(_PAPER, "var(--paper)")
    return text.replace("'DejaVu Sans'", "system-ui, sans-serif").strip()


def _empty(height: float, top: float, left: float, right: float) -> tuple[Figure, Axes]:
    """A figure of the charts' width with axes of such a height, and such room around them."""
    whole = top + height + _BOTTOM
    figure = Figure(figsize=(_WIDTH / 72, whole / 72), dpi=72)
    FigureCanvasSVG(figure)
    figure.patch.set_visible(False)
    axes = figure.add_axes((left / _WIDTH, _BOTTOM / whole, (_WIDTH - left - right) / _WIDTH, height / whole))
    _plain(axes)
    return figure, axes


def _sheet(groups: Groups, right: float, top: float = _TOP) -> tuple[Figure, Axes, list[tuple[float, Any]]]:
    """The figure, its axes and the height of every item; labels and names are written."""
    height = sum((_LABEL if label else 0.0) + len(items) * _LINE + _GAP for label, items in groups)
    figure, axes = _empty(height, top, _LEFT, right)
    axes.set_ylim(height, 0)
    axes.yaxis.set_major_locator(NullLocator())
    placed, y = [], 0.0
    for label, items in groups:
        if label:
            axes.annotate(_short(label, _LABEL_LETTERS), (0, y + 12), xycoords=("figure fraction", "data"),
                          fontweight="bold", fontsize=9.5, annotation_clip=False,
                          bbox={"facecolor": _PAPER, "edgecolor": "none", "pad": 1})     # over grid and reference
            y += _LABEL
        for item in items:
            axes.annotate(_short(item.name, _NAME_LETTERS), (-6, y + _LINE / 2), xycoords=("axes points", "data"),
                          ha="right", va="center", annotation_clip=False)
            placed.append((y + _LINE / 2, item))
            y += _LINE
        y += _GAP
    return figure, axes, placed


def _plain(axes: Axes) -> None:
    axes.patch.set_visible(False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(True, axis="x", color=_QUIET, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=4)


def _short(text: str, letters: int) -> str:
    cleaned = clean(text)
    return cleaned if len(cleaned) <= letters else cleaned[: letters - 1] + "…"


def _scale(axes: Axes, values: Sequence[float], reference: float | None = None) -> None:
    """Set the x axis: logarithmic for values that differ much or have a reference, else from zero."""
    positive = [value for value in values if value > 0]
    low, high = min(positive, default=1.0), max(positive, default=1.0)
    if reference is None and high / low < _LOG_FROM:
        axes.set_xlim(0, high * 1.06)
        axes.xaxis.set_major_locator(MaxNLocator(5))
    else:
        if reference is not None:
            low, high = min(low, reference / 1.6), max(high, reference * 1.6)
        axes.set_xscale("log")
        axes.set_xlim(low / 1.15, high * 1.15)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 300 else (1,), numticks=12))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _dots(chart: Dots) -> Figure:
    figure, axes, placed = _sheet(chart.groups, _TEXT)
    marks: list[tuple[float, Mark]] = placed
    _scale(axes, [end for _, mark in marks for end in (mark.low, mark.value, mark.high) if end is not None],
           chart.reference)
    if chart.reference is not None:
        axes.axvline(chart.reference, color=_INK, linewidth=1)
    for y, mark in marks:
        colour = _COLOURS[mark.series % SERIES]
        if mark.low is not None and mark.high is not None:
            axes.plot([mark.low, mark.high], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
        axes.plot([mark.value], [y], _MARKERS[mark.series % SERIES], color=colour, markersize=7,
                  markeredgecolor=_PAPER, markeredgewidth=0.7)
        axes.annotate(clean(mark.text), (1, y), xycoords=("axes fraction", "data"), xytext=(8, 0),
                      textcoords="offset points", va="center", fontsize=9.5, annotation_clip=False)
    axes.set_xlabel(chart.axis)
    return figure


def _boxes(chart: Boxes) -> Figure:
    figure, axes, placed = _sheet(chart.groups, _RIGHT)
    boxes: list[tuple[float, Box]] = placed
    _scale(axes, [end for _, box in boxes for end in box.ends])
    for y, box in boxes:
        colour = _COLOURS[box.series % SERIES]
        low, first, middle, third, high = box.ends
        axes.plot([low, high], [y, y], color=colour, linewidth=1.5, solid_capstyle="butt")
        axes.barh(y, third - first, height=10, left=first, facecolor=_PAPER, edgecolor=colour, linewidth=1.2,
                  hatch=_HATCHES[box.series % SERIES])
        axes.plot([middle, middle], [y - 7, y + 7], color=_INK, linewidth=1.8)
    axes.set_xlabel(chart.axis)
    return figure


def _bars(chart: Bars) -> Figure:
    names = list(dict.fromkeys(name for _, bars in chart.groups for bar in bars for name, _ in bar.parts))
    rows = -(-len(names) // _IN_A_ROW)
    figure, axes, placed = _sheet(chart.groups, _TEXT, _TOP + 18.0 * rows)
    bars: list[tuple[float, Bar]] = placed
    axes.set_xlim(0, max((sum(value for _, value in bar.parts) for _, bar in bars), default=1.0) * 1.02 or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    styles = {name: _filled(index % SERIES) for index, name in enumerate(names)}
    for y, bar in bars:
        left = 0.0
        for name, value in bar.parts:
            axes.barh(y, value, height=12, left=left, **styles[name])
            left += value
        axes.annotate(clean(bar.text), (1, y), xycoords=("axes fraction", "data"), xytext=(8, 0),
                      textcoords="offset points", va="center", fontsize=9.5, annotation_clip=False)
    axes.set_xlabel(chart.axis)
    _legend(figure, [Patch(label=clean(name), **styles[name]) for name in names])
    return figure


def _filled(series: int) -> dict[str, Any]:
    return {"facecolor": _COLOURS[series], "edgecolor": _PAPER, "linewidth": 0.8, "hatch": _HATCHES[series]}


def _curves(chart: Curves) -> Figure:
    rows = -(-len(chart.curves) // _IN_A_ROW)
    top, height = _TOP + 18.0 * rows, 210.0
    figure, axes = _empty(height, top, 60.0, _RIGHT)
    axes.grid(True, axis="y", color=_QUIET, linewidth=0.7)
    handles: list[Artist] = []
    for curve in chart.curves:
        series = curve.series % SERIES
        style: dict[str, Any] = {"color": _COLOURS[series], "linestyle": _LINES[series], "marker": _MARKERS[series]}
        if curve.low:
            axes.fill_between(curve.x, curve.low, curve.high, facecolor=_COLOURS[series], alpha=0.18, linewidth=0)
        axes.plot(curve.x, curve.y, linewidth=1.8, markersize=6, markeredgecolor=_PAPER, markeredgewidth=0.6,
                  markevery=_marked(len(curve.x), series), **style)
        handles.append(Line2D([], [], label=_short(curve.name, 24), markersize=6, **style))
    _scale_curves(axes, chart)
    axes.set_xlabel(chart.x_axis)
    axes.set_ylabel(chart.y_axis)
    _legend(figure, handles)
    return figure


def _marked(count: int, series: int) -> tuple[int, int]:
    """The first point with a sign, and every which point from there. Series begin apart, so that equal curves show."""
    every = max(1, count // _MARKED)
    return series % every, every


def _legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Above the axes, three in a row."""
    figure.legend(handles=handles, loc="upper left", ncols=_IN_A_ROW, frameon=False, borderpad=0, borderaxespad=0,
                  handlelength=3, columnspacing=1.5)


def _scale_curves(axes: Axes, chart: Curves) -> None:
    """Set both axes. An x that doubles gets a logarithmic axis with just its values."""
    x = sorted({value for curve in chart.curves for value in curve.x})
    y = [value for curve in chart.curves for value in (*curve.y, *curve.high)]
    formatter = FuncFormatter(lambda value, _: f"{value:,.10g}")
    if len(x) > 2 and x[0] > 0 and x[-1] / x[0] >= 8 and len(x) <= 10:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(x))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=all(value == int(value) for value in x)))
    axes.xaxis.set_major_formatter(formatter)
    if chart.is_logarithmic:
        axes.set_yscale("log", nonpositive="mask")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}"))
        axes.yaxis.set_minor_locator(NullLocator())
        return
    if chart.is_zero_based:
        axes.set_ylim(0, max(y, default=1.0) * 1.06 or 1.0)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(formatter)
