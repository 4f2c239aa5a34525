"""Common and tuned side by side: each stack as it stands, and as its experts would tune it. Pure."""

from collections.abc import Iterator, Sequence

from runner import formatting
from runner.analysis.stats import Verdict
from runner.analysis.summary_format import LaneResult, Lanes
from runner.report.columns import endings
from runner.report.tables import Column, Table, table

LANES = ("common", "tuned")
_NOTE = ("Tuned / common: how many times as fast in the same rounds, with its 95 % interval; faster and slower hold "
         "together with the session's other words. First step: of the tuned runs, compilation included; compiling: the "
         "compiler alone, where the framework tells. docs/tuned.md says what each framework's experts switch on, and "
         "why.")


def _tuned(result: LaneResult) -> str:
    return endings(result.endings) if result.tuned_rate is None else formatting.number(result.tuned_rate)


def _ratio(result: LaneResult) -> str | None:
    return None if result.ratio is None else formatting.ratio(result.ratio, result.ratio_interval)


def _word(result: LaneResult) -> str:
    return result.withheld or ("" if result.verdict is Verdict.NO_DATA else result.verdict.value)


def _switched(result: LaneResult) -> str:
    """The switches that a reader would ask for; a layout or attention of its own kind is none."""
    return "; ".join(value for value in result.switches.values() if value not in ("native", "plain"))


_COLUMNS: tuple[Column[LaneResult], ...] = (
    Column("stack", lambda result: result.stack),
    Column("common, samples/s", lambda result: result.common_rate, formatting.number),
    Column("tuned, samples/s", _tuned),
    Column("tuned / common", _ratio),
    Column("verdict", _word),
    Column("first step", lambda result: result.first_step_seconds, formatting.seconds),
    Column("compiling", lambda result: result.compile_seconds, formatting.seconds),
    Column("switched on, as observed", _switched),
)


def tables(lanes: Sequence[Lanes]) -> Iterator[Table[LaneResult]]:
    """A line a stack; a group a pair of comparisons, below who is the fastest in each lane."""
    yield from table("Common and tuned", _COLUMNS, {_label(each): each.results for each in lanes}, _NOTE)


def _label(lanes: Lanes) -> str:
    """What is compared, and who is the fastest in each lane where one is shown to be in any."""
    winners = (lanes.common_winner, lanes.tuned_winner)
    fastest = ", ".join(f"{lane} {winner or 'none shown'}" for lane, winner in zip(LANES, winners, strict=True))
    return f"{lanes.label}: fastest {fastest}" if any(winners) else lanes.label
