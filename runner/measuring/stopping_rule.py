"""When a comparison has enough rounds: where all its words are said, or with --until 2% its intervals narrow. Pure.

Words and widths change only at the looks that the plan fixes (runner.results.looks), so whatever a comparison's rounds
are ended by, a session's words are false in at most 5 %. `python -m tests.coverage` simulates it.
"""

import math
from collections.abc import Callable, Set

from runner.analysis.stats import LEAST_ROUNDS, SAID
from runner.analysis.summary import summary_of
from runner.analysis.summary_format import LaneResult, Result
from runner.cells import comparison_key
from runner.errors import InputError
from runner.grouping import grouped
from runner.measuring.bench import Enough
from runner.planning.plan import Plan
from runner.results.rows import Measurements, blocks
from workloads.spec.measures import TIMED

CAP = 50                     # rounds with --until, where --rounds gives none


def check(plan: Plan) -> None:
    """Raise InputError where no two stacks of the plan are compared: then no ratio can become narrow."""
    timed = [planned.cell for planned in plan.cells if planned.cell.measure in TIMED]
    if not any(len({cell.stack for cell in cells}) > 1 for cells in grouped(timed, comparison_key).values()):
        raise InputError("--until: found no cell that two stacks run, expected ratios between stacks; `evenbench plan` "
                         "shows the cells")


def of(width: float | None, rounds: int) -> Enough:
    """The rule of a command: with --until of its width, else until all words are said; rounds: the study's."""
    return decided if width is None else narrow(width, rounds)


def decided(measured: Measurements) -> Set[str]:
    """The blocks (rows.blocks) of which every word is said: of each stack against the baseline, and of the fastest."""
    return _blocks(measured, lambda one: one.verdict in SAID, needs_winner=True)


def narrow(width: float, rounds: int) -> Enough:
    """Which blocks have intervals that are narrow enough, or no ratio and so many rounds, which are the study's.

    width: of an interval over its ratio.
    """
    return lambda measured: _blocks(measured, lambda one: _width(one) <= width, rounds)


def _width(one: Result | LaneResult) -> float:
    """Of an interval over its ratio; before the first look there is none."""
    if not one.ratio or not one.ratio_interval or one.pairs < LEAST_ROUNDS:
        return math.inf
    return (one.ratio_interval.high - one.ratio_interval.low) / one.ratio


def _blocks(measured: Measurements, is_enough: Callable[[Result | LaneResult], bool], rounds: float = math.inf,
            needs_winner: bool = False) -> Set[str]:
    """The blocks that have ratios, all of which are enough; those without any that have so many rounds."""
    summary, enough = summary_of(measured), dict[str, list[bool]]()
    for each in summary.comparisons:
        enough[each.key] = [is_enough(one) for one in each.results if one.ratio is not None]
        if needs_winner and not each.winner:
            enough[each.key].append(False)
    for lanes in summary.lanes:
        enough[lanes.tuned] += [is_enough(one) for one in lanes.results if one.ratio is not None]
    return {block for block, rows in blocks(measured.rows).items()
            if all(found := [one for row in rows for one in enough.get(row.comparison.key, ())])
            and (found or rows[0].counted_rounds >= rounds)}
