"""Numbers and names as people read them. Pure; SI on printing.

Text from files is stripped of control characters before it is printed.
"""

import shlex
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

DASH = "–"
_IN_ASCII = str.maketrans({DASH: "-", "×": "x", "…": "...", "━": "#"})
# C: control, format (also what turns the direction of text), surrogate, unassigned; Zl, Zp: line ends
_UNSEEN = ("C", "Zl", "Zp")
Ends = Iterable[float]       # of an interval: the lower, the upper


def clean(text: object) -> str:
    """The text on one line, with every control character written out."""
    line = str(text).replace("\n", " ")
    if line.isprintable():                # then it has none of them
        return line
    return "".join(letter.encode("unicode_escape", "surrogatepass").decode()
                   if unicodedata.category(letter).startswith(_UNSEEN) else letter for letter in line)


def rerun(session: str, key: str) -> str:
    """The command that measures a cell of a session again."""
    return f"evenbench rerun {shlex.quote(clean(session))} --cell {shlex.quote(clean(key))}"


def show(session: str, run: str) -> str:
    """The command that shows how a run ended and what it wrote on standard error."""
    return f"evenbench report {shlex.quote(clean(session))} --run {shlex.quote(clean(run))}"


def in_ascii(text: str) -> str:
    """The text for a terminal or file that knows no more."""
    return text.translate(_IN_ASCII).encode("ascii", "backslashreplace").decode()


def number(value: float, like: float | None = None) -> str:
    """Three digits or more, thousands parted; with as many decimals as `like` would have."""
    size = abs(value if like is None else like)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 4
    return f"{value:,.{decimals}f}"


def ends(interval: Ends | None, text: Callable[[float], str]) -> str:
    """1.28–1.37; "" without an interval."""
    return DASH.join(map(text, interval)) if interval else ""


def with_ends(shown: str, interval: Ends | None, text: Callable[[float], str]) -> str:
    """A value with its interval in brackets, where it has one."""
    return f"{shown} ({ends(interval, text)})" if interval else shown


def step(value: float, interval: Ends | None) -> str:
    """3.31 ms (3.28–3.40): seconds of a step in milliseconds, as milliseconds() has them."""
    return with_ends(milliseconds(value), interval, lambda end: number(end * 1000, value * 1000))


def rate(value: float, interval: Ends | None) -> str:
    """1,520 (1,480–1,560)."""
    return with_ends(number(value), interval, lambda end: number(end, value))


def ratio(value: float, interval: Ends | None) -> str:
    """1.32x (1.28–1.37); with more decimals where an end would else read as 1."""
    shown, ends = ratio_and_ends(value, interval)
    return f"{shown}x ({ends})" if ends else f"{shown}x"


def ratio_and_ends(value: float, interval: Ends | None) -> tuple[str, str]:
    """1.32 and 1.28–1.37, the same in two texts; "" without an interval."""
    decimals = 2 if value >= 0.3 else 3 if value >= 0.1 else 4
    while decimals < 4 and interval and any(end != 1 and round(end, decimals) == 1 for end in interval):
        decimals += 1
    return f"{value:.{decimals}f}", ends(interval, lambda end: f"{end:.{decimals}f}")


def seconds(value: float) -> str:
    """12 ms, 3.4 s, 25 s, 7 min, 2.5 h, 94 days."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 90:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    if value < 5400:
        return f"{value / 60:.0f} min"
    return f"{value / 3600:.1f} h" if value < 172_800 else f"{value / 86_400:.0f} days"


def milliseconds(value: float) -> str:
    """0.412 ms, 3.31 ms, 1,520 ms: of a step, where seconds() would be too coarse."""
    return f"{number(value * 1000)} ms"


def size(value: float) -> str:
    """812 MB, 2.1 GB."""
    return f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"


def parameters(count: int) -> str:
    """62 k, 0.5 M, 25.6 M, 124 M."""
    if count < 1e5:
        return f"{count / 1e3:.0f} k" if count >= 1e3 else str(count)
    return f"{count / 1e6:.{0 if count >= 1e8 else 1}f} M"


def flops(value: float) -> str:
    """812 MFLOP/s, 104 GFLOP/s, 49.3 TFLOP/s."""
    for unit, one in (("TFLOP/s", 1e12), ("GFLOP/s", 1e9)):
        if value >= one:
            return f"{number(value / one)} {unit}"
    return f"{number(value / 1e6)} MFLOP/s"


def share(value: float) -> str:
    """3.2 %, 12 %."""
    return f"{value * 100:.1f} %" if value < 0.0995 else f"{value * 100:.0f} %"


def count(value: int, one: str, many: str = "") -> str:
    """1 run, 2 runs."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def reasons(skipped: Iterable[Any]) -> str:
    """Why skipped cells are left out, each stack's reasons once."""
    return "; ".join(dict.fromkeys(f"{each.cell.stack}: {each.reason}" for each in skipped))


def by_reason(cells: Iterable[tuple[str, str, str]], most: int = 1) -> list[str]:
    """A line for each (stack, label, reason); more than `most` cells of one stack and reason are only counted."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for stack, label, reason in cells:
        kinds.setdefault((stack, reason), []).append(label)
    return [f"{stack}, {what}: {reason}" for (stack, reason), labels in kinds.items()
            for what in (labels if len(labels) <= most else [count(len(labels), "cell")])]
