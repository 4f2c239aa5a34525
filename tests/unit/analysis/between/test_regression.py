"""Whether a head is slower than its base by more than is allowed."""

import math
import random
from xml.etree import ElementTree

import pytest

from runner.analysis import stats
from runner.analysis.between import regression
from runner.analysis.between.regression import Answer, Outcome
from runner.analysis.summary import summary_of
from runner.errors import InputError
from runner.report.between import regression as forms
from runner.results.looks import look, looks
from runner.stacks import own
from tests import made_rows as made

BASE = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2]


def judged(head: list[float], base: list[float] = BASE, cells: int = 1) -> Outcome:
    """Of a session in which every comparison has the same rates."""
    rates = {made.cell(name, batch=10 + index): each for index in range(cells)
             for name, each in (("base", base), ("head", head))}
    return regression.judge(made.measured(rates=rates, rounds=len(base), baseline="base"), "base", "head", 0.03)


def times(factor: float, noise: float = 0.001) -> list[float]:
    return [rate * factor * (1 + noise * (-1)**index) for index, rate in enumerate(BASE)]


@pytest.mark.parametrize(("factor", "answer", "code"), [
    (1.0, Answer.WITHIN, 0), (1.2, Answer.WITHIN, 0), (0.98, Answer.WITHIN, 0), (0.95, Answer.SLOWER, 1),
    (0.97, Answer.UNCLEAR, 3)])
def test_a_head_is_held_to_the_allowed_share(factor: float, answer: Answer, code: int) -> None:
    outcome = judged(times(factor))

    assert (answer, code) == (outcome.answer, regression.EXIT_CODES[outcome.answer])


def test_a_noisy_head_cannot_be_told_and_the_rounds_that_would_are_said() -> None:
    # log-ratios of +-0.1: their standard error is 0.1 x sqrt(6/5) / sqrt(6) = 0.0447, 0.03 away from the limit:
    # 6 x ((1.960 + 0.842) x 0.0447 / 0.0305)^2 is about 101
    outcome = judged([rate * (1.1052 if index % 2 else 0.9048) for index, rate in enumerate(BASE)])

    assert Answer.UNCLEAR is outcome.answer
    rounds = int(outcome.compared[0].reason.split()[1])
    assert 95 <= rounds <= 107


def test_more_rounds_would_tell_than_there_were() -> None:
    # 3.3 standard errors away: less than Student's t of 4 degrees for two comparisons, 3.50, more than the 3.08 of many
    head = [rate * math.exp(-0.06 + away) for rate, away in zip(BASE, (0.02, -0.02, 0.02, -0.02, 0.0), strict=False)]
    outcome = judged(head, BASE[:5], cells=2)

    assert ["about 6 rounds would tell"] * 2 == [each.reason for each in outcome.compared]


def test_one_slow_comparison_of_three_makes_the_session_slower_and_one_unclear_makes_it_unclear() -> None:
    def outcome(*answers: Answer) -> Answer:
        made_up = judged(times(1.0)).compared[0]
        return Outcome("base", "head", 0.03, tuple(made_up._replace(answer=answer) for answer in answers)).answer

    assert Answer.SLOWER is outcome(Answer.WITHIN, Answer.UNCLEAR, Answer.SLOWER)
    assert Answer.UNCLEAR is outcome(Answer.WITHIN, Answer.UNCLEAR)
    assert Answer.WITHIN is outcome(Answer.WITHIN, Answer.WITHIN)


def test_many_comparisons_are_held_to_more_than_one_alone() -> None:
    # log-ratios about -0.055 with an error of 0.0083: 2.9 errors below log 0.97; t of five degrees is 2.57, or 5.6
    slow = [rate * factor for rate, factor in zip(BASE, (0.93, 0.96, 0.92, 0.97, 0.94, 0.96), strict=True)]

    assert (Answer.SLOWER, Answer.UNCLEAR) == (judged(slow).answer, judged(slow, cells=20).answer)


def test_equal_sides_are_called_slower_in_less_than_one_session_of_twenty() -> None:
    draw = random.Random(24)

    def side() -> list[float]:
        return [100 * draw.lognormvariate(0, 0.03) for _ in range(6)]

    answers = [judged(side(), side(), cells=2).answer for _ in range(80)]

    assert answers.count(Answer.SLOWER) <= 4


def test_four_rounds_tell_nothing_and_sides_that_share_no_cell_are_refused() -> None:
    outcome = judged(times(0.5)[:4], BASE[:4])

    assert Answer.UNCLEAR is outcome.answer and "4 rounds in which both ended ok" in outcome.compared[0].reason
    with pytest.raises(InputError, match="no cell that both base and head have"):
        judged([], BASE, cells=0)


def test_what_has_no_rate_is_not_judged_and_widens_no_interval() -> None:
    rates = {made.cell(name): each for name, each in (("base", BASE), ("head", times(1.0)))}
    profiled = [made.cell(name, measure="operators") for name in ("base", "head")]
    runs = [record for cell in profiled for record in made.repeated(cell, len(BASE))]
    measured = made.measured(*profiled, *runs, rates=rates, rounds=len(BASE), baseline="base")

    assert judged(times(1.0)) == regression.judge(measured, "base", "head", 0.03)


def test_a_cell_that_one_side_alone_has_is_passed_over() -> None:
    sides = {made.cell(name): each for name, each in (("base", BASE), ("head", times(1.0)))}
    alone = {made.cell(name, batch=batch): BASE for name, batch in (("base", 20), ("head", 30))}
    measured = made.measured(rates={**sides, **alone}, rounds=len(BASE), baseline="base")

    (compared,) = regression.judge(measured, "base", "head", 0.03).compared
    assert (Answer.WITHIN, f"{made.LENET5}, training, batch 10") == (compared.answer, compared.label)


def test_a_gate_of_both_lanes_has_the_intervals_of_its_session_s_report() -> None:
    rates = {made.cell(name, loop=loop): each for loop in ("native", "tuned")
             for name, each in (("base", BASE), ("head", times(1.0, 0.01)))}
    measured = made.measured(rates=rates, rounds=len(BASE), baseline="base")
    compared = regression.judge(measured, "base", "head", 0.03).compared

    assert [each.results[1].ratio_interval for each in summary_of(measured).comparisons] == [
        each.ratio.interval for each in compared]


def test_a_doubt_about_both_sides_is_said_once() -> None:
    rates = {made.cell(name): BASE[:3] for name in ("base", "head")}
    measured = made.measured(made.INCOMPLETE, rates=rates, rounds=8, baseline="base")

    (compared,) = regression.judge(measured, "base", "head", 0.03).compared
    assert "unfinished (3 of 8 rounds could be measured)" == compared.reason


def test_markdown_has_the_conclusion_and_a_row_a_comparison() -> None:
    lines = forms.markdown(judged(times(0.9), cells=2), "made").splitlines()

    assert "slower than base by more than 3" in lines[0]
    assert 2 == sum("slower than allowed" in line for line in lines)


def test_junit_has_a_failure_where_the_head_is_slower_and_a_skip_where_it_could_not_be_told() -> None:
    def suite(outcome: Outcome) -> tuple[str | None, ...]:
        found = ElementTree.fromstring(forms.junit(outcome))
        assert len(found.findall("testcase")) == int(found.get("tests") or 0)
        return found.get("tests"), found.get("failures"), found.get("skipped")

    assert ("2", "2", "0") == suite(judged(times(0.9), cells=2))
    assert ("1", "0", "1") == suite(judged(times(0.97)))
    assert ("1", "0", "0") == suite(judged(times(1.0)))


def broken(rounds: int, base: str = "base", head: str = "head") -> Outcome:
    """Of what is planned as the head, which ends in an error in each of so many rounds."""
    errors = made.repeated(made.cell("head"), rounds, ending="error", message="cannot be imported")
    rates = {made.cell("base"): BASE[:rounds], made.cell("head"): []}
    return regression.judge(made.measured(*errors, rates=rates, rounds=len(BASE), baseline="base"), base, head, 0.03)


def test_a_head_that_ended_in_an_error_once_may_run_in_the_next_round() -> None:
    outcome = broken(4)
    assert Answer.UNCLEAR is outcome.answer and not outcome.decided
    assert "error: cannot be imported" == outcome.compared[0].reason


def test_a_head_that_does_not_run_where_the_base_does_fails_and_is_an_error_in_junit() -> None:
    outcome = broken(len(BASE))

    assert (Answer.BROKEN, 1) == (outcome.answer, regression.EXIT_CODES[outcome.answer])
    assert "error: cannot be imported" == outcome.compared[0].reason
    assert "head did not run where base did" in regression.conclusion(outcome)
    suite = ElementTree.fromstring(forms.junit(outcome))
    assert ("1", "0") == (suite.get("errors"), suite.get("failures")) and suite.find("testcase/error") is not None
    assert Answer.UNCLEAR is broken(len(BASE), "head", "base").answer


def test_a_side_is_a_stack_s_name_or_a_path_that_gets_the_side_s() -> None:
    assert ["torch", "base=/opt/env", "base=image:mine", "old=/opt/env"] == [
        own.side("base", word, {"torch": None}) for word in ("torch", "/opt/env", "image:mine", "old=/opt/env")]


def test_the_rounds_that_are_planned_for_a_time_are_twice_those_that_are_thought_to_fit() -> None:
    assert [120, 1000, 10] == [regression.rounds_within(600, 10), regression.rounds_within(86400, 3),
                               regression.rounds_within(1, 60)]


@pytest.mark.parametrize("true", [1.0, 0.95, 0.9])
def test_a_gate_that_goes_on_until_it_is_decided_is_wrong_in_at_most_one_of_twenty(true: float) -> None:
    """By the looks of the longest gate; at the allowed ratio itself every decision is wrong."""
    drawn, limit, counts = random.Random(3), 0.95, {"slower": 0, "within": 0}
    planned = looks(100)
    for _ in range(300):
        logs = [math.log(true) + drawn.gauss(0, 0.05) for _ in range(100)]
        for reached in planned:
            share = look(planned, reached).share
            ratio = stats.ratio({index: math.exp(each) for index, each in enumerate(logs[:reached])},
                                dict.fromkeys(range(reached), 1.0), stats.ERROR * share)
            if ratio.excludes(limit):
                counts["slower" if (ratio.value or 0.0) < limit else "within"] += 1
                break

    wrong = counts["slower"] * (true >= limit) + counts["within"] * (true <= limit)
    assert wrong <= 15 + 3 * math.sqrt(300 * 0.05 * 0.95)
    assert true == limit or sum(counts.values()) > 270


def test_ratios_are_given_as_github_action_benchmark_reads_them() -> None:
    assert [{"name": forms.clean(each.label), "unit": "times as fast as base", "value": each.ratio.value,
             "extra": f"slower than allowed, {regression.columns(judged(times(0.9)))[0]['head / base']}"}
            for each in judged(times(0.9)).compared] == forms.benchmark(judged(times(0.9)))
    assert [] == forms.benchmark(judged([]))
