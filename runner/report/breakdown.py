"""Where a step's time and memory go: phases, operators, kernels, graphs, largest batches. Charts and tables. Pure.

The tables are for every form that people read; what they hold is the Summary's.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from runner import formatting
from runner.analysis.summary_format import (
    DeviceTime,
    GraphChange,
    LargestBatch,
    Profile,
    ProfileTable,
    Result,
    Summary,
    Told,
)
from runner.report.comparisons import MOST_GROUPS, Context, Shown, cut, fitting, thousandths
from runner.report.document import Bar, Bars, Chart, Dots, Mark
from runner.report.tables import Column, Form, Group, Table, Texts, plain, table, texts
from runner.results.rows import Row
from runner.study.operators import WORDS
from runner.study.quantities import PHASES

_MOST_CHARTS = 4
_MOST_KERNELS = 5              # of a stack, as in mahorker's Figure 5: the top few
_PAGE = frozenset({Form.PAGE})
_SHORT = {"communication": "comm."}    # titles of phases that would be too wide
_OF_EXCHANGE = "Calls of exchange overlap and wait for other workers: together they may exceed a step."
T = TypeVar("T")


def of_rows(tables: Iterable[ProfileTable[Told]], rows: Sequence[Row]) -> list[ProfileTable[Told]]:
    """The summary's tables about these rows."""
    labels = {row.comparison.label for row in rows}
    return [each for each in tables if each.label in labels]


def tables(summary: Summary, compared: Sequence[Shown], rows: Sequence[Row]) -> Iterator[Table[Any]]:
    """All tables of this module about these comparisons and rows."""
    yield from phases(compared)
    yield from operators(of_rows(summary.operators, rows))
    yield from kernels(of_rows(summary.kernels, rows))
    yield from graphs(of_rows(summary.graphs, rows))
    yield from largest_batches(of_rows(summary.largest_batches, rows))
    yield from memory(compared)


# ---- phases

def phase_charts(compared: Sequence[Shown]) -> Iterator[Chart]:
    """A bar a stack."""
    groups = [(shown.label, tuple(_phase_bar(result) for result in shown.results if result.phases))
              for shown in compared if shown.comparison.measure == "phases"]
    groups = [group for group in groups if group[1]]
    if groups:
        kept = fitting(groups)
        yield Bars("Phases of a step" + cut(len(kept), len(groups)), "milliseconds a step", kept)


def _phase_bar(result: Result) -> Bar:
    parts = tuple((name, result.phases[name] * 1000) for name in PHASES if name in result.phases)
    return Bar(result.stack, parts, formatting.milliseconds(sum(value for _, value in parts) / 1000))


_PHASES: tuple[Column[Result], ...] = (
    Column("stack", lambda result: result.stack),
    *(Column(_SHORT.get(name, name), lambda result, name=name: result.phases.get(name), thousandths)  # type: ignore[misc]
      for name in PHASES),
    Column("seen", lambda result: result.communication if "communication" in result.phases else None),
    Column("step", lambda result: result.step_seconds, thousandths),
    Column("stamps", lambda result: result.stamping_cost, lambda cost: f"{cost * 100:+.1f} %"),
    Column("again", lambda result: result.rerun, forms=_PAGE),
)


def phases(compared: Sequence[Shown]) -> Iterator[Table[Result]]:
    """The phases of stamped runs, a line a stack."""
    yield from table("Phases of a step, in milliseconds, from stamped runs", _PHASES, {
        shown.label: [result for result in shown.results if result.phases]
        for shown in compared if shown.comparison.measure == "phases"},
        "Communication that is seen exposed is what does not overlap with the backward pass; full is all of it. "
        "Stamps: what stamping adds to a plain step of this session. Phases are medians over runs, a step is their "
        "geometric mean.")


# ---- operators

def operator_charts(context: Context, tables: Sequence[ProfileTable[Profile]]) -> Iterator[Chart]:
    """A mark a stack and operator, for the first tables."""
    for each in tables[:_MOST_CHARTS]:
        groups = [(word.replace("_", " "), tuple(
            Mark(stack, context.series.get(stack, 0), profile.seconds[word] * 1000, None, None,
                 formatting.milliseconds(profile.seconds[word]))
            for stack, profile in each.stacks.items() if profile.seconds.get(word))) for word in WORDS]
        groups = [group for group in groups if group[1]]
        if groups:
            yield Dots(f"Operators: {each.label}", "milliseconds a step", tuple(groups))


def operators(tables: Sequence[ProfileTable[Profile]]) -> Iterator[Table[Any]]:
    """A line an operator, a column a stack."""
    for each in tables:
        profiles = {stack: profile for stack, profile in each.stacks.items() if profile.names}
        columns = (Column[str]("operator", lambda word: word.replace("_", " ")), *(
            Column[str](stack, profile.seconds.get, thousandths) for stack, profile in profiles.items()))
        operators = tuple(word for word in WORDS if any(word in profile.seconds for profile in profiles.values()))
        yield Table(f"Operators, in milliseconds a step, from profiled runs: {each.label}", columns,
                    (Group("", operators),), _OF_EXCHANGE, has_empty=True)
        if again := [(stack, profile.rerun) for stack, profile in profiles.items() if profile.rerun]:
            yield plain(f"Operators, measured again by: {each.label}", ("stack", "again"), again, is_extra=True)


def own_names(each: ProfileTable[Profile]) -> Table[Texts]:
    """The frameworks' own names of operators behind each of the study's words."""
    lines = tuple((stack, word.replace("_", " ") or "none", name, thousandths(seconds))
                  for stack, profile in each.stacks.items() for word, names in profile.names.items()
                  for name, seconds in list(names.items())[:MOST_GROUPS])
    return plain(f"The frameworks' own names of operators: {each.label}", ("stack", "word", "own name", "ms a step"),
                 lines, f"The longest {MOST_GROUPS} of each word; those of no word may contain each other's time.",
                 is_extra=True)


def memory(compared: Sequence[Shown]) -> Iterator[Table[Any]]:
    """The peak memory of runs on several places, a line a stack."""
    yield from table("Peak memory of the places", texts("stack", "together", "by place"), {
        shown.label: [(result.stack, formatting.size(result.places_peak_bytes or 0), ", ".join(
            f"{node} {formatting.size(peak)}" for node, peak in result.place_peaks.items()))
            for result in shown.results if result.place_peaks] for shown in compared}, is_extra=True)


# ---- kernels, graphs, largest batches

class _Of(NamedTuple, Generic[T]):
    """A stack, and what it told."""

    stack: str
    told: T


def _lines(tables: Iterable[Any]) -> dict[str, list[_Of[Any]]]:
    return {each.label: [_Of(*item) for item in each.stacks.items()] for each in tables}


def _rest(*columns: Column[_Of[T]]) -> tuple[Column[_Of[T]], ...]:
    """The columns between the stack and what measures it again."""
    return (Column("stack", lambda line: line.stack), *columns,
            Column("again", lambda line: line.told.rerun, forms=_PAGE))   # type: ignore[attr-defined]


_KERNELS: tuple[Column[_Of[DeviceTime]], ...] = _rest(
    Column("kernels", lambda line: line.told.kernel_seconds, thousandths, _PAGE),
    Column("copies", lambda line: line.told.copy_seconds, thousandths, _PAGE),
    Column("both at once", lambda line: line.told.overlap_seconds, thousandths, _PAGE),
    Column("gaps", lambda line: line.told.gap_seconds, thousandths, _PAGE),
    Column("in kernels", lambda line: line.told.kernels, formatting.share),
    Column("in copies", lambda line: line.told.copies, formatting.share),
    Column("in gaps", lambda line: line.told.gaps, formatting.share),
    Column("launching", lambda line: line.told.launches, formatting.share),
    Column("kernels a step", lambda line: line.told.kernels_a_step, "{:,.0f}".format))
_GRAPHS: tuple[Column[_Of[GraphChange]], ...] = _rest(
    Column("before", lambda line: line.told.nodes_before, "{:,}".format),
    Column("after", lambda line: line.told.nodes_after, "{:,}".format),
    Column("removed", lambda line: line.told.removed_share, formatting.share),
    *(Column(title, lambda line, kind=kind: line.told.removed.get(kind), "{:,}".format)  # type: ignore[misc]
      for kind, title in (("expensive", "expensive"), ("cheap", "cheap"), ("noop", "no-op"))))
_BATCHES: tuple[Column[_Of[LargestBatch]], ...] = _rest(
    Column("largest", lambda line: line.told.largest, "{:,}".format),
    Column("out of memory", lambda line: f"{line.told.smallest_oom:,}" if line.told.smallest_oom else "not met"),
    Column("limit", lambda line: formatting.size(line.told.limit_bytes) if line.told.limit_bytes else "the GPU's"),
    Column("tried", lambda line: ", ".join(f"{each.batch:,} {each.ending}" for each in line.told.tried), forms=_PAGE))


def kernels(tables: Sequence[ProfileTable[DeviceTime]]) -> Iterator[Table[Any]]:
    """Where the device's time goes: shares of it, and on the page milliseconds of a step and the longest kernels."""
    groups = _lines(tables)
    sources = [f"{line.stack}: {line.told.source}." for lines in groups.values() for line in lines if line.told.source]
    note = "Times in milliseconds a step, and shares of the device's time."
    yield from table("Where the device's time goes, from profiled runs", _KERNELS, groups,
                     " ".join([note, *dict.fromkeys(sources)]))
    yield from table("The kernels that take longest, in the first run",
                     texts("stack", "kernel", "calls a step", "ms a step"), {
                         label: [(stack, name, f"{time.top_calls[name]:,.0f}" if name in time.top_calls else "",
                                  thousandths(seconds))
                                 for stack, time in lines for name, seconds in time.top.items()]
                         for label, lines in groups.items()}, is_extra=True)


def kernel_charts(tables: Sequence[ProfileTable[DeviceTime]]) -> Iterator[Chart]:
    """Of each stack the longest kernels, as shares of the time of all that were told."""
    groups = [(stack if len(tables) == 1 else f"{stack}: {each.label}", tuple(
        Mark(name, index, 100 * seconds / sum(time.top.values()), None, None,
             formatting.share(seconds / sum(time.top.values())))
        for index, (name, seconds) in enumerate(list(time.top.items())[:_MOST_KERNELS])))
        for each in tables for stack, time in each.stacks.items() if sum(time.top.values())]
    if groups:
        kept = fitting(groups)
        yield Dots("The longest kernels, of the GPU's time" + cut(len(kept), len(groups)), "%", kept, is_bars=True)


def graphs(tables: Sequence[ProfileTable[GraphChange]]) -> Iterator[Table[Any]]:
    """Nodes before and after, and what those did that went."""
    yield from table("Nodes of the graph", _GRAPHS, _lines(tables),
                     "Removed: net of nodes that were added; then those that went, by what they did.")


def largest_batches(tables: Sequence[ProfileTable[LargestBatch]]) -> Iterator[Table[Any]]:
    """The largest batch that trains."""
    yield from table("The largest batch that trains", _BATCHES, _lines(tables),
                     "Each batch was tried in a fresh process; the least of the runs.")
