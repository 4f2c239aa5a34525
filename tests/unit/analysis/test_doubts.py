"""Which stacks get no word whatever their intervals say, and what is said instead."""

from typing import Any

import pytest

from runner.analysis import doubts
from runner.analysis.between import comparing, regression
from runner.analysis.stats import Verdict
from runner.analysis.summary import summary_of
from runner.report.claims.wording import word
from runner.results.contract import INTERRUPTED
from runner.results.rows import Measurements
from tests import made_rows as made
from tests.made_claims import claim

EVEN = [0.1] * 12                                               # seconds of a turn's one step
FASTER, SLOWER = [0.1 * 1.02**(11 - index) for index in range(12)], [0.1 * 1.02**index for index in range(12)]
SLIGHTLY = [0.1 * 1.004**index for index in range(12)]          # 4.5 % from first to last


def session(rounds: dict[str, list[list[float]]], *more: made.Record, of: int = 5, **values: Any) -> Measurements:
    """Of each stack and round the seconds of twelve turns, or of more steps; tf takes half of it. of: rounds."""
    cells = [made.cell(name, **values) for name in rounds]
    runs: list[made.Record] = []
    for cell in cells:
        for index, seconds in enumerate(rounds[cell.stack]):
            shown = [each * (1 + index / 1000) * (0.5 if cell.stack == "tf" else 1) for each in seconds]
            lines = [made.turn([each]) for each in shown] if len(shown) <= 12 else [made.steps(shown)]
            runs += made.run(cell, index, *lines)
    return made.measured(*cells, *runs, *more, rounds=of, claims=[claim("faster").record()])


def words(measured: Measurements) -> dict[str, str]:
    comparison = summary_of(measured).comparisons[0]
    return {result.stack: word(comparison, result, "WINNER") for result in comparison.results}


def missing(measured: Measurements) -> set[str]:
    return {each.text for each in doubts.of(measured).values()}


@pytest.mark.parametrize(("torch", "tf", "baseline", "expected"), [
    ([EVEN] * 5, [EVEN] * 5, "", "WINNER"), ([EVEN] * 4, [EVEN] * 4, "", "needs five rounds"),
    # turns that lead one way take the word away, where they do in most rounds
    ([EVEN] * 5, [FASTER] * 3 + [EVEN] * 2, "", "not steady (getting faster in 3 of 5 runs)"),
    ([EVEN] * 5, [SLOWER] * 5, "", "not steady (slowing down in 5 of 5 runs)"),
    ([EVEN] * 5, [FASTER] * 2 + [SLOWER] * 2 + [EVEN], "", "WINNER"),
    ([EVEN] * 5, [SLOWER] * 2 + [EVEN] * 3, "", "WINNER"), ([EVEN] * 5, [SLIGHTLY] * 5, "", "WINNER"),
    ([FASTER] * 5, [EVEN] * 5, "not steady (getting faster in 5 of 5 runs)", "not steady: torch"),
    # without turns twelfths of the steps are asked
    ([[0.1] * 120] * 5, [[each for each in FASTER for _ in range(10)]] * 5, "",
     "not steady (getting faster in 5 of 5 runs)")])
def test_a_stack_gets_its_word_of_five_rounds_whose_turns_are_even_its_own_and_the_baseline_s(
        torch: list[list[float]], tf: list[list[float]], baseline: str, expected: str) -> None:
    assert {"torch": baseline, "tf": expected} == words(session({"torch": torch, "tf": tf}))


def test_the_parts_of_one_sync_at_the_end_are_asked_too() -> None:
    cell, blocks = made.cell(sync="end"), {"seconds": FASTER, "counts": [100] * 12}
    runs = made.repeated(cell, 5, made.steps([sum(FASTER)], count=1200, blocks=blocks))
    (doubt,) = doubts.of(made.measured(cell, *runs)).values()

    assert Verdict.NOT_STEADY is doubt.verdict


def test_programs_compiled_within_timed_steps_take_the_word_away() -> None:
    last = list(made.run(made.cell("tf"), 4, *[made.turn([0.05])] * 11, made.turn([0.05], compiled=2)))

    assert {"torch": "", "tf": "compiled while timed (1 of 5 runs)"} == words(
        session({"torch": [EVEN] * 5, "tf": [EVEN] * 4}, *last))


@pytest.mark.parametrize(("share", "device", "expected"), [
    (0.2, "cpu", "too busy (3 of 5 rounds could be measured)"), (0.05, "cpu", ""), (None, "cpu", ""),
    (0.2, "gpu", "")])
def test_a_run_without_turns_counts_where_others_left_it_the_cpus(share: float | None, device: str, expected: str
                                                                 ) -> None:
    cells = [made.cell(name, device=device) for name in ("torch", "tf")]
    runs = [record for cell in cells for index in range(5) for record in made.run(
        cell, index, made.steps([0.1] * 120),
        after={**made.AFTER, "foreign_cpu_share": share if index < 2 else 0.0})]

    assert {expected} - {""} == missing(made.measured(*cells, *runs, made.INCOMPLETE))


def test_rounds_that_a_session_had_no_time_for_are_missing_and_more_rounds_are_not_asked_for() -> None:
    cut = [record for name in ("torch", "tf") for record in made.run(
        made.cell(name), 3, *[made.turn([0.1])] * 2, ending="killed", message=INTERRUPTED)]

    assert [{"unfinished (3 of 8 rounds could be measured)"}] * 2 == [missing(
        session({"torch": [EVEN] * 3, "tf": [EVEN] * 3}, *more, made.INCOMPLETE, of=8)) for more in ((), cut)]


def test_who_is_measured_beside_a_disturbed_stack_says_what_is_missing() -> None:
    cells = [made.cell(name) for name in ("torch", "tf", "jax")]
    runs = [record for cell in cells for index in range(5) for record in made.run(
        cell, index, *[made.turn([0.1], foreign=0.3 if cell.stack == "jax" and index < 2 else 0.0)] * 12)]
    found = made.measured(*cells, *runs, made.INCOMPLETE)

    expected = "too busy (3 of 5 rounds could be measured)"
    assert {expected} == missing(found) == {each.withheld for each in summary_of(found).comparisons[0].results}
    assert [expected] == [each.reason for each in regression.judge(found, "torch", "tf", 0.03).compared]


def test_an_epoch_is_measured_whole_and_is_not_doubted() -> None:
    assert {} == doubts.of(session({"torch": [FASTER] * 5, "tf": [FASTER] * 5}, measure="epochs"))


def test_all_who_judge_say_the_same() -> None:
    measured = session({"torch": [EVEN] * 5, "tf": [FASTER] * 5})
    text = "tf: not steady (getting faster in 5 of 5 runs)"

    (claimed,) = summary_of(measured).claims
    (gated,) = regression.judge(measured, "torch", "tf", 0.03).compared
    assert (text, text) == (claimed.numbers[0].reason, gated.reason)
    assert ("inconclusive", "could not tell") == (claimed.verdict, gated.answer)
    assert "not steady" == comparing.compare(session({"torch": [EVEN] * 5, "tf": [EVEN] * 5}), measured).rows[1].verdict


def test_a_stack_whose_runs_all_failed_is_left_out_aloud() -> None:
    found = session({"torch": [EVEN] * 5, "tf": [EVEN] * 5, "mxnet": []},
                    *made.repeated(made.cell("mxnet"), 5, ending="died"))
    (comparison,) = summary_of(found).comparisons

    assert ("tf", ("mxnet",)) == (comparison.winner, comparison.left_out)
    assert "WINNER of those that ran" == words(found)["tf"]


def test_a_hundred_words_are_held_to_more_than_one_alone() -> None:
    """The log-ratios 0.01 to 0.049, t = 4.3 of four degrees: p = 0.013 is enough for one word, and not for fifty."""
    rates = [100 * (1 + step / 100) for step in (1, 2, 3, 4, 5)]

    def said(comparisons: int) -> set[tuple[str, str | None]]:
        found = made.summarised(rates={made.cell(name, batch=10 + index): each for index in range(comparisons)
                                       for name, each in (("torch", [100.0] * 5), ("tf", rates))}).comparisons
        return {(each.results[1].verdict.value, each.winner) for each in found}         # tf stands after the baseline

    assert ({("faster", "tf")}, {("no difference shown", None)}) == (said(1), said(50))
