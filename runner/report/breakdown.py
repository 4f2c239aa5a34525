"""Where a step's time and memory go: phases, operators, kernels, graphs, largest batches. Charts and tables. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from runner import formatting
from runner.analysis.summary_format import Comparison, DeviceTime, Profile, ProfileTable, Result, Summary, Told
from runner.report.document import MOST_GROUPS, Chart, Dots, Mark, fitted
from runner.report.tables import Column, Form, Table, Texts, plain, table, texts
from runner.results.rows import Row
from runner.study.operators import WORDS
from runner.study.quantities import PHASES

_MOST_CHARTS = 4
_MOST_KERNELS = 5              # of a stack, as in mahorker's Figure 5: the top few
_SHORT = {"communication": "comm."}    # titles of phases that would be too wide


def _thousandths(seconds: float) -> str:
    """Milliseconds without their unit."""
    return formatting.number(seconds * 1000)


def _told(tables: Iterable[ProfileTable[Told]], rows: Sequence[Row]) -> dict[str, list[tuple[str, Told]]]:
    """Stacks and what they told, by the label of what is about these rows."""
    labels = {row.comparison.label for row in rows}
    return {each.label: list(each.stacks.items()) for each in tables if each.label in labels}


def charts(summary: Summary, compared: Sequence[Comparison], rows: Sequence[Row], series: Mapping[str, int]
           ) -> Iterator[Chart]:
    """All charts of this module about these comparisons and rows."""
    yield from fitted("Phases of a step", "milliseconds a step", (
        (each.label, tuple(_bar(result) for result in each.results if result.phases))
        for each in compared if each.measure == "phases"), is_bars=True)
    for label, profiles in list(_told(summary.operators, rows).items())[:_MOST_CHARTS]:
        yield from _operator_chart(label, profiles, series)
    yield from _kernel_charts(_told(summary.kernels, rows))


def _bar(result: Result) -> Mark:
    step = sum(result.phases.values())
    return Mark(result.stack, 0, step * 1000, formatting.milliseconds(step), parts=tuple(
        (name, result.phases[name] * 1000) for name in PHASES if name in result.phases))


def _operator_chart(label: str, profiles: Sequence[tuple[str, Profile]], series: Mapping[str, int]) -> Iterator[Chart]:
    """A mark a stack and operator."""
    groups = [(word.replace("_", " "), tuple(
        Mark(stack, series.get(stack, 0), profile.seconds[word] * 1000, formatting.milliseconds(profile.seconds[word]))
        for stack, profile in profiles if profile.seconds.get(word))) for word in WORDS]
    groups = [group for group in groups if group[1]]
    if groups:
        yield Dots(f"Operators: {label}", "milliseconds a step", tuple(groups))


def _kernel_charts(told: Mapping[str, Sequence[tuple[str, DeviceTime]]]) -> Iterator[Chart]:
    """Of each stack the longest kernels, as shares of the time of all that were told."""
    yield from fitted("The longest kernels, of the GPU's time", "%", (
        (stack if len(told) == 1 else f"{stack}: {label}", tuple(
            Mark(name, index, 100 * seconds / whole, formatting.share(seconds / whole))
            for index, (name, seconds) in enumerate(list(time.top.items())[:_MOST_KERNELS])))
        for label, times in told.items() for stack, time in times if (whole := sum(time.top.values()))), is_bars=True)


def tables(summary: Summary, compared: Sequence[Comparison], rows: Sequence[Row]) -> Iterator[Table[Any]]:
    """All tables of this module about these comparisons and rows."""
    yield from table("Phases of a step, in milliseconds, from stamped runs", _PHASES, {
        each.label: [(result.stack, result) for result in each.results if result.phases]
        for each in compared if each.measure == "phases"},
        "Communication that is seen exposed is what does not overlap with the backward pass; full is all of it. "
        "Stamps: what stamping adds to a plain step of this session. Phases are medians over runs, a step is their "
        "geometric mean.")
    for label, profiles in _told(summary.operators, rows).items():
        yield from _operators(label, {stack: profile for stack, profile in profiles if profile.names})
    yield from _kernels(_told(summary.kernels, rows))
    yield from table("Nodes of the graph", _GRAPHS, _told(summary.graphs, rows),
                     "Removed: net of nodes that were added; then those that went, by what they did.")
    yield from table("The largest batch that trains", _BATCHES, _told(summary.largest_batches, rows),
                     "Each batch was tried in a fresh process; the least of the runs.")
    yield from table("Peak memory of the places", texts("stack", "together", "by place"), {
        each.label: [(result.stack, formatting.size(result.places_peak_bytes) if result.places_peak_bytes else "",
                      ", ".join(f"{node} {formatting.size(peak)}" for node, peak in result.place_peaks.items()))
                     for result in each.results if result.place_peaks] for each in compared}, is_extra=True)


def _operators(label: str, profiles: Mapping[str, Profile]) -> Iterator[Table[Any]]:
    """A line an operator, a column a stack."""
    columns = (Column[str]("operator", lambda word: word.replace("_", " ")), *(
        Column[str](stack, profile.seconds.get, _thousandths) for stack, profile in profiles.items()))
    operators = tuple(word for word in WORDS if any(word in profile.seconds for profile in profiles.values()))
    yield Table(f"Operators, in milliseconds a step, from profiled runs: {label}", columns, (("", operators),),
                "Calls of exchange overlap and wait for other workers: together they may exceed a step.",
                has_empty=True)
    yield from plain(f"Operators, measured again by: {label}", ("stack", "again"), [
        (stack, profile.rerun) for stack, profile in profiles.items() if profile.rerun], is_extra=True)


def own_names(summary: Summary, rows: Sequence[Row]) -> Iterator[Table[Texts]]:
    """The frameworks' own names of operators behind each of the study's."""
    for label, profiles in _told(summary.operators, rows).items():
        yield from plain(
            f"The frameworks' own names of operators: {label}", ("stack", "operator", "own name", "ms a step"), [
                (stack, word.replace("_", " ") or "none", name, _thousandths(seconds))
                for stack, profile in profiles for word, names in profile.names.items()
                for name, seconds in list(names.items())[:MOST_GROUPS]],
            f"The longest {MOST_GROUPS} of each; those of none may contain each other's time.", is_extra=True)


def _columns(*told: tuple[Any, ...]) -> tuple[Column[tuple[str, Any]], ...]:
    """Of lines of a stack and what it told: each that, what the others say of it, and what measures it again."""
    return (Column("stack", itemgetter(0)), *(
        Column(title, lambda line, of=of: of(line[1]), *more)                                    # type: ignore[misc]
        for title, of, *more in (*told, ("again", attrgetter("rerun"), str, Form.PAGE))))


_PHASES = _columns(
    *((_SHORT.get(name, name), lambda result, name=name: result.phases.get(name), _thousandths) for name in PHASES),
    ("seen", lambda result: result.communication if "communication" in result.phases else None),
    ("step", attrgetter("step_seconds"), _thousandths),
    ("stamps", attrgetter("stamping_cost"), lambda cost: f"{cost * 100:+.1f} %"))
_KERNELS = _columns(
    *((title, attrgetter(f"{name}_seconds"), _thousandths, Form.PAGE) for title, name in (
        ("kernels", "kernel"), ("copies", "copy"), ("both at once", "overlap"), ("gaps", "gap"))),
    *((title, attrgetter(name), formatting.share) for title, name in (
        ("in kernels", "kernels"), ("in copies", "copies"), ("in gaps", "gaps"), ("launching", "launches"))),
    ("kernels a step", attrgetter("kernels_a_step"), "{:,.0f}".format))
_GRAPHS = _columns(
    ("before", attrgetter("nodes_before"), "{:,}".format), ("after", attrgetter("nodes_after"), "{:,}".format),
    ("removed", attrgetter("removed_share"), formatting.share),
    *((kind.replace("noop", "no-op"), lambda graph, kind=kind: graph.removed.get(kind), "{:,}".format)
      for kind in ("expensive", "cheap", "noop")))
_BATCHES = _columns(
    ("largest", attrgetter("largest"), "{:,}".format),
    ("out of memory", lambda batch: f"{batch.smallest_oom:,}" if batch.smallest_oom else "not met"),
    ("limit", lambda batch: formatting.size(batch.limit_bytes) if batch.limit_bytes else "the GPU's"),
    ("tried", lambda batch: ", ".join(f"{each.batch:,} {each.ending}" for each in batch.tried), str, Form.PAGE))


def _kernels(groups: Mapping[str, Sequence[tuple[str, DeviceTime]]]) -> Iterator[Table[Any]]:
    """Where the device's time goes: shares of it, and on the page milliseconds of a step and the longest kernels."""
    sources = dict.fromkeys(f"{stack}: {time.source}." for lines in groups.values() for stack, time in lines
                            if time.source)
    yield from table("Where the device's time goes, from profiled runs", _KERNELS, groups, " ".join(
        ["Times in milliseconds a step, and shares of the device's time.", *sources]))
    yield from table("The kernels that take longest, in the first run",
                     texts("stack", "kernel", "calls a step", "ms a step"), {
                         label: [(stack, name, f"{time.top_calls[name]:,.0f}" if name in time.top_calls else "",
                                  _thousandths(seconds))
                                 for stack, time in lines for name, seconds in time.top.items()]
                         for label, lines in groups.items()}, is_extra=True)
