"""Why a row is behind: planted reasons are found and named, and none where there is none."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from runner.analysis.kinds import Parts
from runner.cells import comparison_key, key
from runner.errors import InputError
from runner.measuring import why
from runner.measuring.why import Question, Reason, Trial
from runner.results.rows import Measurements, measurements
from tests import made_rows as made
from workloads.spec.cell import Cell, switched

FAST, SLOW = [100.0, 101.0, 99.0, 100.0, 100.5], [40.0, 40.4, 39.6, 40.0, 40.2]
TORCH, TF = made.cell("torch-x"), made.cell("tf-x")
OFF = {"framework": "tensorflow", "version": "2.21.0", "onednn": False, "threads": 2, "precision": "float32"}


def session(rates: Mapping[Cell, Sequence[float]], facts: Mapping[Cell, Mapping[str, Any]] | None = None,
            **record: Any) -> Measurements:
    records = [each for cell, of_cell in rates.items() for each in made.runs(
        cell, list(of_cell), facts={**made.FACTS, **(facts or {}).get(cell, {})})]
    return measurements([made.session(**record), made.plan(*rates, baseline=TORCH.stack), *records])


def asked_of(slow: Cell, facts: Mapping[str, Any] = OFF) -> list[Question]:
    return why.questions(session({TORCH: FAST, slow: SLOW}, {slow: facts}))


def answered(asked: Sequence[Question], tried: Sequence[Trial], faster: Mapping[str, float],
             parts: Mapping[str, Parts] | None = None, slow: Sequence[float] = SLOW) -> Reason:
    """What is said once each switch has made the row so many times as fast."""
    (question,) = asked
    rates = {question.best.cell: FAST, question.row.cell: slow,
             **{trial.cell: [rate * faster.get(trial.sets, 1.0) for rate in slow] for trial in tried}}
    (reason,) = why.reasons(session(rates), asked, tried, (), parts or {})
    return reason


@pytest.mark.parametrize(("facts", "values", "sets", "title"), [
    (OFF, {}, "TF_ENABLE_ONEDNN_OPTS=1", "oneDNN"),
    ({**OFF, "onednn": True, "threads": 1}, {}, "cpus=2", "a thread for each CPU"),
    ({**OFF, "onednn": True}, {}, "input=synthetic", "one batch in memory"),
    ({**OFF, "onednn": True, "precision": "float64"}, {"switches": "precision=float64"}, "precision=float32",
     "float32")])
def test_a_planted_reason_is_tried_and_named_with_what_switching_it_showed(
        facts: dict[str, Any], values: dict[str, Any], sets: str, title: str) -> None:
    asked = asked_of(TF._replace(**values), facts)
    tried, untried = why.trials(asked, {}, {}, 10_000.0)
    (trial,) = [each for each in tried if each.sets == sets]

    assert [] == untried
    assert comparison_key(trial.cell) == comparison_key(TF)
    name, value = sets.split("=")
    assert name.isupper() or str(getattr(switched(trial.cell), name)) == value
    said = why.sentence(answered(asked, tried, {sets: 2.5}))
    assert said.startswith(f"tf-x is 0.40x (0.40–0.40) of torch-x: with {title} ({sets}) it is 2.50x")
    assert "1.00x" in said


def test_what_a_framework_left_off_is_tried_before_what_the_parts_say() -> None:
    tried, _ = why.trials(asked_of(TF), {}, {}, 10_000.0)
    assert "TF_ENABLE_ONEDNN_OPTS=1" == tried[0].sets


def parts(**milliseconds: float) -> Parts:
    by_kind = {kind: value / 1000 for kind, value in milliseconds.items()}
    return Parts(sum(by_kind.values()), by_kind, sum(by_kind.values()) * 0.8)


def by_cell(asked: Sequence[Question], row: Parts, best: Parts) -> dict[str, Parts]:
    return {key(why.profiled(each.cell)): of for each, of in zip(asked[0], (row, best), strict=True)}


def test_the_likeliest_switches_are_those_of_the_largest_part_of_the_gap() -> None:
    asked = asked_of(TF, {**OFF, "onednn": True})
    for slow, first in (({"input": 9.0, "dispatch": 1.0}, "input=synthetic"),
                        ({"input": 1.0, "dispatch": 9.0}, "loop=xla")):
        tried, _ = why.trials(asked, by_cell(asked, parts(**slow), parts(input=1.0, dispatch=1.0)), {}, 10_000.0)
        assert first == tried[0].sets


def test_an_optimizer_in_python_is_where_the_gap_lies_and_no_switch_is_blamed() -> None:
    asked = asked_of(TF, {**OFF, "onednn": True})
    of = by_cell(asked, parts(convolutions=4.0, optimizer=20.0), parts(convolutions=3.0, optimizer=1.0))
    tried, _ = why.trials(asked, of, {}, 10_000.0)
    said = why.sentence(answered(asked, tried, {}, of))

    assert "most of the gap lies in optimizer (95 % of the gap)" in said
    assert said.endswith(f"of {len(tried)} switches none made it faster.")

    of = by_cell(asked, parts(convolutions=5.0, products=4.0, optimizer=4.0), parts(convolutions=1.0, optimizer=1.0))
    said = why.sentence(answered(asked, [], {}, of))
    assert said.endswith("the largest part of the gap lies in convolutions (36 % of the gap); no switch was tried.")


def test_none_is_named_where_two_names_are_one_environment() -> None:
    again = TORCH._replace(stack="torch-again")
    asked = why.questions(session({TORCH: FAST, again: FAST[1:] + FAST[:1]}), ["torch-again"])
    tried, _ = why.trials(asked, {}, {}, 10_000.0)
    said = why.sentence(answered(asked, tried, {}, slow=FAST[1:] + FAST[:1]))

    assert "not shown to be slower" in said and "with " not in said


def test_a_switch_whose_gain_may_be_chance_is_no_reason() -> None:
    asked = asked_of(TF)
    tried, _ = why.trials(asked, {}, {}, 10_000.0)
    (question,) = asked
    noisy = {trial.cell: [20.0, 80.0, 40.0, 90.0, 30.0] for trial in tried}
    (reason,) = why.reasons(session({TORCH: FAST, question.row.cell: SLOW, **noisy}), asked, tried, (), {})

    assert not any(each.helped for each in reason.moved)
    assert "none made it faster" in why.sentence(reason)


def test_rows_less_than_a_tenth_behind_are_not_asked_about_unless_they_are_named() -> None:
    near = session({TORCH: FAST, TF: [rate * 0.95 for rate in FAST]})
    assert [] == why.questions(near)
    assert [("tf-x", "torch-x")] == [(each.row.cell.stack, each.best.cell.stack)
                                     for each in why.questions(near, ["tf-x"])]
    with pytest.raises(InputError, match='"mxnet"'):
        why.questions(near, ["mxnet"])


def test_a_budget_leaves_out_the_least_likely_and_says_so() -> None:
    asked = asked_of(TF)
    seconds = {key(TORCH): 4.0, key(TF): 4.0}       # 5 rounds: 40 s as they are, 30 s of profiles, then 20 s a switch
    tried, untried = why.trials(asked, {}, seconds, 95.0)

    assert ["TF_ENABLE_ONEDNN_OPTS=1"] == [trial.sets for trial in tried]
    (reason,) = why.reasons(session({TORCH: FAST, TF: SLOW, tried[0].cell: FAST}), asked, tried, untried, {})
    assert set(reason.untried) == {trial.sets for trial in untried} and untried
    assert "not tried for want of time (--budget): " in "\n".join(why.lines([reason]))


def test_losses_are_held_against_each_other_where_a_switch_moves_precision() -> None:
    asked = asked_of(TF)
    tried = why.trials(asked, {}, {}, 10_000.0)[0][:1]
    moved = [record for index, rate in enumerate(FAST) for record in made.run(
        tried[0].cell, index, made.steps([10 / rate] * 12, loss=[2.2, 1.0], before=0))]
    plain = [record for cell, rates in ((TORCH, FAST), (TF, SLOW)) for index, rate in enumerate(rates)
             for record in made.run(cell, index, made.steps([10 / rate] * 12, loss=[2.0, 1.0], before=0))]
    (reason,) = why.reasons(measurements([made.session(), made.plan(TORCH, TF, tried[0].cell), *plain, *moved]), asked,
                            tried, (), {})

    assert pytest.approx(0.1) == reason.moved[0].losses
    assert "may change rounding, losses differ by up to 1e-01" in "\n".join(why.lines([reason]))


def test_the_sessions_hold_each_row_once_and_both_are_of_one_comparison() -> None:
    asked = asked_of(TF)
    tried, _ = why.trials(asked, {}, {}, 10_000.0)
    profiles, by_turns = why.parts_plan(asked, 1), why.switches_plan(asked, tried, 1)

    assert (1, ["parts", "parts"]) == (profiles.rounds, [each.cell.measure for each in profiles.cells])
    assert 1 == len({comparison_key(each.cell) for each in by_turns.cells})
    assert 2 + len(tried) == len({each.cell.stack for each in by_turns.cells}) and 5 == by_turns.rounds


def test_the_parts_of_a_step_add_up_to_it_and_what_no_kind_has_is_unexplained() -> None:
    asked = asked_of(TF)
    line = {"event": "parts", "steps": 2, "seconds": 0.2, "input_seconds": 0.02, "operators": {
        "aten::addmm": 0.06, "optimizer/aten::add": 0.02, "strange": 0.04}}
    profiled = why.profiled(TORCH)
    records = [made.session(), made.plan(profiled), *made.run(profiled, 0, line)]
    found = why.parts_of(measurements(records), asked)[key(profiled)]

    assert found.by_kind == pytest.approx({"input": 0.01, "dispatch": 0.03, "products": 0.03, "optimizer": 0.01,
                                           "unexplained": 0.02})
    assert sum(found.by_kind.values()) == pytest.approx(found.seconds) == pytest.approx(0.1)
    assert 0.0 == pytest.approx(found.cost, abs=0.01)           # 10 images at 100 a second: 0.1 s
