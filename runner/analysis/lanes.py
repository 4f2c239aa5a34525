"""Lanes: how fast each stack is as it stands (common, loop native) and as its experts would tune it (loop tuned). Pure.

Two comparisons are a pair where their cells differ in the loop alone. The ratio of a stack's lanes is paired by round,
as that of two stacks is, and its word is adjusted together with all others of the session.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runner.analysis import stats
from runner.analysis.gate import NO_STEPS, Runs
from runner.analysis.stats import Ratio, Verdict
from runner.analysis.summary_format import Comparison, LaneResult, Lanes, Result
from runner.cells import compared
from runner.results.rows import Row, SessionSpread
from workloads.spec.cell import Cell

COMMON, TUNED = "native", "tuned"              # values of a cell's loop
_SWITCHES = ("loop", "layout", "precision", "attention")     # facts that say what the tuned runs really had on


class Doubt(NamedTuple):
    """Why a stack's lanes get no word: the first lane's verdict that withholds it, and what each such lane says."""

    verdict: Verdict
    text: str

    @classmethod
    def of(cls, runs: Mapping[str, Runs]) -> "Doubt | None":
        """The doubt that a stack's runs raise, by lane; None where both lanes were steady."""
        raised = {lane: each for lane, each in runs.items() if each.verdict}
        verdict = next((each.verdict for each in raised.values()), None)
        return cls(verdict, "; ".join(f"{lane}: {each.text}" for lane, each in raised.items())) if verdict else None


class Pair(NamedTuple):
    """The places of two comparisons, and of each stack that both measured how many times as fast tuned is."""

    common: int
    tuned: int
    ratios: Mapping[str, Ratio]
    doubts: Mapping[str, Doubt]                # by stack: what withholds its word

    def p_values(self) -> dict[tuple[int, str], float]:
        """Of the ratios that may get a word, by the tuned comparison's place and the stack."""
        known = {name: stats.p_value(ratio) for name, ratio in self.ratios.items() if name not in self.doubts}
        return {(self.tuned, name): own for name, own in known.items() if own is not None}


def pairs(groups: Sequence[Mapping[str, Row]], runs: Mapping[str, Runs], spread: SessionSpread) -> list[Pair]:
    """The pairs among comparisons, each given as its rows by stack; runs: how steady each row's were, by key.

    spread: of ratios from session to session (stats.ratios).
    """
    places = {_content(next(iter(rows.values())).cell): place for place, rows in enumerate(groups)}
    return [_pair(places[content._replace(loop=COMMON)], place, groups, runs, spread)
            for content, place in places.items()
            if content.loop == TUNED and content._replace(loop=COMMON) in places]


def _content(cell: Cell) -> Cell:
    """All that a comparison's cells have alike."""
    return compared(cell)._replace(stack="")


def _pair(common: int, tuned: int, groups: Sequence[Mapping[str, Row]], runs: Mapping[str, Runs], spread: SessionSpread
          ) -> Pair:
    both = {name: (row, groups[common][name]) for name, row in groups[tuned].items()
            if row.rates and name in groups[common] and groups[common][name].rates}
    ratios = stats.ratios([(row.rates, other.rates) for row, other in both.values()], *spread)
    doubts = {name: doubt for name, (row, other) in both.items() if (doubt := Doubt.of({
        "common": runs.get(other.key, NO_STEPS), "tuned": runs.get(row.key, NO_STEPS)}))}
    return Pair(common, tuned, dict(zip(both, ratios, strict=True)), doubts)


def tables(pairs: Sequence[Pair], groups: Sequence[Mapping[str, Row]], comparisons: Sequence[Comparison],
           p_values: Mapping[tuple[int, str], float]) -> tuple[Lanes, ...]:
    """The Lanes of each pair; p_values: adjusted for the session, by the tuned comparison's index and stack."""
    return tuple(_lanes(pair, groups[pair.tuned], comparisons[pair.common], comparisons[pair.tuned], p_values)
                 for pair in pairs)


def _lanes(pair: Pair, rows: Mapping[str, Row], common: Comparison, tuned: Comparison,
           p_values: Mapping[tuple[int, str], float]) -> Lanes:
    beside = {result.stack: result for result in common.results}
    results = tuple(_result(pair, rows.get(result.stack), beside.get(result.stack), result,
                            p_values.get((pair.tuned, result.stack))) for result in tuned.results)
    return Lanes(experiment=tuned.experiment, label=common.label, task=tuned.task, common=common.key, tuned=tuned.key,
                 results=results, common_winner=common.winner, tuned_winner=tuned.winner,
                 common_left_out=common.left_out, tuned_left_out=tuned.left_out)


def _result(pair: Pair, row: Row | None, common: Result | None, tuned: Result, adjusted: float | None) -> LaneResult:
    ratio, doubt = pair.ratios.get(tuned.stack, Ratio(None, None, 0)), pair.doubts.get(tuned.stack)
    verdict = stats.verdict(ratio, adjusted)
    if doubt and ratio.value is not None:
        verdict = doubt.verdict
    return LaneResult(
        stack=tuned.stack, common_rate=common.rate_per_worker if common else None, tuned_rate=tuned.rate_per_worker,
        ratio=ratio.value, ratio_interval=ratio.interval, pairs=ratio.pairs, verdict=verdict,
        withheld=doubt.text if doubt else "", p_value=None if doubt else adjusted, switches=_switches(row),
        endings=tuned.endings, first_step_seconds=tuned.first_step_seconds,
        compile_seconds=tuned.compile_seconds)


def _switches(row: Row | None) -> dict[str, str]:
    """What the first tuned run that ended ok said of itself; {} where none did."""
    facts = row.ok_runs[0].facts if row and row.ok_runs else {}
    return {name: str(facts[name]) for name in _SWITCHES if name in facts}
