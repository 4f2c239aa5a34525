"""What was observed beside the rates: tokens, power, phases, operators, kernels, graphs, memory."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from runner import formatting
from runner.analysis.summary_format import Result, Summary
from runner.screen.page import Page
from runner.study.operators import WORDS
from runner.study.quantities import PHASES


def tokens(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """What of sequences was real and what was padding, a line a stack."""
    yield from _tables(page, "", ["", "tokens/s", "with padding"],
                       [(comparison.label, [[result.stack, formatting.number(result.tokens_per_second),
                                             formatting.number(result.padded_tokens_per_second)]
                                            for result in comparison.results
                                            if result.tokens_per_second is not None
                                            and result.padded_tokens_per_second is not None])
                        for comparison in summary.comparisons])


def energy(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """What GPUs drew, a line a stack."""
    yield from _tables(page, "", ["", "GPU power", "a sample", "SM clock"],
                       [(comparison.label, [_drawn(result) for result in comparison.results
                                            if result.gpu_watts is not None])
                        for comparison in summary.comparisons])


def breakdown(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """Phases, a line a stack: milliseconds of a step, and what stamping them costs."""
    shown = list(_tables(page, "Phases of a step, in milliseconds, from stamped runs:",
                         ["", "load", "forward", "backward", "comm.", "update", "dispatch", "step", "stamps"],
                         [(comparison.label, [_phases(result) for result in comparison.results if result.phases])
                          for comparison in summary.comparisons if comparison.measure == "phases"]))
    yield from shown
    if shown:
        yield page.text("comm.: e is exposed time, what does not overlap with the backward pass; f is all of it. "
                        "stamps: what stamping adds to a plain step.", "dim")


def operators(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """A table a comparison: a line an operator, a column a stack."""
    if not summary.operators:
        return
    yield ""
    yield page.text("Operators, in milliseconds a step, from profiled runs:", "bold")
    for table in summary.operators:
        names = [name for name, profile in table.stacks.items() if profile.names]
        lines = [[word.replace("_", " "), *(_milliseconds(table.stacks[name].seconds.get(word)) for name in names)]
                 for word in WORDS if any(word in table.stacks[name].seconds for name in names)]
        yield from page.sections(["", *names], [(table.label, [[page.entry(fact) for fact in line]
                                                               for line in lines])])
    yield page.text("Calls of exchange overlap and wait for other workers: together they may exceed a step.", "dim")


def kernels(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """Where the device's time goes, a line a stack."""
    yield from _tables(page, "Where the device's time goes, from profiled runs:",
                       ["", "kernels", "copies", "gaps", "launches", "kernels a step"],
                       [(table.label, [[name, *map(_share, (found.kernels, found.copies, found.gaps, found.launches)),
                                        "-" if found.kernels_a_step is None
                                        else formatting.number(found.kernels_a_step)]
                                       for name, found in table.stacks.items()]) for table in summary.kernels])


def graphs(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """Nodes before and after, and what those that went did, a line a stack."""
    yield from _tables(page, "Nodes of the graph:",
                       ["", "before", "after", "expensive gone", "cheap gone", "no-op gone"],
                       [(table.label, [[name, *(f"{count:,}" for count in (found.nodes_before, found.nodes_after,
                                                                           *found.removed.values()))]
                                       for name, found in table.stacks.items()]) for table in summary.graphs])


def largest_batches(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """The largest batch that trains, a line a stack."""
    yield from _tables(page, "The largest batch that trains:", ["", "trains", "out of memory", "limit"],
                       [(table.label, [[name, f"{found.largest:,}",
                                        f"{found.smallest_oom:,}" if found.smallest_oom else "not met",
                                        formatting.size(found.limit_bytes) if found.limit_bytes else "the GPU's"]
                                       for name, found in table.stacks.items()]) for table in summary.largest_batches])


def memory(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """Peak memory of the places, a line a stack."""
    yield from _tables(page, "Peak memory of the places:", ["", "together", "by place"],
                       [(comparison.label,
                         [[result.stack, formatting.size(sum(result.place_peaks.values())),
                           ", ".join(f"{place} {formatting.size(peak)}" for place, peak in result.place_peaks.items())]
                          for result in comparison.results if result.place_peaks])
                        for comparison in summary.comparisons if comparison.measure == "train"])


def _tables(page: Page, title: str, titles: Sequence[str], blocks: Sequence[tuple[str, Sequence[Sequence[str]]]],
            ) -> Iterator[RenderableType]:
    """The blocks that have lines, under a title where it is not empty; nothing where none has lines."""
    filled = [(label, [[page.entry(fact) for fact in line] for line in lines]) for label, lines in blocks if lines]
    if filled:
        yield ""
        if title:
            yield page.text(title, "bold")
        yield from page.sections(titles, filled)


def _drawn(result: Result) -> list[str]:
    """The stack, watts, joules of a sample and clock."""
    shown = [(result.gpu_watts, "{:.0f} W"), (result.joules_per_sample, "{:.3g} J"),
             (result.gpu_sm_clock and result.gpu_sm_clock / 1e6, "{:.0f} MHz")]
    return [result.stack, *("-" if value is None else text.format(value) for value, text in shown)]


def _phases(result: Result) -> list[str]:
    """A line of the breakdown."""
    seen = {"exposed": " e", "full": " f"}.get(result.communication or "", "")
    found = [_milliseconds(result.phases.get(name)) for name in PHASES]
    found[3] += seen if "communication" in result.phases else ""
    cost = "-" if result.stamping_cost is None else f"{result.stamping_cost * 100:+.1f} %"
    return [result.stack, *found, _milliseconds(result.step_seconds), cost]


def _share(value: float | None) -> str:
    return "-" if value is None else formatting.share(value)


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else formatting.number(seconds * 1000)
