"""Lanes: how fast each stack is as it stands (common, loop native) and as its experts would tune it (loop tuned). Pure.

Two comparisons are a pair where their cells differ in the loop alone. The ratio of a stack's lanes is paired by round,
as that of two stacks is, and its interval allows for all words of the session.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runner.analysis import stats
from runner.analysis.doubts import Doubt, Doubts
from runner.analysis.stats import Ratio
from runner.analysis.summary_format import Comparison, LaneResult, Lanes, Result
from runner.cells import compared
from runner.results.rows import Row
from workloads.spec.cell import Cell

COMMON, TUNED = "native", "tuned"              # values of a cell's loop
_SWITCHES = ("loop", "layout", "precision", "attention")     # facts that say what the tuned runs really had on


class Pair(NamedTuple):
    """The places of two comparisons, and of each stack that both measured how many times as fast tuned is."""

    common: int
    tuned: int
    ratios: Mapping[str, Ratio]
    doubts: Mapping[str, Doubt]                # by stack: what withholds its word


Groups = Sequence[Mapping[str, Row]]           # the comparisons, each as its rows by stack


def pairs(groups: Groups, doubts: Doubts, error: float) -> list[Pair]:
    """The pairs among the comparisons; error: of their intervals."""
    return [_pair(common, tuned, groups, doubts, error) for common, tuned in _places(groups)]


def words(groups: Groups) -> int:
    """How many words they could say of tuned against common."""
    return sum(name in groups[common] for common, tuned in _places(groups) for name in groups[tuned])


def _places(groups: Groups) -> list[tuple[int, int]]:
    """The places of a common comparison and of its tuned one."""
    places = {_content(next(iter(rows.values())).cell): place for place, rows in enumerate(groups)}
    return [(places[content._replace(loop=COMMON)], place) for content, place in places.items()
            if content.loop == TUNED and content._replace(loop=COMMON) in places]


def _content(cell: Cell) -> Cell:
    """All that a comparison's cells have alike."""
    return compared(cell)._replace(stack="")


def _pair(common: int, tuned: int, groups: Groups, doubts: Doubts, error: float) -> Pair:
    both = {name: (row, groups[common][name]) for name, row in groups[tuned].items()
            if row.rates and name in groups[common] and groups[common][name].rates}
    ratios = stats.ratios([(row.rates, other.rates) for row, other in both.values()], error)
    doubted = {}
    for name, (row, other) in both.items():
        raised = [(lane, doubt) for lane, each in (("common", other), ("tuned", row))
                  if (doubt := doubts.get(each.key))]
        if raised:
            doubted[name] = Doubt(raised[0][1].verdict, "; ".join(f"{lane}: {doubt.text}" for lane, doubt in raised))
    return Pair(common, tuned, dict(zip(both, ratios, strict=True)), doubted)


def tables(pairs: Sequence[Pair], groups: Groups, comparisons: Sequence[Comparison]) -> tuple[Lanes, ...]:
    """The Lanes of each pair."""
    found = []
    for pair in pairs:
        rows, common, tuned = groups[pair.tuned], comparisons[pair.common], comparisons[pair.tuned]
        beside = {result.stack: result for result in common.results}
        found.append(Lanes(
            experiment=tuned.experiment, label=common.label, task=tuned.task, common=common.key, tuned=tuned.key,
            results=tuple(_result(pair, rows.get(each.stack), beside.get(each.stack), each) for each in tuned.results),
            common_winner=common.winner, tuned_winner=tuned.winner, common_left_out=common.left_out,
            tuned_left_out=tuned.left_out))
    return tuple(found)


def _result(pair: Pair, row: Row | None, common: Result | None, tuned: Result) -> LaneResult:
    ratio, doubt = pair.ratios.get(tuned.stack, Ratio(None, None, 0)), pair.doubts.get(tuned.stack)
    verdict = doubt.verdict if doubt else stats.verdict(ratio)
    facts = row.ok_runs[0].facts if row and row.ok_runs else {}
    return LaneResult(
        stack=tuned.stack, common_rate=common.rate_per_worker if common else None, tuned_rate=tuned.rate_per_worker,
        ratio=ratio.value, ratio_interval=ratio.interval, pairs=ratio.pairs, verdict=verdict,
        withheld=doubt.text if doubt else "", switches={name: str(facts[name]) for name in _SWITCHES if name in facts},
        endings=tuned.endings, first_step_seconds=tuned.first_step_seconds,
        compile_seconds=tuned.compile_seconds)
