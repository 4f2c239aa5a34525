"""How fast the stacks of an experiment are, as they stand and as their experts would tune them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from runner import formatting
from runner.analysis.result_numbers import BESIDE, ENERGY, EPOCHS, RATES, SEQUENCES
from runner.analysis.stats import Verdict
from runner.analysis.summary_format import Comparison, LaneResult, Lanes, Summary
from runner.report.claims import wording
from runner.report.columns import RESULTS, endings, fastest_first, word
from runner.report.document import Answer, Dots, Mark, Standing, fitted
from runner.report.tables import EVERY, Column, Form, Table, Texts, Word, of, table, texts

_FEW = 3                       # comparisons, for which a matrix tells nothing new
_MOODS = {"faster": "good", "slower": "bad"}


def bars(lines: Sequence[Standing], series: Mapping[str, int]) -> list[Dots]:
    """A bar a stack of a comparison that is no breakdown."""
    comparison = lines[0].comparison
    marks = tuple(Mark(each.stack, series.get(each.stack, 0), each.rate, f"{formatting.number(each.rate)}/s",
                       each.result.rate_interval)
                  for each in lines if each.rate is not None and comparison.measure != "phases")
    caption = f"{comparison.label}: {comparison.unit} of one worker, with 95 % intervals over runs"
    return fitted(caption, comparison.unit, [("", marks)], is_bars=True)


def ratios(answer: Answer, series: Mapping[str, int]) -> list[Dots]:
    """The ratios of all comparisons, the fastest stack of each first."""
    groups = [(heading, tuple(
        Mark(each.stack, series.get(each.stack, 0), each.ratio, _told(each), each.result.ratio_interval,
             dots=each.result.round_ratios) for each in lines if each.ratio is not None))
        for heading, lines in answer.blocks]
    return fitted(f"Times as fast as {answer.baseline}: a dot a round, and the intervals that decide verdicts",
                  f"times {answer.baseline}, on a logarithmic scale", [group for group in groups if len(group[1]) > 1],
                  reference=1.0)


def _told(line: Standing) -> str:
    ratio, ends = line.ratio_texts
    return " ".join(filter(None, [ratio, ends and f"({ends})", word(line)]))


def matrix(answer: Answer) -> list[Table[Texts]]:
    """All comparisons by stacks: ratio and word; none of few, which the chart shows as well."""
    if len(answer.blocks) <= _FEW:
        return []
    stacks = dict.fromkeys(each.stack for _, lines in answer.blocks for each in lines)
    names = sorted(stacks, key=lambda name: name != answer.baseline)
    return table(f"Times as fast as {answer.baseline}", texts("comparison", *names), {
        "": [(heading, *_words(lines, names)) for heading, lines in answer.blocks]})


def _words(lines: Sequence[Standing], names: Sequence[str]) -> Iterator[str]:
    """Of each of these stacks its ratio and word; "" without a line."""
    of_stack = {each.stack: each for each in lines}
    for name in names:
        yield _in_matrix(of_stack[name]) if name in of_stack else ""


def _in_matrix(line: Standing) -> str:
    return Word(" ".join(filter(None, [line.ratio_texts[0], word(line)])),
                _MOODS.get(word(line), "good" if line.is_fastest else "none"))


_CAPTION = "Rates of one worker and the time of a step (geometric means), with 95 % intervals over runs"
_BESIDE = ("Medians over runs. Step p50, p95: half, or 95 %, of a run's single timed steps take less. Loss: at the "
           "first and the last step (warm-up and all) that all stacks share, over the rounds in which they do.")
# caption, note and part of columns.RESULTS
_TABLES = (
    (_CAPTION, "", RATES), ("Measured beside the rates", _BESIDE, BESIDE),
    ("Tokens or time steps a second of one worker (geometric means), with 95 % intervals over runs", "", SEQUENCES),
    ("Epochs", "Medians over runs; of the epochs after the first, the mean of each run.", EPOCHS),
    ("GPUs and CPU packages", "Medians over runs; power and clock are of the timed steps. A CPU package's power is "
     "that of all that it does, for this run and others; GPU memory is the most that the framework held, searches "
     "for algorithms included.", ENERGY),
)


def results(summary: Summary, compared: Sequence[Comparison]) -> Table[Standing]:
    """A line a stack and comparison, the fastest first, with every column of every form."""
    titled = (column._replace(title=column.title.replace("{baseline}", summary.baseline)) for column in RESULTS)
    return Table(_CAPTION, tuple(titled), tuple((each.label, fastest_first(summary, each)) for each in compared))


def tables(results: Table[Standing]) -> Iterator[Table[Standing]]:
    """Rates, what was measured beside them, and what few sessions have: each of the stacks that have a value in it."""
    for caption, note, part in _TABLES:
        columns = tuple(column for column in results.columns if column.part in (EVERY, part))
        telling = of(columns, Form.PAGE)[1:]
        yield from table(caption, columns, {
            f"{label}: {lines[0].comparison.unit}" if part == RATES else label: [
                line for line in lines if any(column.value(line) not in (None, "") for column in telling)]
            for label, lines in results.groups if lines}, note)


def machine_limits(summary: Summary) -> list[str]:
    """The best matrix product behind "of machine": a line for each device, precision and number of threads."""
    return ["Of machine: the FLOPs that steps need a second, over this session's best matrix product in "
            f"{each.precision} on "
            f"{formatting.count(each.cpus, 'thread') if each.device == 'cpu' else each.device_name or 'the GPU'}: "
            f"{formatting.flops(each.flops_per_second)} by {each.stack}" for each in summary.limits]


_LANES_NOTE = ("Ratio: how many times as fast tuned is in the same rounds, with the interval that decides its "
         "verdict. First step (compilation included), compile time and what they ran as are what the "
         "tuned runs reported; that may be what the common lane has as well. docs/tuned.md says what each "
         "framework's experts switch on, and why.")


def _verdict(result: LaneResult) -> str:
    if result.withheld:
        return Word(result.withheld, "open")
    return "" if result.verdict is Verdict.NO_DATA else wording.said(result.verdict)


# the terminal has no room for all: its table above says first steps and compile times, its wider page the attention
_LANES: tuple[Column[LaneResult], ...] = (
    Column("stack", attrgetter("stack")),
    Column("common", attrgetter("common_rate"), formatting.number),
    Column("tuned", lambda result: endings(result.endings) if result.tuned_rate is None
           else formatting.number(result.tuned_rate)),
    Column("ratio", lambda result: None if result.ratio is None else formatting.ratio(result.ratio,
                                                                                    result.ratio_interval)),
    Column("verdict", _verdict),
    Column("first step", attrgetter("first_step_seconds"), formatting.seconds, Form.PAGE),
    Column("compile time", attrgetter("compile_seconds"), formatting.seconds, Form.PAGE),
    # what a reader would ask for, whatever the common lane has
    Column("ran as", lambda result: "; ".join(value for value in result.switches.values()
                                              if value not in ("native", "plain")), forms=Form.PAGE),
    Column("by", lambda result: result.switches.get("loop"), forms=Form.SCREEN),
    Column("in", lambda result: result.switches.get("precision"), forms=Form.SCREEN),
)


def lanes(compared: Sequence[Lanes]) -> Iterator[Table[LaneResult]]:
    """A line a stack; a group a pair of comparisons, below who is the fastest in each lane."""
    yield from table("Common and tuned: rates as each stack stands, and as its experts would tune it", _LANES,
                     {_label(each): each.results for each in compared}, _LANES_NOTE)


def _label(lanes: Lanes) -> str:
    """What is compared, and who is the fastest in each lane where one is shown to be in any."""
    named = []
    for lane in ("common", "tuned"):
        winner, left_out = getattr(lanes, f"{lane}_winner"), getattr(lanes, f"{lane}_left_out")
        named.append(f"{lane} {winner or 'none shown'}{' of those that ran' if winner and left_out else ''}")
    winners = f": fastest {', '.join(named)}" if lanes.common_winner or lanes.tuned_winner else ""
    return f"{lanes.label}, {lanes.unit}{winners}"
