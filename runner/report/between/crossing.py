"""What `evenbench run --sweep` says: from which value on which column is the faster, a row a value, a chart. Pure."""

from typing import Any

from runner import formatting, schemas
from runner.analysis.between.crossing import Swept
from runner.analysis.paired import Paired
from runner.report.document import Curve, Curves


def conclusion(swept: Swept) -> str:
    """The answer in a sentence."""
    ends = [(value, swept.points[value]) for value in (swept.low, swept.high) if value in swept.points]
    if len(ends) < 2:
        return "Both ends are not measured yet."
    other = ends[0][1].one.cell.stack
    if not swept.crosses:
        said = " and ".join(f"{each.ratio.text()} at {swept.name} {value} ({each.verdict})" for value, each in ends)
        return f"No crossing is shown: {other} is {said}."
    below, above = swept.between
    known = f" ({below} to {above})" if above - below > 1 else ""
    return f"From {swept.name} {swept.crossing}{known} on {other} is {ends[1][1].verdict}."


def rows(swept: Swept) -> list[dict[str, str]]:
    """A row a value."""
    return [{swept.name: str(value), **_rates(each), _named(each): each.ratio.text(), "": each.verdict.value}
            for value, each in sorted(swept.points.items())]


def _rates(paired: Paired) -> dict[str, str]:
    return {f"{row.cell.stack}: {row.unit}": "-" if rate is None else formatting.number(rate)
            for row, rate in zip((paired.other, paired.one), paired.rates[::-1], strict=True) if row}


def _named(paired: Paired) -> str:
    return f"{paired.one.cell.stack} / {paired.other.cell.stack if paired.other else ''}"


def chart(swept: Swept) -> Curves:
    """The ratio over the setting, with the intervals that decide."""
    points = sorted(swept.points.items())
    ratios = [(float(value), each.ratio.value, each.ratio.interval) for value, each in points if each.ratio.value]
    return Curves(conclusion(swept), swept.name, "ratio", (
        Curve.of(_named(points[0][1]), 0, ratios), Curve.of("as fast", 1, [(x, 1.0, None) for x, *_ in ratios])))


def record(swept: Swept) -> dict[str, Any]:
    """The same as JSON values."""
    return {"schema": schemas.CROSSING, "setting": swept.name, "low": swept.low, "high": swept.high,
            "conclusion": conclusion(swept), "crossing": swept.crossing if swept.crosses else None,
            "between": list(swept.between) if swept.crosses else None, "points": [
                {"value": value, "columns": [row.cell.stack for row in (each.other, each.one) if row],
                 "rates": each.rates[::-1], "ratio": each.ratio.value,
                 "interval": each.ratio.interval and each.ratio.interval.record(), "verdict": each.verdict.value}
                for value, each in sorted(swept.points.items())]}
