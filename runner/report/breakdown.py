"""Where a step's time and memory go: phases, operators, kernels, graphs, largest batches. Charts and tables. Pure.

The tables are for every form that people read; what they hold is the Summary's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from runner import formatting
from runner.analysis.summary_format import (
    BatchTable,
    DeviceTime,
    GraphChange,
    GraphTable,
    KernelTable,
    LargestBatch,
    OperatorTable,
    Profile,
    Result,
)
from runner.report.comparisons import MOST_GROUPS, Context, Shown, cut, fitting, thousandths
from runner.report.document import Bar, Bars, Chart, Dots, Mark
from runner.report.tables import Column, Form, Group, Table, Texts, plain, table
from runner.results.rows import Row
from runner.study.operators import WORDS
from runner.study.quantities import PHASES

_MOST_CHARTS = 4
_MOST_KERNELS = 5              # of a stack, as in mahorker's Figure 5: the top few
_PAGE = frozenset({Form.PAGE})
_SHORT = {"communication": "comm."}    # titles of phases that would be too wide
_OF_EXCHANGE = "Calls of exchange overlap and wait for other workers: together they may exceed a step."
Profiles = TypeVar("Profiles", OperatorTable, KernelTable, GraphTable, BatchTable)


def of_rows(tables: Sequence[Profiles], rows: Sequence[Row]) -> list[Profiles]:
    """The summary's tables about these rows."""
    labels = {row.comparison.label for row in rows}
    return [each for each in tables if each.label in labels]


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

def operator_charts(context: Context, tables: Sequence[OperatorTable]) -> Iterator[Chart]:
    """A mark a stack and operator, for the first tables."""
    for each in tables[:_MOST_CHARTS]:
        groups = [(word.replace("_", " "), tuple(
            Mark(stack, context.series.get(stack, 0), profile.seconds[word] * 1000, None, None,
                 formatting.milliseconds(profile.seconds[word]))
            for stack, profile in each.stacks.items() if profile.seconds.get(word))) for word in WORDS]
        groups = [group for group in groups if group[1]]
        if groups:
            yield Dots(f"Operators: {each.label}", "milliseconds a step", tuple(groups))


class _Profiled(NamedTuple):
    stack: str
    profile: Profile


_AGAIN: tuple[Column[_Profiled], ...] = (
    Column("stack", lambda line: line.stack, forms=_PAGE),
    Column("again", lambda line: line.profile.rerun, forms=_PAGE),
)


def operators(tables: Sequence[OperatorTable]) -> Iterator[Table[Any]]:
    """A line an operator, a column a stack."""
    for each in tables:
        profiles = {stack: profile for stack, profile in each.stacks.items() if profile.names}
        columns = (Column[str]("operator", lambda word: word.replace("_", " ")), *(
            Column[str](stack, profile.seconds.get, thousandths) for stack, profile in profiles.items()))
        operators = tuple(word for word in WORDS if any(word in profile.seconds for profile in profiles.values()))
        yield Table(f"Operators, in milliseconds a step, from profiled runs: {each.label}", columns,
                    (Group("", operators),), _OF_EXCHANGE, has_empty=True)
        yield from table(f"Operators, measured again by: {each.label}", _AGAIN, {
            "": [_Profiled(*item) for item in profiles.items() if item[1].rerun]}, is_extra=True)


def own_names(each: OperatorTable) -> Table[Texts]:
    """The frameworks' own names of operators behind each of the study's words."""
    lines = tuple((stack, word.replace("_", " ") or "none", name, thousandths(seconds))
                  for stack, profile in each.stacks.items() for word, names in profile.names.items()
                  for name, seconds in list(names.items())[:MOST_GROUPS])
    return plain(f"The frameworks' own names of operators: {each.label}", ("stack", "word", "own name", "ms a step"),
                 lines, f"The longest {MOST_GROUPS} of each word; those of no word may contain each other's time.",
                 is_extra=True)


# ---- memory of places

_MEMORY: tuple[Column[Result], ...] = (
    Column("stack", lambda result: result.stack),
    Column("together", lambda result: result.places_peak_bytes, formatting.size),
    Column("by place", lambda result: ", ".join(f"{node} {formatting.size(peak)}"
                                                for node, peak in result.place_peaks.items())),
)


def memory(compared: Sequence[Shown]) -> Iterator[Table[Result]]:
    """The peak memory of runs on several places, a line a stack."""
    yield from table("Peak memory of the places", _MEMORY, {
        shown.label: [result for result in shown.results if result.place_peaks] for shown in compared},
        is_extra=True)


# ---- kernels, graphs, largest batches

class _Device(NamedTuple):
    stack: str
    time: DeviceTime


class _Kernel(NamedTuple):
    stack: str
    name: str
    calls: float | None
    seconds: float


class _Graph(NamedTuple):
    stack: str
    change: GraphChange


class _Batch(NamedTuple):
    stack: str
    batch: LargestBatch


_KERNELS: tuple[Column[_Device], ...] = (
    Column("stack", lambda line: line.stack),
    Column("kernels", lambda line: line.time.kernel_seconds, thousandths, _PAGE),
    Column("copies", lambda line: line.time.copy_seconds, thousandths, _PAGE),
    Column("both at once", lambda line: line.time.overlap_seconds, thousandths, _PAGE),
    Column("gaps", lambda line: line.time.gap_seconds, thousandths, _PAGE),
    Column("in kernels", lambda line: line.time.kernels, formatting.share),
    Column("in copies", lambda line: line.time.copies, formatting.share),
    Column("in gaps", lambda line: line.time.gaps, formatting.share),
    Column("launching", lambda line: line.time.launches, formatting.share),
    Column("kernels a step", lambda line: line.time.kernels_a_step, "{:,.0f}".format),
    Column("again", lambda line: line.time.rerun, forms=_PAGE),
)
_LONGEST_KERNELS: tuple[Column[_Kernel], ...] = (
    Column("stack", lambda line: line.stack, forms=_PAGE),
    Column("kernel", lambda line: line.name, forms=_PAGE),
    Column("calls a step", lambda line: line.calls, "{:,.0f}".format, _PAGE),
    Column("ms a step", lambda line: line.seconds, thousandths, _PAGE),
)
_GRAPHS: tuple[Column[_Graph], ...] = (
    Column("stack", lambda line: line.stack),
    Column("before", lambda line: line.change.nodes_before, "{:,}".format),
    Column("after", lambda line: line.change.nodes_after, "{:,}".format),
    Column("removed", lambda line: line.change.removed_share, formatting.share),
    *(Column(title, lambda line, kind=kind: line.change.removed.get(kind), "{:,}".format)  # type: ignore[misc]
      for kind, title in (("expensive", "expensive"), ("cheap", "cheap"), ("noop", "no-op"))),
    Column("again", lambda line: line.change.rerun, forms=_PAGE),
)
_BATCHES: tuple[Column[_Batch], ...] = (
    Column("stack", lambda line: line.stack),
    Column("largest", lambda line: line.batch.largest, "{:,}".format),
    Column("out of memory", lambda line: line.batch.smallest_oom or "not met", lambda batch: (
        batch if isinstance(batch, str) else f"{batch:,}")),
    Column("limit", lambda line: formatting.size(line.batch.limit_bytes) if line.batch.limit_bytes else "the GPU's"),
    Column("tried", lambda line: ", ".join(f"{each.batch:,} {each.ending}" for each in line.batch.tried), forms=_PAGE),
    Column("again", lambda line: line.batch.rerun, forms=_PAGE),
)


def kernels(tables: Sequence[KernelTable]) -> Iterator[Table[Any]]:
    """Where the device's time goes: shares of it, and on the page milliseconds of a step and the longest kernels."""
    groups = {each.label: [_Device(*item) for item in each.stacks.items()] for each in tables}
    sources = [f"{line.stack}: {line.time.source}." for lines in groups.values() for line in lines if line.time.source]
    note = "Times in milliseconds a step, and shares of the device's time."
    yield from table("Where the device's time goes, from profiled runs", _KERNELS, groups,
                     " ".join([note, *dict.fromkeys(sources)]))
    yield from table("The kernels that take longest, in the first run", _LONGEST_KERNELS,
                     {label: list(_longest(lines)) for label, lines in groups.items()}, is_extra=True)


def kernel_charts(tables: Sequence[KernelTable]) -> Iterator[Chart]:
    """Of each stack the longest kernels, as shares of the time of all that were told."""
    groups = [(stack if len(tables) == 1 else f"{stack}: {each.label}", tuple(
        Mark(name, index, 100 * seconds / sum(time.top.values()), None, None,
             formatting.share(seconds / sum(time.top.values())))
        for index, (name, seconds) in enumerate(list(time.top.items())[:_MOST_KERNELS])))
        for each in tables for stack, time in each.stacks.items() if sum(time.top.values())]
    if groups:
        kept = fitting(groups)
        yield Dots("The longest kernels, of the GPU's time" + cut(len(kept), len(groups)), "%", kept, is_bars=True)


def _longest(lines: Sequence[_Device]) -> Iterator[_Kernel]:
    for stack, time in lines:
        yield from (_Kernel(stack, name, time.top_calls.get(name), seconds) for name, seconds in time.top.items())


def graphs(tables: Sequence[GraphTable]) -> Iterator[Table[Any]]:
    """Nodes before and after, and what those did that went."""
    yield from table("Nodes of the graph", _GRAPHS, _lines(tables, _Graph),
                     "Removed: net of nodes that were added; then those that went, by what they did.")


def largest_batches(tables: Sequence[BatchTable]) -> Iterator[Table[Any]]:
    """The largest batch that trains."""
    yield from table("The largest batch that trains", _BATCHES, _lines(tables, _Batch),
                     "Each batch was tried in a fresh process; the least of the runs.")


L = TypeVar("L", _Graph, _Batch)


def _lines(tables: Sequence[GraphTable] | Sequence[BatchTable], line: type[L]) -> Mapping[str, list[L]]:
    return {each.label: [line(stack, value) for stack, value in each.stacks.items()] for each in tables}  # type: ignore[arg-type]
