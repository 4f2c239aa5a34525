"""Lanes: how fast each stack is as it stands (common, loop native) and as its experts would tune it (loop tuned). Pure.

Two comparisons are a pair where their cells differ in the loop alone. Ratios of a stack's lanes are as those of stacks.
"""

from collections.abc import Iterator, Mapping, Sequence

from runner.analysis.doubts import Doubts
from runner.analysis.paired import Paired
from runner.analysis.stats import Ratio, Verdict
from runner.analysis.summary_format import Comparison, LaneResult, Lanes, Result
from runner.cells import lanes_key
from runner.results.rows import Row

_SWITCHES = ("loop", "layout", "precision", "attention")     # facts that say what the tuned runs really had on
Groups = Sequence[Mapping[str, Row]]           # the comparisons, each as its rows by stack


def words(groups: Groups) -> int:
    """How many words they could say of tuned against common."""
    return sum(name in groups[common] for common, tuned in _places(groups) for name in groups[tuned])


def _places(groups: Groups) -> list[tuple[int, int]]:
    """The places of a common comparison and of its tuned one."""
    first = [next(iter(rows.values())) for rows in groups]
    places = {row.comparison.key: place for place, row in enumerate(first)}
    return [(places[common], place) for place, row in enumerate(first)
            if (common := lanes_key(row.cell)) != row.comparison.key and common in places]


def tables(groups: Groups, comparisons: Sequence[Comparison], doubts: Doubts, error: float) -> Iterator[Lanes]:
    """The Lanes of each pair among the comparisons; error: of the ratios' intervals."""
    for common_place, tuned_place in _places(groups):
        common, tuned, beside = comparisons[common_place], comparisons[tuned_place], groups[common_place]
        rates = {result.stack: result.rate_per_worker for result in common.results}
        yield Lanes(
            experiment=tuned.experiment, label=common.label, unit=common.unit, task=tuned.task,
            common=common.key, tuned=tuned.key,
            results=tuple(_result(each, rates.get(each.stack), groups[tuned_place].get(each.stack),
                                  beside.get(each.stack), doubts, error) for each in tuned.results),
            common_winner=common.winner, tuned_winner=tuned.winner, common_left_out=common.left_out,
            tuned_left_out=tuned.left_out)


def _result(tuned: Result, common_rate: float | None, row: Row | None, other: Row | None, doubts: Doubts, error: float
            ) -> LaneResult:
    """row: of the tuned lane, other: of the common one."""
    paired = Paired.of(row, other, error, doubts) if row and other and row.rates and other.rates else None
    ratio = paired.ratio if paired else Ratio()
    facts = row.ok_runs[0].facts if row and row.ok_runs else {}
    return LaneResult(
        stack=tuned.stack, common_rate=common_rate, tuned_rate=tuned.rate_per_worker,
        ratio=ratio.value, ratio_interval=ratio.interval, pairs=ratio.pairs,
        verdict=paired.verdict if paired else Verdict.NO_DATA,
        withheld=paired.withheld("tuned", "common") if paired else "",
        switches={name: str(facts[name]) for name in _SWITCHES if name in facts}, endings=tuned.endings,
        first_step_seconds=tuned.first_step_seconds, compile_seconds=tuned.compile_seconds)
