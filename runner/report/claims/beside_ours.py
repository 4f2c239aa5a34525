"""The study's own numbers and claims beside ours; each number with the experiment that it is about. Pure."""

import re
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from runner import formatting
from runner.analysis.summary_format import JudgedClaim, PublishedNumber, Summary
from runner.grouping import grouped
from runner.report.claims import wording
from runner.report.document import Dots, Mark, fitted
from runner.report.tables import Column, Form, Table, plain, table
from runner.results.rows import Measurements

Numbers = Sequence[PublishedNumber]
THEIRS, _OURS = 3, 0           # signs
_AXES = {"s": "seconds", "x": "ratio", "mpe": "(of - to) / of", "W": "watts", "count": "number"}     # else the unit


def by_experiment(summary: Summary, measured: Measurements) -> dict[str, list[PublishedNumber]]:
    """The numbers by the experiment whose figure or table their place names first, else by their own, else by ""."""
    by_head = {one.title.partition(":")[0]: one.id for one in reversed(measured.experiments) if one.title}
    figure = re.compile("(Figure|Table) [0-9IVX]+")          # "Figure 9" of "Figure 9b, V-D"
    return grouped(summary.published, lambda number: by_head.get((figure.search(number.source) or [""])[0]) or next((
        one.id for one in measured.experiments
        if number.experiment == one.id or not (number.experiment or set(number.keys).isdisjoint(one.cells))), ""))


def _ours_to_theirs(number: PublishedNumber) -> str:
    ratio = number.ours / number.value if number.ours and number.value else 0.0
    return "" if number.differs or number.unit in ("mpe", "% more") or ratio <= 0 else formatting.ratio(ratio, None)


_UNITS = {"count": "", "x": "", "%": "", "% more": "", "share": "", "mpe": "MPE"}      # that a number says itself


NUMBERS: tuple[Column[PublishedNumber], ...] = (
    Column("source", attrgetter("source")),
    Column("of", wording.whose),
    Column("quantity", wording.quantity),
    Column("published", wording.printed),
    Column("here", wording.measured),
    Column("unit", lambda number: number.printed and _UNITS.get(number.unit, number.unit)),
    Column("here / published", _ours_to_theirs, forms=Form.PAGE),
    Column("here it is of", wording.differs),
    Column("remark", attrgetter("text"), forms=Form.PAGE),
)


def _remark(claim: JudgedClaim) -> str:
    """Its place in the paper, what that leaves open of it, and where its own numbers contradict it."""
    return "; ".join(filter(None, [claim.source, *(f"{what}: {text}" for what, text in (
        ("here", wording.differs(claim)), ("assumed", claim.assumed),
        ("the paper's own contradiction", claim.contradiction)) if text)]))


CLAIMS: tuple[Column[JudgedClaim], ...] = (
    Column("claim", attrgetter("id")),
    Column("verdict", lambda claim: wording.verdict(claim, [claim])),
    Column("what the study says", attrgetter("text"), forms=Form.PAGE),
    Column("here", lambda claim: wording.here(claim) or None),
    Column("theirs", lambda claim: wording.theirs(claim) or None),
    Column("remark", _remark, forms=Form.PAGE),
)


NOTE = ("On other hardware; seconds here are of one step unless the quantity says otherwise. Where ours is of fewer "
        "cells, other sizes or another device than the paper's, the row and the chart say it, and no ratio has it.")


def tables(numbers: Numbers) -> Iterator[Table[Any]]:
    """The paper's tables with ours in each cell; theirs, ours, and how they compare; none without numbers."""
    in_tables = [number for number in numbers if number.row]
    for source, of_source in grouped(in_tables, attrgetter("source")).items():
        columns = tuple(dict.fromkeys(number.column for number in of_source))
        rows = grouped(of_source, lambda number: number.row)
        yield from plain(f"{source}, as the paper has it: theirs, and ours below the stroke", ("", *columns), [
            (row, *(next((f"{wording.printed(number)} | {'' if number.ours is None else wording.measured(number)}"
                          for number in cells if number.column == column), "") for column in columns))
            for row, cells in rows.items()])
    yield from table("Published, and the same here", NUMBERS, {"": numbers}, NOTE)
    yield from plain("Published numbers that do not follow from the paper's others", (
        "source", "number", "arithmetic"), [
            (number.source, number.id, number.contradiction) for number in numbers if number.contradiction])


def charts(numbers: Numbers) -> Iterator[Dots]:
    """A chart a unit, of the numbers that have one here; ratios are read against 1."""
    for unit in dict.fromkeys(number.unit for number in numbers):
        both = [number for number in numbers if number.unit == unit and (number.ours or 0) > 0 and number.value > 0]
        yield from fitted("Published and here", _AXES.get(unit, unit), map(_group, both),
                          reference=1.0 if unit == "x" else None)


def _group(number: PublishedNumber) -> tuple[str, tuple[Mark, ...]]:
    differs = f"; here {'; '.join(number.differs)}" if number.differs else ""
    return f"{number.source}: {wording.quantity(number)}, {wording.whose(number)}{differs}", (
        Mark("published", THEIRS, number.value, wording.printed(number)),
        Mark("/".join(number.stand_ins.values()) or "here", _OURS, number.ours or 0.0,
             wording.measured(number)))
