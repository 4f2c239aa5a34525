"""Why a row is behind: planted reasons are found and named, and none where there is none."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.analysis import agreement
from runner.analysis.step_parts import Parts
from runner.cells import comparison_key, key
from runner.errors import InputError
from runner.measuring import equality
from runner.measuring.why import profiles, questions, reasons, trials
from runner.measuring.why.questions import Question
from runner.measuring.why.reasons import Reason
from runner.measuring.why.trials import Trial
from runner.planning.plan import run_seconds
from runner.report.between import reasons as why_report
from runner.report.document import Dots
from runner.results.reader import measurements
from runner.results.rows import Measurements
from tests import made_rows as made
from tests import printing
from tests.clock import FakeClock
from tests.fakes import FakeLauncher, stack
from tests.made_own import lines
from workloads.spec import measures
from workloads.spec.cell import Cell, switched

FAST, SLOW = [100.0, 101.0, 99.0, 100.0, 100.5], [40.0, 40.4, 39.6, 40.0, 40.2]
TORCH, TF = made.cell("torch-x"), made.cell("tf-x")
OFF = {"framework": "tensorflow", "version": "2.21.0", "onednn": False, "threads": 2, "precision": "float32"}


def session(rates: Mapping[Cell, Sequence[float]], facts: Mapping[Cell, Mapping[str, Any]] | None = None,
            **record: Any) -> Measurements:
    records = [each for cell, of_cell in rates.items() for each in made.runs(
        cell, list(of_cell), facts={**made.FACTS, **(facts or {}).get(cell, {})})]
    return made.measured(*rates, made.session(**record), *records, baseline=TORCH.stack)


def asked_of(slow: Cell, facts: Mapping[str, Any] = OFF) -> list[Question]:
    return questions.of(session({TORCH: FAST, slow: SLOW}, {slow: facts}))


def answered(asked: Sequence[Question], tried: Sequence[Trial], faster: Mapping[str, float],
             parts: Mapping[str, Parts] | None = None, slow: Sequence[float] = SLOW,
             untried: Sequence[Trial] = ()) -> Reason:
    """What is said once each switch has made the row so many times as fast."""
    (question,) = asked
    rates = {question.best.cell: FAST, question.row.cell: slow,
             **{trial.cell: [rate * faster.get(trial.sets, 1.0) for rate in slow] for trial in tried}}
    (reason,) = reasons.of(session(rates), asked, tried, untried, parts or {})
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
    tried, untried = trials.of(asked, {}, {}, 10_000.0)
    (trial,) = [each for each in tried if each.sets == sets]

    assert [] == untried
    assert comparison_key(trial.cell) == comparison_key(TF)
    name, value = sets.split("=")
    assert name.isupper() or str(getattr(switched(trial.cell), name)) == value
    said = reasons.sentence(answered(asked, tried, {sets: 2.5}))
    assert said.startswith(f"tf-x is 0.40x (0.40–0.40) of torch-x: with {title} ({sets}) it is 2.50x")
    assert "1.00x" in said
    if trial.switch.tells:                       # what is seen to be off is tried before what the parts say
        tried, _ = trials.of(asked, by_cell(asked, parts(dispatch=9.0), parts(dispatch=1.0)), {}, 10_000.0)
        assert [sets, "loop=xla"] == [each.sets for each in tried][:2]


def parts(**milliseconds: float) -> Parts:
    by_kind = {kind: value / 1000 for kind, value in milliseconds.items()}
    return Parts(sum(by_kind.values()), by_kind, sum(by_kind.values()) * 0.8)


def by_cell(asked: Sequence[Question], row: Parts, best: Parts) -> dict[str, Parts]:
    return {key(profiles.profiled(each.cell)): of for each, of in zip(asked[0], (row, best), strict=True)}


def test_the_likeliest_switches_are_those_of_the_largest_part_of_the_gap() -> None:
    asked = asked_of(TF, {**OFF, "onednn": True})
    for slow, first in (({"input": 9.0, "dispatch": 1.0}, "input=synthetic"),
                        ({"input": 1.0, "dispatch": 9.0}, "loop=xla")):
        tried, _ = trials.of(asked, by_cell(asked, parts(**slow), parts(input=1.0, dispatch=1.0)), {}, 10_000.0)
        assert first == tried[0].sets


def test_an_optimizer_in_python_is_where_the_gap_lies_and_no_switch_is_blamed() -> None:
    asked = asked_of(TF, {**OFF, "onednn": True})
    of = by_cell(asked, parts(convolutions=4.0, optimizer=20.0), parts(convolutions=3.0, optimizer=1.0))
    tried, _ = trials.of(asked, of, {}, 10_000.0)
    said = reasons.sentence(answered(asked, tried, {}, of))

    assert "most of the gap lies in optimizer (95 % of the gap)" in said
    assert said.endswith(f"of {len(tried)} switches none made it faster.")
    said = reasons.sentence(answered(asked, tried[:1], {}, of, untried=tried[1:]))
    assert said.endswith(f"of 1 switch none made it faster, {len(tried) - 1} not tried for want of time.")

    of = by_cell(asked, parts(convolutions=5.0, products=4.0, optimizer=4.0), parts(convolutions=1.0, optimizer=1.0))
    for untried, why_none in ((tried, "for want of time no switch was tried"), ([], "no documented switch applies")):
        said = reasons.sentence(answered(asked, [], {}, of, untried=untried))
        assert said.endswith(f"the largest part of the gap lies in convolutions (36 % of the gap); {why_none}.")


def test_none_is_named_where_two_names_are_one_environment() -> None:
    again = TORCH._replace(stack="torch-again")
    asked = questions.of(session({TORCH: FAST, again: [0.999 * rate for rate in FAST]}), ["torch-again"])
    tried, _ = trials.of(asked, {}, {}, 10_000.0)
    said = reasons.sentence(answered(asked, tried, {}, slow=FAST[1:] + FAST[:1]))

    assert "not shown to be slower" in said and "with " not in said
    faster = reasons.sentence(answered(asked, tried, {}, slow=[2 * rate for rate in FAST]))
    assert faster.startswith("torch-again is faster than torch-x now: 2.00x (")
    alike = reasons.sentence(answered(asked, tried, {}, slow=FAST))
    assert alike == "torch-again is as fast as torch-x now: 1.00x (1.00–1.00)."


def test_a_switch_whose_gain_may_be_chance_is_no_reason() -> None:
    asked = asked_of(TF)
    tried, _ = trials.of(asked, {}, {}, 10_000.0)
    (question,) = asked
    noisy = {trial.cell: [20.0, 80.0, 40.0, 90.0, 30.0] for trial in tried}
    (reason,) = reasons.of(session({TORCH: FAST, question.row.cell: SLOW, **noisy}), asked, tried, (), {})

    assert not any(each.helped for each in reason.moved)
    assert "none made it faster" in reasons.sentence(reason)


def test_a_switch_with_which_programs_are_compiled_while_timed_is_no_reason() -> None:
    asked = asked_of(TF)
    trial = trials.of(asked, {}, {}, 10_000.0)[0][0]
    compiling = made.repeated(trial.cell, 5, *[made.turn([0.1], compiled=1)] * made.STEPS)
    plain = [record for cell, rates in ((TORCH, FAST), (TF, SLOW)) for record in made.runs(cell, rates)]
    (reason,) = reasons.of(made.measured(TORCH, TF, trial.cell, *plain, *compiling), asked, [trial], (), {})

    assert "none made it faster" in reasons.sentence(reason)
    assert reason.moved[0].told().startswith("2.50x") and "compiled while timed" in reason.moved[0].told()


def test_rows_less_than_a_tenth_behind_are_not_asked_about_unless_they_are_named() -> None:
    near = session({TORCH: FAST, TF: [rate * 0.95 for rate in FAST]})
    assert [] == questions.of(near)
    for word in ("tf-x", "tf"):
        assert [("tf-x", "torch-x")] == [(each.row.cell.stack, each.best.cell.stack)
                                         for each in questions.of(near, [word])]
    with pytest.raises(InputError, match='"mxnet"'):
        questions.of(near, ["mxnet"])


def test_a_budget_for_too_few_rows_asks_about_those_that_are_the_furthest_behind() -> None:
    jax = TF._replace(stack="jax-x")
    asked = questions.of(session({TORCH: FAST, jax: [60.0, 61.0, 60.0, 60.0, 60.0], TF: SLOW}))
    took = dict.fromkeys(map(key, (TORCH, TF, jax)), 4.0)                 # 7 runs of each row: 28 s
    for budget, stacks in ((84.0, ["tf-x", "jax-x"]), (60.0, ["tf-x"]), (5.0, ["tf-x"])):
        assert stacks == [each.row.cell.stack for each in questions.affordable(asked, took, budget)]


def test_a_budget_leaves_out_the_least_likely_and_says_so() -> None:
    asked = asked_of(TF)
    # of both 5 rounds, a profile and a check: 56 s; then 24 s a switch
    tried, untried = trials.of(asked, {}, {key(TORCH): 4.0, key(TF): 4.0}, 100.0)

    assert ["TF_ENABLE_ONEDNN_OPTS=1"] == [trial.sets for trial in tried]
    (reason,) = reasons.of(session({TORCH: FAST, TF: SLOW, tried[0].cell: FAST}), asked, tried, untried, {})
    assert set(reason.untried) == {trial.sets for trial in untried} and untried
    assert "Not tried for want of time (--budget): " in str([*why_report.told([reason.record()])])


def test_a_budget_goes_first_to_the_rows_that_are_the_furthest_behind_of_all_comparisons() -> None:
    cells = TORCH, TF, TORCH._replace(batch=2), TF._replace(batch=2)
    rates = dict(zip(cells, (FAST, SLOW, FAST, [rate / 2 for rate in SLOW]), strict=True))
    asked = questions.of(session(rates, dict.fromkeys(cells[1::2], OFF)))
    tried, _ = trials.of(asked, {}, {key(cell): 4.0 for cell in cells}, 150.0)        # of rows 112 s, of a switch 24 s

    assert [2] == [trial.cell.batch for trial in tried]


VERDICT = agreement.Verdict("lenet5", "tf-x+switch", "tf-x", "float32", {"loss": 1e-7, "inferred": 3e-6}, "", "")


@pytest.mark.parametrize(("verdict", "moves", "helped", "told"), [
    (VERDICT, "rounding", True, "2.50x (2.50–2.50), equal, outputs differ by up to 3e-06"),
    (VERDICT, "", True, "2.50x (2.50–2.50), equal"),
    (VERDICT._replace(first="gradient dense1.weight (Dense)"), "rounding", False,
     "another model: differs first in gradient dense1.weight (Dense), outputs differ by up to 3e-06"),
    (VERDICT._replace(first="loss loss", worst={"logits": 0.02}), "precision", True,
     "2.50x (2.50–2.50), outputs differ by up to 2e-02"),
    (VERDICT._replace(worst={}, problem="tf-x: unsupported: no"), "memory", True,
     "may take more memory, not checked: tf-x: unsupported: no")])
def test_a_switch_is_told_with_what_its_check_said_and_is_no_reason_where_it_makes_another_model(
        verdict: agreement.Verdict, moves: str, helped: bool, told: str) -> None:
    asked = asked_of(TF)
    trial = trials.of(asked, {}, {}, 10_000.0)[0][0]
    trial = trial._replace(switch=trial.switch._replace(moves=moves))
    (reason,) = reasons.of(session({TORCH: FAST, TF: SLOW, trial.cell: FAST}), asked, [trial], (), {},
                            {trial.cell.stack: verdict})

    assert helped == reason.moved[0].helped == ("with oneDNN" in reason.record()["sentence"])
    assert reason.moved[0].told().endswith(told)


def test_a_row_with_a_switch_is_checked_against_itself_once_and_the_verdict_is_kept(tmp_path: Path) -> None:
    asked = asked_of(TF)
    trial = trials.of(asked, {}, {}, 10_000.0)[0][0]
    launcher = FakeLauncher(FakeClock(), lambda cell, run: lines("loss", loss=[2.0 if cell.switches else 1.0]))
    check = equality.Check(launcher, tmp_path, (2, 0), lambda line: None)
    first, again = (equality.of_switches([(trial.cell, TF, stack("tf-x"))], check, tmp_path) for _ in range(2))

    assert [trial.cell.switches, ""] == sorted((cell.switches for cell, _ in launcher.started), reverse=True)
    assert {"check"} == {cell.measure for cell, _ in launcher.started}
    assert first == again and "loss loss" == first[trial.cell.stack].first
    assert {} == equality.proved(tmp_path, {"tf-x": "f"})          # it proves nothing of a stack


def test_a_profiled_step_is_a_trace_of_a_process_a_row() -> None:
    profiled = profiles.profiled(TORCH)
    line = {"event": "parts", "steps": 2, "seconds": 0.2, "input_seconds": 0.02, "operators": {"aten::addmm": 0.06},
            "names": ["aten::addmm", "host/python"], "spans": [[0, 1, 0, 9000], [1, 0, 2000, 1500]]}
    told = profiles.trace(made.measured(profiled, *made.run(profiled, 0, line)))

    assert [("X", "host/python", 0.0, 9.0, 0), ("X", "aten::addmm", 2.0, 1.5, 1)] == [
        (each["ph"], each["name"], each["ts"], each["dur"], each["tid"]) for each in told["traceEvents"][1:]]
    assert told["traceEvents"][0]["args"]["name"].startswith("torch-x: LeNet-5")


def test_losses_are_held_against_each_other_where_a_switch_moves_precision() -> None:
    asked = asked_of(TF)
    tried = trials.of(asked, {}, {}, 10_000.0)[0][:1]
    moved = [record for index, rate in enumerate(FAST) for record in made.run(
        tried[0].cell, index, made.steps([10 / rate] * 12, loss=[2.2, 1.0], before=0))]
    plain = [record for cell, rates in ((TORCH, FAST), (TF, SLOW)) for index, rate in enumerate(rates)
             for record in made.run(cell, index, made.steps([10 / rate] * 12, loss=[2.0, 1.0], before=0))]
    (reason,) = reasons.of(made.measured(TORCH, TF, tried[0].cell, *plain, *moved), asked,
                            tried, (), {})

    assert pytest.approx(0.1) == reason.moved[0].losses
    assert "not checked, losses differ by up to 1e-01" in str([*why_report.told([reason.record()])])


def test_the_sessions_hold_each_row_once_and_both_are_of_one_comparison() -> None:
    asked = asked_of(TF)
    tried, _ = trials.of(asked, {}, {}, 10_000.0)
    of_parts, by_turns = profiles.plan(asked, 1), trials.plan(asked, tried, 1)

    assert (1, ["parts", "parts"]) == (of_parts.rounds, [each.cell.measure for each in of_parts.cells])
    assert 1 == len({comparison_key(each.cell) for each in by_turns.cells})
    assert 2 + len(tried) == len({each.cell.stack for each in by_turns.cells}) and 5 == by_turns.rounds


def test_the_parts_of_a_step_add_up_to_it_and_what_no_kind_has_is_unexplained() -> None:
    asked = asked_of(TF)
    line = {"event": "parts", "steps": 2, "seconds": 0.2, "input_seconds": 0.02, "operators": {
        "aten::addmm": 0.06, "optimizer/aten::add": 0.02, "strange": 0.04, "input": 0.02, "host/python": 0.03,
        "host/waiting": 0.01}}
    profiled = profiles.profiled(TORCH)
    records = [made.session(), made.plan(profiled), *made.run(profiled, 0, line)]
    found = profiles.parts(measurements(records), asked)[key(profiled)]

    assert found.by_kind == pytest.approx({"input": 0.01, "dispatch": 0.015, "products": 0.03, "optimizer": 0.01,
                                           "waiting": 0.005, "unexplained": 0.03})     # 0.01 of which nobody saw
    assert sum(found.by_kind.values()) == pytest.approx(found.seconds) == pytest.approx(0.1)
    assert 1.0 == pytest.approx(found.seconds / found.timed, abs=0.01)           # 10 images at 100 a second: 0.1 s


def test_the_reasons_are_a_section_of_the_result_s_page_with_parts_and_switches_side_by_side(tmp_path: Path) -> None:
    asked = asked_of(TF)
    of = by_cell(asked, parts(convolutions=8.0, dispatch=1.0), parts(convolutions=2.0, dispatch=1.0, norms=1.0))
    tried, _ = trials.of(asked, of, {}, 10_000.0)
    record = json.loads(json.dumps(answered(asked, tried[:1], {"TF_ENABLE_ONEDNN_OPTS=1": 2.5}, of).record()))
    (section,) = why_report.section([record, {**record, "untried": ["loop=xla"]}])

    assert section.notes[0].endswith("it is 2.50x (2.50–2.50) as fast, 1.00x (1.00–1.00) of torch-x.")
    (chart,) = section.charts
    assert isinstance(chart, Dots)
    assert [("tf-x", (("dispatch", 1.0), ("convolutions", 8.0)), "9.00 ms"),
            ("torch-x", (("dispatch", 1.0), ("convolutions", 2.0), ("norms", 1.0)), "4.00 ms")] == [
        (bar.name, bar.parts, bar.text) for bar in chart.groups[0][1]]
    assert [("dispatch", "1.00", "1.00", ""), ("convolutions", "8.00", "2.00", "120 %"), ("norms", "", "1.00", ""),
            ("step", "9.00", "4.00", "")] == [*printing.lines(section.tables[0])]
    assert ("loop=xla", "", "not tried for want of time") == printing.lines(section.tables[-1])[-1]
    record["parts"]["torch-x"]["timed_seconds"] = 1.0
    shown = str([*why_report.told([record])])
    assert "with which a step takes 25 % longer in tf-x and no longer in torch-x." in shown and "'oneDNN'" in shown

    assert [] == [*why_report.section([])]
    for bad in ({}, {**record, "parts": 3}, {**record, "switches": [{}]}):
        (told,) = why_report.section([bad])
        assert "`evenbench why` makes it anew" in told.notes[0] and not told.tables


@pytest.mark.parametrize("measure", measures.RATED)
def test_a_profiled_run_of_every_measure_that_has_a_rate_can_be_planned(measure: str) -> None:
    cell = TORCH._replace(task="gpt2", measure=measure, batch=1)
    assert 0 < run_seconds(profiles.profiled(cell)) < 60


def test_parts_of_a_step_that_the_profiler_changes_are_not_told() -> None:
    (question,) = asked = questions.of(session({TORCH: FAST, TF: SLOW}))
    keys = {each.cell.stack: key(profiles.profiled(each.cell)) for each in question}
    slow = 3.0 * 10 / FAST[0]
    parts = {keys[TORCH.stack]: Parts(slow, {"products": slow}, slow / 3),
             keys[TF.stack]: Parts(0.1, {"products": 0.1}, 0.1)}
    (reason,) = reasons.of(session({TORCH: FAST, TF: SLOW}), asked, [], [], parts)

    assert {} == reason.parts and "3.0 times as long" in reason.without_parts
    assert "of the gap" not in reasons.sentence(reason)
