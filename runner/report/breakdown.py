"""Where a step's time and memory go: phases, operators, kernels, graphs. Charts and tables. Pure."""

from collections.abc import Iterator, Sequence

from runner import formatting
from runner.analysis.summary_format import OperatorTable, Result
from runner.report.comparisons import MOST_GROUPS, Given, Shown, cut, fitting, thousandths, without_empty
from runner.report.document import Bar, Bars, Chart, Dots, Group, Mark, Table, plain
from runner.results.profiles import Kernels
from runner.results.rows import Row
from runner.study.quantities import PHASES

_MOST_CHARTS = 4


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


def phases(compared: Sequence[Shown]) -> Iterator[Table]:
    """Of stamped runs; none where there are none."""
    groups = tuple(Group(shown.label, tuple(_phase_line(result) for result in shown.results if result.phases))
                   for shown in compared if shown.comparison.measure == "phases")
    groups = tuple(group for group in groups if group.lines)
    if groups:
        yield without_empty(Table(
            "Phases of a step, in milliseconds, from stamped runs", ("stack", *PHASES, "seen", "step", "stamping adds"),
            groups, "Communication that is seen exposed is what does not overlap with the backward pass; full is all "
                    "of it. Stamping: against a plain step of this session."))


def _phase_line(result: Result) -> tuple[str, ...]:
    found = (result.phases.get(name) for name in PHASES)
    cost = "" if result.stamping_cost is None else f"{result.stamping_cost * 100:+.1f} %"
    return (result.stack, *(thousandths(seconds) for seconds in found),
            (result.communication or "") if "communication" in result.phases else "",
            thousandths(result.step_seconds), cost)


def operator_tables(given: Given, rows: Sequence[Row]) -> list[OperatorTable]:
    """The summary's that are about the rows."""
    labels = {row.comparison.label for row in rows if row.cell.measure == "operators"}
    return [table for table in given.summary.operators if table.label in labels]


def _operator_words(table: OperatorTable) -> list[str]:
    return list(dict.fromkeys(word for profile in table.stacks.values() for word in profile.seconds))


def operator_charts(given: Given, tables: Sequence[OperatorTable]) -> Iterator[Chart]:
    """A mark a stack and operator, for the first tables."""
    for table in tables[:_MOST_CHARTS]:
        groups = [(word.replace("_", " "), tuple(
            Mark(stack, given.series.get(stack, 0), profile.seconds[word] * 1000, None, None,
                 formatting.milliseconds(profile.seconds[word]))
            for stack, profile in table.stacks.items() if profile.seconds.get(word)))
            for word in _operator_words(table)]
        groups = [group for group in groups if group[1]]
        if groups:
            yield Dots(f"Operators: {table.label}", "milliseconds a step", tuple(groups))


def operators(table: OperatorTable) -> Table:
    """A line an operator, a column a stack."""
    stacks = [stack for stack, profile in table.stacks.items() if profile.names]
    lines = tuple((word.replace("_", " "), *(thousandths(table.stacks[stack].seconds.get(word)) for stack in stacks))
                  for word in _operator_words(table))
    return plain(f"Operators, in milliseconds a step, from profiled runs: {table.label}", ("operator", *stacks), lines,
                 "Calls of exchange overlap and wait for other workers: together they may exceed a step.")


def own_names(table: OperatorTable) -> Table:
    """What stands behind each word."""
    lines = tuple((stack, word.replace("_", " ") or "none", name, thousandths(seconds))
                  for stack, profile in table.stacks.items() for word, names in profile.names.items()
                  for name, seconds in list(names.items())[:MOST_GROUPS])
    return plain(f"The frameworks' own names of operators: {table.label}", ("stack", "word", "own name", "ms a step"),
                 lines, f"The longest {MOST_GROUPS} of each word; those of no word may contain each other's time.",
                 is_extra=True)


def memory(compared: Sequence[Shown]) -> Iterator[Table]:
    """Of runs on several places."""
    groups = tuple(Group(shown.label, tuple(
        (result.stack, formatting.size(sum(result.place_peaks.values())),
         ", ".join(f"{place} {formatting.size(peak)}" for place, peak in result.place_peaks.items()))
        for result in shown.results if result.place_peaks)) for shown in compared)
    groups = tuple(group for group in groups if group.lines)
    if groups:
        yield Table("Peak memory of the places", ("stack", "together", "by place"), groups, is_extra=True)


def _kernel_line(row: Row, found: Kernels) -> tuple[str, ...]:
    share = found.share(found.kernel_seconds)
    seconds = (found.kernel_seconds, found.copy_seconds, found.overlap_seconds, found.gap_seconds)
    return (row.cell.stack, row.comparison.label, *(thousandths(each / found.steps) for each in seconds),
            "" if share is None else formatting.share(share), f"{found.kernels / found.steps:.0f}")


def profiles(rows: Sequence[Row]) -> Iterator[Table]:
    """Of kernels, of graphs and of largest batches."""
    traced = [(row, found) for row in rows
              for found in [next((run.kernels for run in row.ok_runs if run.kernels), None)] if found]
    if traced:
        yield plain("Where the device's time goes, in milliseconds a step",
                    ("stack", "what", "kernels", "copies", "both at once", "gaps", "in kernels", "kernels a step"),
                    tuple(_kernel_line(row, found) for row, found in traced),
                    " ".join(dict.fromkeys(f"{row.cell.stack}: {found.source}." for row, found in traced
                                           if found.source)))
        yield plain("The kernels that take longest", ("stack", "what", "kernel", "calls a step", "ms a step"), tuple(
            (row.cell.stack, row.comparison.label, name, f"{calls / found.steps:.0f}",
             thousandths(seconds / found.steps))
            for row, found in traced for name, calls, seconds in found.top), is_extra=True)
    graphs = tuple((row.cell.stack, row.comparison.label, f"{found.nodes_before:,}", f"{found.nodes_after:,}",
                    formatting.share(found.removed_share), *(f"{count:,}" for _, count in found.removed))
                   for row in rows for found in [next((run.graph for run in row.ok_runs if run.graph), None)] if found)
    if graphs:
        yield plain("Nodes of the graph", ("stack", "what", "before", "after", "removed", "expensive", "cheap",
                                           "no operation"), graphs)
    batches = tuple((row.cell.stack, row.comparison.label, f"{found.largest:,}",
                     f"{found.smallest_oom:,}" if found.smallest_oom else "not met",
                     formatting.size(found.limit_bytes) if found.limit_bytes else "the GPU's",
                     ", ".join(f"{each.batch:,} {each.ending}" for each in found.tried))
                    for row in rows for run in row.ok_runs[:1] for found in [run.max_batch] if found)
    if batches:
        yield plain("The largest batch that trains", ("stack", "what", "largest", "out of memory", "limit", "tried"),
                    batches, "Each batch was tried in a fresh process; the first run of each cell.")
