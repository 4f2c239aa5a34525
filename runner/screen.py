"""What people see: results on standard output, progress and messages on standard error. Only this module imports rich.

Every text that could come from a file goes through words.clean, and none is read as markup; colour only repeats what a
word already says.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from runner import claim_words, claims, words
from runner.cell import label as cell_label
from runner.flags import Flag
from runner.operators import WORDS
from runner.quantities import PHASES
from runner.session import Progress
from runner.stats import Verdict
from runner.summary_format import Comparison, Result, Summary
from workloads.spec.cell import parse

_GAP = 2                       # between columns
_INDENT = 2
_LEAST_WIDTH = 8               # of a column that must give way
_LABEL_WIDTH = 15              # "batch 42, 32 px": a narrower label would break within its parts
_NAME_WIDTH = 20               # of a list's columns that keep their words whole, where all of them have room
_LONGEST_MESSAGE = 300         # of a failed run; all of it stands in events.jsonl
_STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "red"}
_CLAIM_STYLES = {claims.Verdict.HOLDS: "green", claims.Verdict.DOES_NOT_HOLD: "red"}
_GRADES = {"good": "green", "note": "yellow", "fails": "bold red"}


def show(renderable: RenderableType) -> None:
    """Print a result on standard output."""
    Console(markup=False, highlight=False, emoji=False).print(renderable)


def say(text: str) -> None:
    """Tell people something, on standard error, in a line of its own however long."""
    _people().print(words.clean(text), soft_wrap=True)


def _people() -> Console:
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


class _View:
    """Lines and tables that know how wide the console is and which letters it has."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        page = _Page(options.max_width, options.ascii_only)
        yield from self.parts(page)

    def parts(self, page: "_Page") -> Iterable[RenderableType]:
        """What to print, from top to bottom."""
        raise NotImplementedError


class _Page:
    """The width and the letters of a console, and texts made for it."""

    def __init__(self, width: int, is_ascii: bool) -> None:
        self.width = width
        self._is_ascii = is_ascii

    def text(self, words_: object, style: str = "") -> Text:
        """A Text of one line, harmless."""
        cleaned = words.clean(words_)
        return Text(words.in_ascii(cleaned) if self._is_ascii else cleaned, style)

    def lines(self, texts: Iterable[Text]) -> Text:
        """Texts under each other."""
        return Text("\n").join(list(texts))

    def item(self, words_: object) -> RenderableType:
        """A line of a list, its continuation indented."""
        return Padding(self.text(words_), (0, 0, 0, 2))

    def table(self, titles: Sequence[str], gap: int = _GAP + 1) -> Table:
        """An empty table; gap: letters between columns, one of them the box's own."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap - 1, 0, 0), show_edge=False,
                      header_style="bold")
        for title in titles:
            table.add_column(self.text(title), overflow="fold")
        return table

    def sections(self, titles: Sequence[str], blocks: Sequence[tuple[str, Sequence[Sequence[Text]]]],
                 ) -> Iterator[RenderableType]:
        """The titles, then each block's label and its rows, the columns as wide in all of them."""
        rows = [row for _, block in blocks for row in block]
        widths = [max([len(title), *(row[i].cell_len for row in rows)]) for i, title in enumerate(titles)]
        widths = _narrowed(widths, self.width - _INDENT - _GAP * (len(widths) - 1))
        yield self._grid(widths, [[self.text(title, "bold") for title in titles]])
        for label, block in blocks:
            yield self.text(label, "bold")
            yield self._grid(widths, block)

    def _grid(self, widths: Sequence[int], rows: Sequence[Sequence[Text]]) -> RenderableType:
        grid = Table.grid(padding=(0, _GAP, 0, 0))
        for width in widths:
            grid.add_column(width=width, overflow="fold")
        for row in rows:
            grid.add_row(*row)
        return Padding(grid, (0, 0, 0, _INDENT))


def _narrowed(widths: Sequence[int], room: int) -> list[int]:
    """The widths, the widest column made narrower until all fit, none below a readable one."""
    found = list(widths)
    while sum(found) > room and max(found) > _LEAST_WIDTH:
        found[found.index(max(found))] -= 1
    return found


class SummaryView(_View):
    """A Summary: a row a comparison and a column a stack where they fit, else a block a comparison, a line a stack."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._marks = {note.flag: str(number) for number, note in enumerate(summary.footnotes, 1)}

    def parts(self, page: _Page) -> Iterable[RenderableType]:
        """Head, rates, what else was seen, failures, footnotes, how to read it."""
        yield from self._head(page)
        if self._summary.comparisons:
            yield ""
            yield from self._columns(page) or self._blocks(page)
            yield ""
            yield from self._seen(page)
        yield from self._breakdown(page)
        yield from self._energy(page)
        yield from self._operators(page)
        yield from self._memory(page)
        yield from self._published(page)
        yield from self._claims(page)
        yield from self._means(page)
        yield from self._outliers(page)
        yield from self._failures(page)
        yield from self._skipped(page)
        yield from self._notes(page)
        yield from self._reading(page)

    def _head(self, page: _Page) -> Iterator[RenderableType]:
        summary, machine = self._summary, self._summary.machine
        names = dict.fromkeys(each.name + (" (stand-in)" if each.is_stand_in else "") for each in summary.data)
        facts = [summary.study, words.count(summary.rounds, "round"), summary.launcher, *names]
        yield page.text(f"{summary.id}: " + ", ".join(fact for fact in facts if fact), "bold")
        here = [machine.cpu, machine.cpus and words.count(machine.cpus, "CPU"),
                machine.memory_bytes and words.size(machine.memory_bytes), machine.system]
        yield page.text("measured on " + (", ".join(str(fact) for fact in here if fact) or "an unknown machine"))
        if not summary.is_complete:
            yield page.text("NOT COMPLETE: the session has not run to its end.", "bold yellow")

    def _columns(self, page: _Page) -> list[RenderableType]:
        """The table with a column a stack; empty where it does not fit."""
        names = [column.stack for column in self._summary.columns]
        cells = [[self._cell(page, comparison, name) for name in names] for comparison in self._summary.comparisons]
        widths = [max(len(line) for line in [name, *(line for row in cells for line in row[i].plain.split("\n"))])
                  for i, name in enumerate(names)]
        if sum(widths) + _GAP * len(names) + _LABEL_WIDTH > page.width:
            return []
        table = page.table(["samples/s", *names])
        for width, column in zip(widths, table.columns[1:], strict=True):
            column.min_width, column.no_wrap = width, True
        for comparison, row in zip(self._summary.comparisons, cells, strict=True):
            table.add_row(page.text(comparison.label), *row, end_section=True)
        return [table]

    def _cell(self, page: _Page, comparison: Comparison, name: str) -> Text:
        result = next((result for result in comparison.results if result.stack == name), None)
        if result is None:
            return page.text("-")
        if result.rate_per_worker is None:
            return page.lines(page.text(line) for line in self._endings(result))
        texts = [page.text(words.rate(result.rate_per_worker, result.rate_interval)), page.text(_ratio(result)),
                 self._verdict(page, comparison, result), page.text(self._marked(result.flags))]
        return page.lines(text for text in texts if text)

    def _verdict(self, page: _Page, comparison: Comparison, result: Result) -> Text:
        if result.stack == comparison.winner:
            return page.text("WINNER", "bold green")
        said = "" if result.verdict is Verdict.BASELINE else result.verdict.value
        return page.text(said, _STYLES.get(result.verdict, ""))

    def _marked(self, flags: Iterable[Flag]) -> str:
        marks = ",".join(self._marks[flag] for flag in flags)
        return f"[{marks}]" if marks else ""

    def _endings(self, result: Result) -> list[str]:
        endings = [f"{ending} x{count}" if count > 1 else ending for ending, count in result.endings.items()]
        return endings or ["not run"]

    def _blocks(self, page: _Page) -> Iterator[RenderableType]:
        """For each comparison its label and a line a stack."""
        titles = ["", "samples/s", f"to {self._summary.baseline}", "", ""]
        yield from page.sections(titles, [
            (comparison.label, [self._line(page, comparison, result) for result in comparison.results])
            for comparison in self._summary.comparisons])

    def _line(self, page: _Page, comparison: Comparison, result: Result) -> list[Text]:
        name = page.text(result.stack, "bold green" if result.stack == comparison.winner else "")
        if result.rate_per_worker is None:
            return [name, page.text(", ".join(self._endings(result))), *[page.text("")] * 3]
        return [name, page.text(words.rate(result.rate_per_worker, result.rate_interval)), page.text(_ratio(result)),
                self._verdict(page, comparison, result), page.text(self._marked(result.flags))]

    def _seen(self, page: _Page) -> Iterator[RenderableType]:
        """What was measured beside the rates, a line a stack."""
        titles = ["", "ok runs", "first step", "input wait", "peak memory", "loss", "accuracy"]
        if all(result.accuracy is None for each in self._summary.comparisons for result in each.results):
            titles.pop()
        yield from page.sections(titles, [
            (comparison.label, [[page.text(fact) for fact in self._facts(result)[:len(titles)]]
                                for result in comparison.results if result.rate_per_worker is not None])
            for comparison in self._summary.comparisons])

    def _facts(self, result: Result) -> list[str]:
        loss = (f"{result.loss_first:.3g} to {result.loss_last:.3g}"
                if result.loss_first is not None and result.loss_last is not None else "-")
        measured = [(result.first_step_seconds, words.seconds), (result.load_share, words.share),
                    (result.peak_bytes, words.size)]
        return [result.stack, f"{result.endings.get('ok', 0)} of {self._summary.rounds}",
                *("-" if value is None else shown(value) for value, shown in measured),
                loss, "-" if result.accuracy is None else words.share(result.accuracy)]

    def _energy(self, page: _Page) -> Iterator[RenderableType]:
        """What GPUs drew, a line a stack."""
        blocks = [(comparison.label, [[page.text(fact) for fact in _drawn(result)]
                                      for result in comparison.results if result.gpu_watts is not None])
                  for comparison in self._summary.comparisons]
        if any(lines for _, lines in blocks):
            yield ""
            yield from page.sections(["", "GPU power", "a sample", "SM clock"], [each for each in blocks if each[1]])

    def _breakdown(self, page: _Page) -> Iterator[RenderableType]:
        """Phases, a line a stack: milliseconds of a step, and what stamping them costs."""
        blocks = [(comparison.label, [[page.text(fact) for fact in _phases(result)]
                                      for result in comparison.results if result.phases])
                  for comparison in self._summary.comparisons if comparison.measure == "phases"]
        if any(lines for _, lines in blocks):
            yield ""
            yield page.text("Phases of a step, in milliseconds, from stamped runs:", "bold")
            titles = ["", "load", "forward", "backward", "comm.", "update", "dispatch", "step", "stamps"]
            yield from page.sections(titles, [block for block in blocks if block[1]])
            yield page.text("comm.: e is exposed time, what does not overlap with the backward pass; f is all of it. "
                            "stamps: what stamping adds to a plain step.", "dim")

    def _operators(self, page: _Page) -> Iterator[RenderableType]:
        """A table a comparison: a line an operator, a column a stack."""
        if not self._summary.operators:
            return
        yield ""
        yield page.text("Operators, in milliseconds a step, from profiled runs:", "bold")
        for table in self._summary.operators:
            names = [name for name, profile in table.stacks.items() if profile.names]
            lines = [[word.replace("_", " "), *(_milliseconds(table.stacks[name].seconds.get(word)) for name in names)]
                     for word in WORDS if any(word in table.stacks[name].seconds for name in names)]
            yield from page.sections(["", *names], [(table.label, [[page.text(fact) for fact in line]
                                                                   for line in lines])])
        yield page.text("Calls of exchange overlap and wait for other workers: together they may exceed a step.", "dim")

    def _memory(self, page: _Page) -> Iterator[RenderableType]:
        blocks = [(comparison.label,
                   [[page.text(result.stack), page.text(words.size(sum(result.place_peaks.values()))),
                     page.text(", ".join(f"{place} {words.size(peak)}" for place, peak in result.place_peaks.items()))]
                    for result in comparison.results if result.place_peaks])
                  for comparison in self._summary.comparisons if comparison.measure == "train"]
        if any(lines for _, lines in blocks):
            yield ""
            yield page.text("Peak memory of the places:", "bold")
            yield from page.sections(["", "together", "by place"], [block for block in blocks if block[1]])

    def _published(self, page: _Page) -> Iterator[RenderableType]:
        if not self._summary.published:
            return
        table = page.table(["source", "of", "quantity", "published", "here"])
        for number in self._summary.published:
            table.add_row(*(page.text(fact) for fact in claim_words.beside(number)))
        yield ""
        yield page.text(f"What {self._summary.study} published, and the same here (another machine; seconds here are "
                        "of one step):", "bold")
        yield table

    def _claims(self, page: _Page) -> Iterator[RenderableType]:
        if not self._summary.claims:
            return
        table = page.table(["claim", "verdict", "here", "theirs"])
        for claim in self._summary.claims:
            table.add_row(page.text(claim.id), page.text(claim.verdict.value, _CLAIM_STYLES.get(claim.verdict, "")),
                          page.text(claim_words.here(claim)), page.text(claim_words.theirs(claim)))
        yield ""
        tally = _tally([claim.verdict for claim in self._summary.claims], with_none=True)
        yield page.text(f"Claims of {self._summary.study}, on this machine: {tally}", "bold")
        yield table
        if len(self._summary.paper_claims) < len(self._summary.claims):
            yield from self._paper_claims(page)
        yield page.text("Here: the number that decides, and how many of the claim's numbers say the same. A claim "
                        "holds where all their 95 % intervals lie wholly on its side.", "dim")

    def _paper_claims(self, page: _Page) -> Iterator[RenderableType]:
        """One line a claim of the paper, where ours are parts of those."""
        verdicts = {claim.id: claim.verdict for claim in self._summary.claims}
        table = page.table(["paper's claim", "verdict", "its parts"])
        for claim in self._summary.paper_claims:
            table.add_row(page.text(claim.id), page.text(claim.verdict.value, _CLAIM_STYLES.get(claim.verdict, "")),
                          page.text(_tally([verdicts[part] for part in claim.parts])))
        yield page.text(f"The paper's own claims: {_tally([each.verdict for each in self._summary.paper_claims])}",
                        "bold")
        yield table

    def _outliers(self, page: _Page) -> Iterator[RenderableType]:
        found = [(comparison.label, result) for comparison in self._summary.comparisons
                 for result in comparison.results if result.outlier_rounds]
        if found:
            yield ""
            yield page.text("Runs far from the others of their cell (they count all the same):", "bold")
        for label, result in found:
            yield page.item(f"{result.stack}, {label}, {_rounds(result.outlier_rounds)}")

    def _means(self, page: _Page) -> Iterator[RenderableType]:
        for mean in self._summary.geometric_means:
            ratios = ", ".join(f"{name} {words.ratio(ratio, None)}" for name, ratio in mean.ratios.items())
            yield ""
            yield page.text(f"Geometric mean over {mean.comparisons} comparisons of {mean.measure}: {ratios}")

    def _failures(self, page: _Page) -> Iterator[RenderableType]:
        if self._summary.failures:
            yield ""
            yield page.text("Runs that did not end ok:", "bold")
        kinds: dict[tuple[str, ...], list[int]] = {}
        for failure in self._summary.failures:
            message = failure.message if len(failure.message) <= _LONGEST_MESSAGE else (
                failure.message[:_LONGEST_MESSAGE] + "...")
            what = (failure.stack, failure.label, failure.ending, message)
            kinds.setdefault(what, []).append(failure.round)
        for (stack, label, ending, message), rounds in kinds.items():
            yield page.item(f"{stack}, {label}, {_rounds(rounds)}: {ending}" + (f": {message}" if message else ""))

    def _skipped(self, page: _Page) -> Iterator[RenderableType]:
        yield from _skips(page, [(skip.stack, skip.label, skip.reason) for skip in self._summary.skipped])

    def _notes(self, page: _Page) -> Iterator[RenderableType]:
        if self._summary.footnotes:
            yield ""
        for note in self._summary.footnotes:
            yield page.text(f"[{self._marks[note.flag]}] {note.text}")

    def _reading(self, page: _Page) -> Iterator[RenderableType]:
        if not self._summary.comparisons:
            return
        yield ""
        yield page.text(
            "Rates are samples a second of one worker: the median run, with a 95 % interval over runs. "
            f"1.32x (1.28{words.DASH}1.37) is 1.32 times as fast as {self._summary.baseline} in the same rounds, "
            "with its 95 % interval. Faster, slower and WINNER (faster than every other stack) are only said where "
            "the interval excludes 1.", "dim")


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


def _tally(verdicts: Sequence[claims.Verdict], with_none: bool = False) -> str:
    """How many there are of each."""
    counts = {verdict: verdicts.count(verdict) for verdict in claims.Verdict}
    return ", ".join(f"{verdict.value} {count}" for verdict, count in counts.items() if count or with_none)


def _ratio(result: Result) -> str:
    if result.verdict is Verdict.BASELINE:
        return "baseline"
    return "" if result.ratio is None else words.ratio(result.ratio, result.ratio_interval)


def _rounds(rounds: Sequence[int]) -> str:
    return f"{'round' if len(rounds) == 1 else 'rounds'} {', '.join(map(str, rounds))}"


def _skips(page: _Page, skips: Sequence[tuple[str, str, str]]) -> Iterator[RenderableType]:
    """Skipped cells, those of one stack and reason together."""
    if skips:
        yield ""
        yield page.text("Skipped:", "bold")
    kinds: dict[tuple[str, str], list[str]] = {}
    for stack, label, reason in skips:
        kinds.setdefault((stack, reason), []).append(label)
    for (stack, reason), labels in kinds.items():
        what = labels[0] if len(labels) == 1 else words.count(len(labels), "cell")
        yield page.item(f"{stack}, {what}: {reason}")


def summary_view(summary: Summary) -> RenderableType:
    """The summary, laid out for the console it is printed on."""
    return SummaryView(summary)


class PlanView(_View):
    """A plan's record: what is compared, what is skipped, how long it takes."""

    def __init__(self, record: Mapping[str, Any], seconds: float) -> None:
        self._record, self._seconds = record, seconds

    def parts(self, page: _Page) -> Iterable[RenderableType]:
        """The sum, the cells by comparison, the skipped ones."""
        cells, rounds = self._record["cells"], self._record["rounds"]
        yield page.text(f"{words.count(len(cells), 'cell')} x {words.count(rounds, 'round')} = "
                        f"{words.count(len(cells) * rounds, 'run')}, about {words.seconds(self._seconds)}; "
                        f"baseline {self._record['baseline']}", "bold")
        rows: dict[tuple[str, str], list[str]] = {}
        for item in cells:
            cell = parse(item["cell"])
            rows.setdefault((item["experiment"], cell_label(cell)), []).append(cell.stack)
        if rows:
            yield ""
            table = page.table(["experiment", "cell", "stacks"])
            for (experiment, label), stacks in rows.items():
                table.add_row(page.text(experiment), page.text(label), page.text(", ".join(stacks)))
            yield table
        skipped = [(item, parse(item["cell"])) for item in self._record["skipped"]]
        yield from _skips(page, [(cell.stack, cell_label(cell), item["reason"]) for item, cell in skipped])


def plan_view(record: Mapping[str, Any], seconds: float) -> RenderableType:
    """The plan in its store record; seconds: how long it is thought to take."""
    return PlanView(record, seconds)


class ListView(_View):
    """Mappings with equal keys as a table."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    def parts(self, page: _Page) -> Iterable[RenderableType]:
        """The table, or a word where there is nothing."""
        if not self._rows:
            yield page.text("nothing yet")
            return
        table = page.table([title.replace("_", " ") for title in self._rows[0]], gap=_GAP)
        for row in self._rows:
            table.add_row(*(page.text("-" if value is None else value,
                                      _GRADES.get(value, "") if name == "grade" else "")
                            for name, value in row.items()))
        self._keep_names(page, table)
        yield table

    def _keep_names(self, page: _Page, table: Table) -> None:
        """Let the wide columns give way and not break the short ones' words, where there is room for that."""
        widths = [max(len(name), *(len(str(row[name])) for row in self._rows)) for name in self._rows[0]]
        least = [width if width <= _NAME_WIDTH else _LEAST_WIDTH for width in widths]
        if sum(least) + _GAP * (len(least) - 1) <= page.width:
            for width, column in zip(widths, table.columns, strict=True):
                column.no_wrap = width <= _NAME_WIDTH


def list_view(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Mappings with equal keys as a table."""
    return ListView(rows)


Part = str | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]]


class PartsView(_View):
    """Lines and tables under each other; a table is mappings with equal keys, or several of them by their label."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def parts(self, page: _Page) -> Iterable[RenderableType]:
        """The parts in their order."""
        for part in self._parts:
            if isinstance(part, str):
                yield page.text(part)
            elif isinstance(part, Mapping):
                titles = list(next(iter(part.values()))[0])
                yield from page.sections(titles, [(label, [[page.text(fact) for fact in row.values()] for row in rows])
                                                  for label, rows in part.items()])
            else:
                yield from ListView(part).parts(page)


def parts_view(parts: Sequence[Part]) -> RenderableType:
    """Lines and tables under each other; a table is mappings with equal keys, or several of them by their label."""
    return PartsView(parts)


class LineProgress:
    """A line a run, with its cell's key, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total, self._done = 0, 0
        self._key = ""

    def begin(self, total: int, seconds_estimate: float | None) -> None:
        """So many runs are ahead."""
        self._total = total
        about = f", about {words.seconds(seconds_estimate)}" if seconds_estimate else ""
        self.line(words.count(total, "run") + about)

    def run_started(self, label: str, index: int, key: str) -> None:
        """A run begins."""
        self._key, self._done = key, index

    def rate(self, samples_per_second: float) -> None:
        """Not said: a line a run is enough for a log."""

    def run_ended(self, label: str, ending: str, rate: float | None, seconds: float, message: str) -> None:
        """A run is over."""
        self._done += 1
        measured = f", {words.number(rate)} samples/s" if rate else ""
        why = f": {message}" if message else ""
        end = f"{ending}{measured}, {words.seconds(seconds)}{why}"
        self.line(f"[{self._done}/{self._total}] {self._key} {label}: {end}")

    def close(self) -> None:
        """No more runs."""

    def line(self, text: str) -> None:
        """Print it whole: a broken line cannot be grepped."""
        cleaned = words.clean(text)
        is_ascii = not self._console.encoding.lower().startswith("utf")
        self._console.print(words.in_ascii(cleaned) if is_ascii else cleaned, soft_wrap=True)


class LiveProgress(LineProgress):
    """The same lines above a bar with the time that is left and the rate of the moment.

    Drawn when something happened, about once a second, and by no thread: a busy screen would be measured too.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bar = RichProgress(
            MofNCompleteColumn(), BarColumn(bar_width=16), TextColumn("{task.fields[left]}", markup=False),
            TextColumn("{task.fields[now]}", markup=False), TextColumn("{task.description}", markup=False),
            console=console, auto_refresh=False, transient=True)
        self._estimate: float | None = None
        self._spent: list[float] = []
        self._label = ""

    def begin(self, total: int, seconds_estimate: float | None) -> None:
        """So many runs are ahead."""
        super().begin(total, seconds_estimate)
        self._estimate = seconds_estimate / total if seconds_estimate and total else None
        self._task = self._bar.add_task("", total=total, left="", now="")
        self._bar.start()

    def run_started(self, label: str, index: int, key: str) -> None:
        """A run begins."""
        super().run_started(label, index, key)
        self._label = words.clean(label)
        self._draw("starting")

    def rate(self, samples_per_second: float) -> None:
        """What the run does now."""
        self._draw(f"{words.number(samples_per_second)} samples/s")

    def run_ended(self, label: str, ending: str, rate: float | None, seconds: float, message: str) -> None:
        """A run is over."""
        super().run_ended(label, ending, rate, seconds, message)
        self._spent.append(seconds)
        self._draw("")

    def close(self) -> None:
        """No more runs; safe to repeat."""
        self._bar.stop()

    def _draw(self, now: str) -> None:
        each = sum(self._spent) / len(self._spent) if self._spent else self._estimate
        left = f"{words.seconds(each * (self._total - self._done))} left" if each else ""
        self._bar.update(self._task, description=self._label, completed=self._done, left=left, now=now, refresh=True)


@contextmanager
def progress(console: Console | None = None) -> Iterator[Progress]:
    """What shows a session's runs: a bar on a terminal, else a line a run."""
    console = console or _people()
    is_live = console.is_terminal and not console.is_dumb_terminal
    shown = LiveProgress(console) if is_live else LineProgress(console)
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def transfer(console: Console | None = None) -> Iterator[Callable[[str, int, int], None]]:
    """What shows downloads, told (file, bytes there, bytes in all): a bar on a terminal, else a line a tenth."""
    console = console or _people()
    if not console.is_terminal or console.is_dumb_terminal:
        yield _tenths(console)
        return
    with RichProgress(TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(),
                      TimeRemainingColumn(), console=console) as bar:
        tasks: dict[str, Any] = {}

        def told(file: str, done: int, total: int) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(words.clean(file), total=total)
            bar.update(tasks[file], completed=done)
        yield told


def _tenths(console: Console) -> Callable[[str, int, int], None]:
    said: dict[str, int] = {}

    def told(file: str, done: int, total: int) -> None:
        tenth = done * 10 // total
        if tenth != said.get(file):
            said[file] = tenth
            console.print(f"{words.clean(file)}: {tenth * 10} % of {words.size(total)}", soft_wrap=True)
    return told
