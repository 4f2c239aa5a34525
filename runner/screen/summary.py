"""The summary of a session."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from runner import formatting
from runner.analysis.stats import Verdict
from runner.analysis.summary_format import Comparison, Failure, Result, Summary
from runner.report import claim_text, columns, environment
from runner.report.rates import machine_limits
from runner.screen import judged, observed
from runner.screen.page import GAP, Entry, Page, View, skips

_LABEL_WIDTH = 15              # "batch 42, 32 px": a narrower label would break within its parts
_LONGEST_MESSAGE = 300         # of a failed run; all of it stands in events.jsonl
_STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "red"}


class SummaryView(View):
    """A Summary: one table with a column a stack where that fits, else a block a comparison with a line a stack."""

    def __init__(self, summary: Summary, has_commands: bool = False) -> None:
        self._summary, self._has_commands = summary, has_commands
        self._marks = {note.flag: str(number) for number, note in enumerate(summary.footnotes, 1)}

    def parts(self, page: Page) -> Iterable[RenderableType]:
        """Head, rates, what else was seen, failures, footnotes, how to read it."""
        yield from self._head(page)
        if self._summary.comparisons:
            yield ""
            yield from self._columns(page) or self._blocks(page)
        yield from observed.beside(self._summary, page)
        for line in machine_limits(self._summary):
            yield page.text(line, "dim")
        yield from observed.breakdowns(self._summary, page)
        yield from judged.published(self._summary, page)
        yield from judged.verdicts(self._summary, page)
        yield from judged.means(self._summary, page)
        yield from self._outliers(page)
        yield from self._failures(page)
        yield from self._skipped(page)
        yield from self._notes(page)
        yield from self._reading(page)
        yield from self._again(page)

    def _head(self, page: Page) -> Iterator[RenderableType]:
        summary, machine = self._summary, self._summary.machine
        names = dict.fromkeys(each.name + (" (stand-in)" if each.is_stand_in else "") for each in summary.data)
        facts = [summary.study, formatting.count(summary.rounds, "round"), summary.launcher, *names]
        yield page.text(f"{summary.id}: " + ", ".join(fact for fact in facts if fact), "bold")
        here = [machine.cpu, machine.cpus and formatting.count(machine.cpus, "CPU"),
                machine.memory_bytes and formatting.size(machine.memory_bytes), machine.system]
        yield page.text("measured on " + (", ".join(str(fact) for fact in here if fact) or "an unknown machine"))
        if own := environment.of_own(summary):
            yield page.text(own)
        if not summary.is_complete:
            yield page.text("NOT COMPLETE: the session has not run to its end.", "bold yellow")

    def _columns(self, page: Page) -> list[RenderableType]:
        """The table with a column a stack; empty where it does not fit."""
        names = [column.stack for column in self._summary.columns]
        widths, cells = list(map(len, names)), []
        for comparison in self._summary.comparisons:
            row = [self._cell(page, comparison, name) for name in names]
            widths = [max(width, *map(len, cell.plain.split("\n"))) for width, cell in zip(widths, row, strict=True)]
            if sum(widths) + GAP * len(names) + _LABEL_WIDTH > page.width:
                return []
            cells.append(row)
        table = page.table(["samples/s", *names])
        for width, column in zip(widths, table.columns[1:], strict=True):
            column.min_width, column.no_wrap = width, True
        for comparison, row in zip(self._summary.comparisons, cells, strict=True):
            table.add_row(page.text(comparison.label), *row, end_section=True)
        return [table]

    def _cell(self, page: Page, comparison: Comparison, name: str) -> Text:
        result = next((result for result in comparison.results if result.stack == name), None)
        if result is None:
            return page.text("-")
        if result.rate_per_worker is None:
            return page.lines(page.text(line) for line in columns.ended(result.endings, "x"))
        texts = [page.text(formatting.rate(result.rate_per_worker, result.rate_interval)), page.text(_ratio(result)),
                 page.text(*self._verdict(comparison, result)), page.text(claim_text.smallest(result)),
                 page.text(self._marked(comparison, result))]
        return page.lines(text for text in texts if text)

    def _verdict(self, comparison: Comparison, result: Result) -> tuple[str, str]:
        """The word and its style."""
        style = "bold green" if result.stack == comparison.winner else _STYLES.get(result.verdict, "")
        return claim_text.word(comparison, result, "WINNER"), style

    def _marked(self, comparison: Comparison, result: Result) -> str:
        return columns.marks(columns.Line(self._summary, comparison, result))

    def _blocks(self, page: Page) -> Iterator[RenderableType]:
        """For each comparison its label and a line a stack."""
        titles = ["", "samples/s", f"to {self._summary.baseline}", "", ""]
        yield from page.sections(titles, [
            (comparison.label, [self._line(page, comparison, result) for result in comparison.results])
            for comparison in self._summary.comparisons])

    def _line(self, page: Page, comparison: Comparison, result: Result) -> list[Entry]:
        name = page.entry(result.stack, "bold green" if result.stack == comparison.winner else "")
        if result.rate_per_worker is None:
            return [name, page.entry(columns.endings(result.endings, "x")), *[page.entry("")] * 3]
        rate = formatting.rate(result.rate_per_worker, result.rate_interval)
        said, style = self._verdict(comparison, result)
        return [name, page.entry(rate), page.entry(_ratio(result)),
                page.entry(f"{said} {claim_text.smallest(result)}".rstrip(), style),
                page.entry(self._marked(comparison, result))]

    def _outliers(self, page: Page) -> Iterator[RenderableType]:
        outliers = [(comparison.label, result) for comparison in self._summary.comparisons
                    for result in comparison.results if result.outlier_rounds]
        if outliers:
            yield ""
            yield page.text("Runs far from the others of their cell (they count all the same):", "bold")
        for label, result in outliers:
            yield page.item(f"{result.stack}, {label}, {_rounds(result.outlier_rounds)}")

    def _failures(self, page: Page) -> Iterator[RenderableType]:
        if self._summary.failures:
            yield ""
            yield page.text("Runs that did not end ok:", "bold")
        kinds: dict[tuple[str, ...], list[Failure]] = {}
        for failure in self._summary.failures:
            message = failure.message if len(failure.message) <= _LONGEST_MESSAGE else (
                failure.message[:_LONGEST_MESSAGE] + "...")
            which = "" if failure.ending == "unsupported" else failure.label     # one reason for many cells
            kinds.setdefault((failure.stack, which, failure.ending, message), []).append(failure)
        for (stack, _, ending, message), alike in kinds.items():
            labels, rounds = dict.fromkeys(each.label for each in alike), sorted({each.round for each in alike})
            what = next(iter(labels)) if len(labels) == 1 else formatting.count(len(labels), "cell")
            yield page.item(f"{stack}, {what}, {_rounds(rounds)}: {ending}" + (f": {message}" if message else ""))

    def _skipped(self, page: Page) -> Iterator[RenderableType]:
        yield from skips(page, [(skip.stack, skip.label, skip.reason) for skip in self._summary.skipped])

    def _notes(self, page: Page) -> Iterator[RenderableType]:
        if self._summary.footnotes:
            yield ""
        for note in self._summary.footnotes:
            yield page.text(f"[{self._marks[note.flag]}] {note.text}")

    def _reading(self, page: Page) -> Iterator[RenderableType]:
        if not self._summary.comparisons:
            return
        yield ""
        yield page.text(" ".join(claim_text.reading(self._summary, "WINNER")), "dim")

    def _again(self, page: Page) -> Iterator[RenderableType]:
        """The commands that measure each result again, or where they are to be found."""
        commands = list(columns.commands(self._summary))
        if not commands:
            return
        yield ""
        if self._has_commands:
            yield page.text("Measured again by:", "bold")
            yield from (page.item(f"{stack}, {label}: {command}") for label, stack, command in commands)
        else:
            rest = f"; `evenbench report {self._summary.id} --verbose` says it of each" if len(commands) > 1 else ""
            yield page.text(f"The first again: `{commands[0][-1]}`{rest}", "dim")


def _ratio(result: Result) -> str:
    if result.verdict is Verdict.BASELINE:
        return "baseline"
    return "" if result.ratio is None else formatting.ratio(result.ratio, result.ratio_interval)


def _rounds(rounds: Sequence[int]) -> str:
    return f"{'round' if len(rounds) == 1 else 'rounds'} {', '.join(map(str, rounds))}"


def summary_view(summary: Summary, has_commands: bool = False) -> RenderableType:
    """The summary, laid out for the console it is printed on; with the commands that measure each result again."""
    return SummaryView(summary, has_commands)
