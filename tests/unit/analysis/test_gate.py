"""Which rows get no word, and what is said instead."""

import math
from typing import Any

import numpy as np
import pytest

from runner.analysis import gate
from runner.analysis.between import regression
from runner.analysis.gate import Runs
from runner.analysis.stats import Verdict
from runner.analysis.steadiness import Steadiness
from runner.analysis.summary import summarise
from runner.analysis.summary_format import Comparison
from runner.report.claims.claim_text import word
from runner.results.rows import measurements
from tests import coverage
from tests import made_rows as made
from tests.made_claims import claim

EVEN, SLOW_START, SLOW_END = [0.1] * 20, [0.2] * 10 + [0.1] * 10, [0.1] * 10 + [0.2] * 10
FALLING, RISING = [0.12] * 10 + [0.1] * 10, [0.1] * 10 + [0.12] * 10
TWICE = [each / 2 for each in EVEN]


@pytest.mark.parametrize(("runs", "said"), [
    (Runs(5), ""), (Runs(4, 1), ""), (Runs(3, 2), "not steady (2 of 5 runs)"), (Runs(0, 1), "not steady (1 of 1 run)"),
    (Runs(18, 2), ""), (Runs(17, 3), "not steady (3 of 20 runs)"), (Runs(3, 0, 2), ""),
    (Runs(2, 0, 3), "too short to tell (3 of 5 runs)"), (Runs(2, 1, 2), "too short to tell (2 of 5 runs)"),
    (Runs(3, 0, 0, 2), "not steady (2 of 5 runs)"), (Runs(3, 0, 0, 2, move_alike=False), ""),
    (Runs(1, 1, 0, 3), "not steady (4 of 5 runs)"), (Runs(1, 1, 0, 3, move_alike=False), ""),
    (Runs(0, 2, 0, 3, move_alike=False), ""), (Runs(1, 1, 3, move_alike=False), "too short to tell (3 of 5 runs)"),
    (Runs(), "")])
def test_a_row_is_not_steady_where_two_runs_and_more_than_a_tenth_move_alike(runs: Runs, said: str) -> None:
    assert said == runs.text


def of(seconds: Any, compiled: int = 0, **values: Any) -> Runs:
    cell = made.cell(**values)
    steps = made.steps(seconds, **{"compiled": compiled} if compiled else {})
    rows = measurements([made.session(), made.plan(cell), *made.run(cell, 0, steps)]).rows
    return gate.of_rows(rows).get(rows[0].key, gate.NO_STEPS)


def test_runs_are_counted_by_their_steps() -> None:
    assert [Runs(1), Runs(0, 1), Runs(0, 0, 1)] == [of(EVEN), of(SLOW_START), of([0.1])]


def test_a_run_that_compiled_within_its_timed_steps_is_not_steady_however_even_they_are() -> None:
    assert Runs(0, 1) == of(EVEN, compiled=2)


@pytest.mark.parametrize(("compiled", "said"), [(1, ""), (2, "not steady (2 of 5 runs)")])
def test_two_runs_of_five_that_compiled_are_the_stack_s_own(compiled: int, said: str) -> None:
    (runs,) = gate.together([gate.Moves([Steadiness.COMPILED] * compiled + [Steadiness.STEADY] * (5 - compiled), [])])

    assert said == runs.text


def drifting(*drifts: float) -> gate.Moves:
    return gate.Moves([Steadiness.DRIFTING] * len(drifts), drifts)


def test_what_one_row_of_many_that_drift_does_by_chance_is_not_its_own() -> None:
    by_chance, perhaps = [drifting(0.1, -0.1, 0.05, -0.05, 0.02)] * 7, drifting(-0.01, -0.08, -0.16, -0.05, -0.07)
    surely = drifting(-0.15, -0.16, -0.14, -0.15, -0.155)

    assert [True] == [row.move_alike for row in gate.together([perhaps])]
    assert [False] * 8 == [row.move_alike for row in gate.together([perhaps, *by_chance])]
    assert [True] + [False] * 7 == [row.move_alike for row in gate.together([surely, *by_chance])]


def test_rows_whose_verdict_does_not_depend_on_their_drifts_make_no_other_s_verdict_harder() -> None:
    perhaps = drifting(-0.01, -0.08, -0.16, -0.05, -0.07)
    one_drifts = gate.Moves([Steadiness.STEADY] * 4 + [Steadiness.DRIFTING], [0.0, 0.01, -0.01, 0.02, 0.1])
    starts = gate.Moves([Steadiness.SLOW_START] * 4 + [Steadiness.DRIFTING], [-0.5, -0.4, -0.6, -0.5, 0.1])

    assert [True, False, True] == [row.move_alike for row in gate.together([perhaps, one_drifts, starts])]


@pytest.mark.parametrize(("others", "reason"), [(0, "tf: not steady (5 of 5 runs)"), (7, "")])
def test_all_who_judge_a_row_ask_the_whole_session(others: int, reason: str) -> None:
    """By itself tf drifts alike (p = 0.014), but beside so many stacks that drift by chance not."""
    drifts = {"tf": (-0.12, -0.3, -0.15, -0.4, -0.15), "torch": (0.0,) * 5,
              **{f"other{index}": (0.3, -0.3, 0.2, -0.2, 0.1) for index in range(others)}}
    cells = [made.cell(stack) for stack in drifts]
    runs = [record for cell in cells for index, drift in enumerate(drifts[cell.stack])
            for record in made.run(cell, index, made.steps([0.1 * math.exp(drift)] * 10 + [0.1] * 10))]
    records = [made.session(), made.plan(*cells, claims=[claim("faster").record()]), *runs]
    found = summarise(records)
    (summarised,) = [result for result in found.comparisons[0].results if result.stack == "tf"]
    (claimed,) = found.claims[0].numbers
    (compared,) = regression.judge(measurements(records), "torch", "tf", 0.03).compared

    assert (5, bool(reason)) == (summarised.drifting_runs, summarised.move_alike)
    assert [reason] * 2 == [claimed.reason if "not steady" in claimed.reason else "", compared.reason]


def test_a_drift_can_also_leave_too_few_runs_to_tell() -> None:
    moves = gate.Moves([Steadiness.STEADY] * 2 + [Steadiness.TOO_SHORT] * 2 + [Steadiness.DRIFTING], [0.1] * 4 + [0.11])

    assert Verdict.TOO_SHORT is gate.together([moves])[0].verdict


def test_some_row_is_called_not_steady_in_at_most_one_of_twenty_sessions_whose_rows_all_drift_by_chance() -> None:
    random, sessions = np.random.default_rng(19), 1000
    found = [gate.together([drifting(*drifts) for drifts in rows])
             for rows in random.normal(0, 0.1, (sessions, 12, 5)).tolist()]

    share = sum(any(row.verdict for row in rows) for rows in found) / sessions
    assert 0.02 < share <= coverage.limit(sessions)


def test_an_epoch_is_measured_whole_and_need_not_be_steady() -> None:
    assert Runs() == of([2.0, 1.0], measure="epochs")


def session(torch: list[list[float]], tf: list[list[float]], more: tuple[Any, ...] = ()) -> Comparison:
    """Of a round a list of seconds, in the baseline torch and in tf."""
    cells = made.cell("torch"), made.cell("tf")
    runs = [record for cell, rounds in zip(cells, (torch, tf), strict=True) for index, seconds in enumerate(rounds)
            for record in made.run(cell, index, made.steps([each * (1 + index / 1000) for each in seconds]))]
    planned = [*cells, *dict.fromkeys(cell for cell, _ in more)]
    failed = [record for cell, ending in more for record in made.run(cell, 0, ending=ending)]
    (found,) = summarise([made.session(), made.plan(*planned), *runs, *failed]).comparisons
    return found


def words(found: Comparison) -> dict[str, str]:
    return {result.stack: word(found, result, "WINNER") for result in found.results}


def test_steady_stacks_get_their_words() -> None:
    assert {"torch": "", "tf": "WINNER"} == words(session([EVEN] * 5, [TWICE] * 5))


def test_a_stack_that_was_not_steady_gets_no_word_but_how_many_runs() -> None:
    found = session([EVEN] * 5, [[each / 2 for each in SLOW_START]] * 3 + [TWICE] * 2)

    assert {"torch": "", "tf": "not steady (3 of 5 runs)"} == words(found)
    assert Verdict.NOT_STEADY is found.results[1].verdict and found.results[1].ratio is not None


def test_a_stack_whose_runs_drift_alike_gets_no_word() -> None:
    found = session([EVEN] * 5, [[each / 2 for each in FALLING]] * 5)

    assert {"torch": "", "tf": "not steady (5 of 5 runs)"} == words(found)
    assert (5, True) == (found.results[1].drifting_runs, found.results[1].move_alike)


def test_a_stack_whose_runs_drift_this_way_and_that_keeps_its_word() -> None:
    found = session([EVEN] * 5, [[each / 2 for each in shape] for shape in (FALLING, RISING, EVEN, FALLING, RISING)])

    assert {"torch": "", "tf": "WINNER"} == words(found)
    assert (4, False) == (found.results[1].drifting_runs, found.results[1].move_alike)
    assert "unsteady" in found.results[1].flags


def test_runs_that_stand_out_at_either_end_as_often_keep_their_word() -> None:
    found = session([EVEN] * 5, [[each / 2 for each in shape]
                                 for shape in (SLOW_START, SLOW_END, SLOW_START, SLOW_END, SLOW_START)])

    assert "WINNER" == words(found)["tf"]
    assert (5, False) == (found.results[1].unsteady_runs, found.results[1].move_alike)


def test_fewer_than_five_runs_cannot_show_that_they_drift_by_chance() -> None:
    assert "not steady (4 of 4 runs)" in words(session([EVEN] * 4, [FALLING, RISING] * 2))["tf"]


def test_a_baseline_that_was_not_steady_gates_every_comparison_with_it() -> None:
    found = session([SLOW_START] * 5, [TWICE] * 5)

    assert {"torch": "not steady (5 of 5 runs)", "tf": "not steady: torch"} == words(found)


def test_one_run_of_five_that_was_not_steady_withholds_nothing_and_is_flagged() -> None:
    found = session([EVEN] * 5, [TWICE] * 4 + [[each / 2 for each in SLOW_START]])

    assert "tf" == found.winner and "unsteady" in found.results[1].flags


def test_runs_that_are_too_short_get_no_word() -> None:
    assert {"torch": "too short to tell (5 of 5 runs)", "tf": "too short to tell: torch"} == words(
        session([[0.1] * 3] * 5, [TWICE] * 5))


def test_a_stack_whose_runs_all_failed_is_left_out_aloud() -> None:
    found = session([EVEN] * 5, [TWICE] * 5, ((made.cell("mxnet"), "died"),))

    assert ("tf", ("mxnet",)) == (found.winner, found.left_out)
    assert "WINNER of those that ran" == words(found)["tf"]


def test_four_rounds_get_no_word() -> None:
    found = session([EVEN] * 4, [TWICE] * 4)

    assert {"torch": "", "tf": "needs five rounds"} == words(found) and found.winner is None


def test_a_hundred_words_are_held_to_more_than_one_alone() -> None:
    """A ratio whose own p value is 0.013 is said of one comparison, and not of fifty."""
    rates = [100 * (1 + step / 100) for step in (1, 2, 3, 4, 5)]

    def said(comparisons: int) -> set[str]:
        cells = [made.cell(name, batch=10 + index) for index in range(comparisons) for name in ("torch", "tf")]
        runs = [record for cell in cells for record in made.runs(cell, rates if cell.stack == "tf" else [100.0] * 5)]
        found = summarise([made.session(), made.plan(*cells), *runs]).comparisons
        return {result.verdict.value for each in found for result in each.results if result.stack == "tf"}

    assert ({"faster"}, {"no difference shown"}) == (said(1), said(50))


def test_the_parts_of_one_sync_at_the_end_are_judged_by_the_seconds_that_they_took() -> None:
    def ended(parts: list[float]) -> Runs:
        blocks = {"seconds": parts, "counts": [100] * len(parts)}       # steps of a millisecond: 0.1 s a part
        lines = made.steps([sum(parts)], count=100 * len(parts), blocks=blocks)
        cell = made.cell(sync="end")
        rows = measurements([made.session(), made.plan(cell), *made.run(cell, 0, lines)]).rows
        return gate.of_rows(rows)[rows[0].key]

    assert Runs(1) == ended([0.1] * 20)
    assert Runs(0, 1) == ended([0.2] * 10 + [0.1] * 10)
    assert Runs(0, 0, 1) == ended([0.001] * 20)
