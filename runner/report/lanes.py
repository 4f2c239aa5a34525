"""Common and tuned side by side: each stack as it stands, and as its experts would tune it. Pure."""

from collections.abc import Iterator, Sequence

from runner import formatting
from runner.analysis.stats import Verdict
from runner.analysis.summary_format import LaneResult, Lanes
from runner.report.claims import wording
from runner.report.columns import endings
from runner.report.tables import PAGE_ALONE, SCREEN_ALONE, Column, Table, Word, table

LANES = ("common", "tuned")
_CAPTION = "Common and tuned: samples a second as each stack stands, and as its experts would tune it"
_NOTE = ("Ratio: how many times as fast tuned is in the same rounds, with the interval that decides its "
         "word. First step (compilation included), compile time and what they ran as are the "
         "tuned runs' own words; that may be what the common lane has as well. docs/tuned.md says what each "
         "framework's experts switch on, and why.")


def _tuned(result: LaneResult) -> str:
    return endings(result.endings) if result.tuned_rate is None else formatting.number(result.tuned_rate)


def _ratio(result: LaneResult) -> str | None:
    return None if result.ratio is None else formatting.ratio(result.ratio, result.ratio_interval)


def _word(result: LaneResult) -> str:
    if result.withheld:
        return Word(result.withheld, "open")
    return "" if result.verdict is Verdict.NO_DATA else wording.said(result.verdict)


def _ran_as(result: LaneResult) -> str:
    """The switches that a reader would ask for, whatever the common lane has; native and plain ones say nothing."""
    return "; ".join(value for value in result.switches.values() if value not in ("native", "plain"))


# the terminal has no room for all: its table above says first steps and compile times, its wider page the attention
_COLUMNS: tuple[Column[LaneResult], ...] = (
    Column("stack", lambda result: result.stack),
    Column("common", lambda result: result.common_rate, formatting.number),
    Column("tuned", _tuned),
    Column("ratio", _ratio),
    Column("verdict", _word),
    Column("first step", lambda result: result.first_step_seconds, formatting.seconds, PAGE_ALONE),
    Column("compile time", lambda result: result.compile_seconds, formatting.seconds, PAGE_ALONE),
    Column("ran as", _ran_as, forms=PAGE_ALONE),
    Column("by", lambda result: result.switches.get("loop"), forms=SCREEN_ALONE),
    Column("in", lambda result: result.switches.get("precision"), forms=SCREEN_ALONE),
)


def tables(lanes: Sequence[Lanes]) -> Iterator[Table[LaneResult]]:
    """A line a stack; a group a pair of comparisons, below who is the fastest in each lane."""
    yield from table(_CAPTION, _COLUMNS, {_label(each): each.results for each in lanes}, _NOTE)


def _label(lanes: Lanes) -> str:
    """What is compared, and who is the fastest in each lane where one is shown to be in any."""
    named = []
    for lane in LANES:
        winner, left_out = getattr(lanes, f"{lane}_winner"), getattr(lanes, f"{lane}_left_out")
        named.append(f"{lane} {winner or 'none shown'}{' of those that ran' if winner and left_out else ''}")
    return f"{lanes.label}: fastest {', '.join(named)}" if lanes.common_winner or lanes.tuned_winner else lanes.label
