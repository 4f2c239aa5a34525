"""What was observed beside the rates: tokens, power, phases, operators, memory."""

from collections.abc import Iterator

from rich.console import RenderableType

from runner import words
from runner.operators import WORDS
from runner.quantities import PHASES
from runner.screen.page import Page
from runner.summary_format import Result, Summary


def tokens(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """What of sequences was real and what was padding, a line a stack."""
    blocks = [(comparison.label, [[page.text(result.stack), page.text(words.number(result.tokens_per_second)),
                                   page.text(words.number(result.padded_tokens_per_second))]
                                  for result in comparison.results
                                  if result.tokens_per_second is not None
                                  and result.padded_tokens_per_second is not None])
              for comparison in summary.comparisons]
    if any(lines for _, lines in blocks):
        yield ""
        yield from page.sections(["", "tokens/s", "with padding"], [each for each in blocks if each[1]])


def energy(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """What GPUs drew, a line a stack."""
    blocks = [(comparison.label, [[page.text(fact) for fact in _drawn(result)]
                                  for result in comparison.results if result.gpu_watts is not None])
              for comparison in summary.comparisons]
    if any(lines for _, lines in blocks):
        yield ""
        yield from page.sections(["", "GPU power", "a sample", "SM clock"], [each for each in blocks if each[1]])


def breakdown(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """Phases, a line a stack: milliseconds of a step, and what stamping them costs."""
    blocks = [(comparison.label, [[page.text(fact) for fact in _phases(result)]
                                  for result in comparison.results if result.phases])
              for comparison in summary.comparisons if comparison.measure == "phases"]
    if any(lines for _, lines in blocks):
        yield ""
        yield page.text("Phases of a step, in milliseconds, from stamped runs:", "bold")
        titles = ["", "load", "forward", "backward", "comm.", "update", "dispatch", "step", "stamps"]
        yield from page.sections(titles, [block for block in blocks if block[1]])
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
        yield from page.sections(["", *names], [(table.label, [[page.text(fact) for fact in line]
                                                               for line in lines])])
    yield page.text("Calls of exchange overlap and wait for other workers: together they may exceed a step.", "dim")


def memory(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """Peak memory of the places, a line a stack."""
    blocks = [(comparison.label,
               [[page.text(result.stack), page.text(words.size(sum(result.place_peaks.values()))),
                 page.text(", ".join(f"{place} {words.size(peak)}" for place, peak in result.place_peaks.items()))]
                for result in comparison.results if result.place_peaks])
              for comparison in summary.comparisons if comparison.measure == "train"]
    if any(lines for _, lines in blocks):
        yield ""
        yield page.text("Peak memory of the places:", "bold")
        yield from page.sections(["", "together", "by place"], [block for block in blocks if block[1]])


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


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else words.number(seconds * 1000)
