"""Claims: each kind on made rows with known answers, both ways and at the edge; what is refused in a study."""

import json
import math
import re
from typing import Any

import pytest

from runner.analysis.claims.judging import Side
from runner.analysis.stats import Interval
from runner.analysis.summary import summary_of
from runner.errors import InputError
from runner.results.reader import measurements
from runner.results.rows import Measurements
from runner.screen.summary import summary_view
from runner.study import file
from runner.study.claims import Claim, Verdict
from runner.study.subjects import Subject
from tests import made_report
from tests import made_rows as made
from tests.made_claims import ABOUT_ONE, MXNET, TF, TORCH, claim, judge, number, over, took
from tests.printing import lines as table_lines
from tests.printing import printed
from tests.studies import parse, read

HOLDS, DOES_NOT, INCONCLUSIVE, NO_DATA = Verdict


def of_stacks(**seconds: Any) -> Measurements:
    return took({made.cell(stack): found for stack, found in seconds.items()})


@pytest.mark.parametrize(("asked", "tf", "torch", "expected"), [
    *(({"kind": "faster"}, *each) for each in (
        (1.0, 1.5, HOLDS), (1.5, 1.0, DOES_NOT), ([1.0, 1.2, 0.9] * 2, [1.0, 0.9, 1.2] * 2, INCONCLUSIVE),
        ([2.0] * 5, [2.0] * 5, DOES_NOT))),
    *(({"kind": "ratio", **thresholds}, 2.0, [1.0] * 5, expected) for thresholds, expected in (
        ({"at_least": 1.9}, HOLDS), ({"at_least": 2.1}, DOES_NOT), ({"at_least": 2.0}, INCONCLUSIVE),
        ({"at_most": 2.1}, HOLDS), ({"at_most": 1.9}, DOES_NOT), ({"at_most": 2.0}, INCONCLUSIVE),
        ({"at_least": 1.5, "at_most": 2.5}, HOLDS), ({"at_least": 2.5, "at_most": 3.0}, DOES_NOT),
        ({"about": 2.2, "within": 0.15}, HOLDS), ({"about": 2.2, "within": 0.1}, INCONCLUSIVE),
        ({"about": 2.2, "within": 0.05}, DOES_NOT), ({"about": 1.75, "within": 0.1}, DOES_NOT))),
    *(({"kind": "equal", "within": 0.15, **subjects}, tf, [1.0] * 5, expected)
      for subjects in ({}, {"of": TORCH, "to": TF}) for tf, expected in (
        (1.1, HOLDS), (1.2, DOES_NOT), (1 / 1.2, DOES_NOT), (1.15, INCONCLUSIVE), (1 / 1.15, INCONCLUSIVE)))])
def test_a_claim_holds_where_its_interval_lies_on_its_side(asked: Any, tf: Any, torch: Any, expected: Verdict) -> None:
    assert expected is judge(claim(**asked), of_stacks(tf=tf, torch=torch)).verdict


def test_a_number_is_of_the_same_rounds() -> None:
    found = number(judge(claim("faster"), of_stacks(tf=[1.0, 2.0, 3.0], torch=[1.5, 3.0, 4.5])))

    assert ("torch / tf", 3) == (found.what, found.rounds)
    assert pytest.approx((1.5, 1.5, 1.5)) == (found.value, *(found.interval or ()))


@pytest.mark.parametrize(("side", "low", "high", "expected"), [
    (Side(1, 2), 1, 2, HOLDS), (Side(1, 2), 0.9, 1, INCONCLUSIVE), (Side(1, 2), 0.8, 0.9, DOES_NOT),
    (Side(1, 2), 2, 3, INCONCLUSIVE), (Side(1, 2), 2.1, 3, DOES_NOT), (Side(1, 2), 0.5, 3, INCONCLUSIVE),
    (Side(1, math.inf, True), 1.1, 9, HOLDS), (Side(1, math.inf, True), 1, 9, INCONCLUSIVE),
    (Side(1, math.inf, True), 0.5, 1, DOES_NOT), (Side(0, 1, True), 0.5, 0.9, HOLDS),
    (Side(0, 1, True), 0.5, 1, INCONCLUSIVE), (Side(0, 1, True), 1, 2, DOES_NOT)])
def test_at_the_edge(side: Side, low: float, high: float, expected: Verdict) -> None:
    assert expected is side.verdict(Interval(low, high))


def test_a_trend_tells_its_steps_and_on_average_may_turn_once() -> None:
    trend = claim("trend", to=None, cases=((4,), (1,), (2,)), along="batch", direction="up")
    found = judge(trend, over("batch", (1, 2, 4), tf=(1.0, 2.0, 6.0)))
    mean = judge(trend.model_copy(update={"holds_for": "mean"}), over("batch", (1, 2, 4), tf=(1.0, 5.0, 4.0)))

    assert [({"batch": "1 to 2"}, pytest.approx(2.0)), ({"batch": "2 to 4"}, pytest.approx(3.0))] == [
        (number.case, number.value) for number in found.numbers]
    assert (HOLDS, pytest.approx(2.0)) == (mean.verdict, number(mean).value)        # of 5 and 0.8


def test_a_trend_along_names_follows_the_order_that_where_gives() -> None:
    measured = over("task", ("vgg16", "alexnet"), tf=(2.0, 3.0))
    for tasks, expected in ((("vgg16", "alexnet"), HOLDS), (("alexnet", "vgg16"), DOES_NOT)):
        found = claim("trend", to=None, cases=(("alexnet",), ("vgg16",)), where={"task": tasks}, along="task",
                      direction="up")
        assert expected is judge(found, measured).verdict


@pytest.mark.parametrize(("order", "tf", "each"), [
    ((TORCH, TF, MXNET), 2.0, [HOLDS, HOLDS]), ((TORCH, MXNET, TF), 2.0, [HOLDS, DOES_NOT]),
    ((MXNET, TORCH), 2.0, [DOES_NOT]), ((TORCH, MXNET), 2.0, [HOLDS]),
    ((TORCH, TF, MXNET), [1.0, 0.9, 1.1, 1.05, 0.95], [INCONCLUSIVE, HOLDS])])           # two may be equal
def test_an_order_is_from_the_least_to_the_most(order: tuple[Subject, ...], tf: Any, each: list[Verdict]) -> None:
    found = judge(claim("order", of=None, to=None, order=order), of_stacks(torch=1.0, tf=tf, mxnet=3.0))

    assert each == [number.verdict for number in found.numbers]
    assert found.verdict is next((word for word in (DOES_NOT, INCONCLUSIVE) if word in each), HOLDS)


def test_each_case_must_hold_and_one_that_is_turned_the_other_way() -> None:
    each = claim("faster", cases=(("lenet5",), ("vgg16",)), over=("task",))
    turned = each.model_copy(update={"turned_for": ({"task": "vgg16"},)})
    both, one = (over("task", ("lenet5", "vgg16"), **seconds) for seconds in (
        {"tf": (1.0, 1.0), "torch": (2.0, 3.0)}, {"tf": (1.0, 3.0), "torch": (2.0, 1.0)}))
    found = judge(each, one)

    assert (HOLDS, DOES_NOT, HOLDS) == (judge(each, both).verdict, judge(turned, both).verdict,
                                        judge(turned, one).verdict)
    assert (DOES_NOT, [({"task": "lenet5"}, HOLDS), ({"task": "vgg16"}, DOES_NOT)]) == (
        found.verdict, [(number.case, number.verdict) for number in found.numbers])


def test_a_turned_trend_goes_the_other_way() -> None:
    measured = took({made.cell("tf", task=task, batch=batch): found for task, batch, found in (
        ("lenet5", 1, 1.0), ("lenet5", 2, 2.0), ("vgg16", 1, 3.0), ("vgg16", 2, 1.0))})
    cases = tuple((task, batch) for task in ("lenet5", "vgg16") for batch in (1, 2))
    found = claim("trend", to=None, cases=cases, over=("task",), along="batch", direction="up",
                  turned_for=({"task": "vgg16"},))

    assert HOLDS is judge(found, measured).verdict


@pytest.mark.parametrize(("rounds", "has_interval"), [(1, False), (2, False), (4, True)])
def test_too_few_rounds_are_inconclusive_and_tell_the_value(rounds: int, has_interval: bool) -> None:
    found = judge(claim("faster"), of_stacks(tf=[1.0] * rounds, torch=[9.0] * rounds))

    assert (INCONCLUSIVE, pytest.approx(9.0), "needs 5 rounds") == (
        found.verdict, number(found).value, number(found).reason)
    assert has_interval is (number(found).interval is not None)


def test_a_missing_cell_is_named_with_its_reason_and_the_others_numbers_are_told() -> None:
    over = claim("faster", cases=(("lenet5",), ("vgg16",), ("alexnet",), ("tiny",)), over=("task",))
    cells = {made.cell(stack, task=task): 1.0 for stack in ("tf", "torch") for task in ("lenet5", "alexnet")}
    cells |= {made.cell("tf", task=task): 0.5 for task in ("lenet5", "vgg16", "alexnet")}
    oom = made.run(made.cell("torch", task="vgg16"), 0, ending="oom")
    cells |= {made.cell("torch", task="vgg16"): [], made.cell("torch", task="tiny"): []}
    found = judge(over, took(cells, *oom, skipped={made.cell("tf", task="tiny"): "no image"}))

    assert NO_DATA is found.verdict
    assert ("torch, vgg16: ended oom", "tf, tiny: no image", "torch, tiny: not run") == found.missing
    assert ["lenet5", "alexnet"] == [number.case["task"] for number in found.numbers]


CELLS = made.cell("tf"), made.cell("torch")
PHASES = made.cell("tf", measure="phases"), made.cell("torch", measure="phases")


@pytest.mark.parametrize(("asked", "measured", "missing"), [
    *((claim(kind, to=None, cases=((1,),), along="batch", direction="up"), over("batch", [1], tf=[1.0]),
       ["the study has only one value of batch at this scale"]) for kind in ("trend", "slope")),
    (claim("faster", cases=()), took(dict.fromkeys(CELLS, 1.0)), ["the study has no such cells at this scale"]),
    # rounds that only one of them has
    (claim("faster"), made.measured(*CELLS, *made.runs(CELLS[0], [1.0] * 3), *made.runs(
        CELLS[1], [1.0] * 5, first_round=3)), ["tf: ended ok", "torch: ended ok"]),
    (claim("faster", quantity="communication"), took(dict.fromkeys(PHASES, 1.0)),
     ["tf: its runs tell of no communication", "torch: its runs tell of no communication"]),
    (claim("faster", quantity="load"), made.told({
        cell: [made.steps([1.0], phases={"load": [load]})] for cell, load in zip(PHASES, (0.0, 0.1), strict=True)}),
     ["tf: 0 in round 0, of which no ratio can be taken"])])
def test_a_claim_without_data_says_what_is_missing(asked: Claim, measured: Measurements, missing: list[str]) -> None:
    found = judge(asked, measured)

    assert (NO_DATA, missing) == (found.verdict, [*found.missing])


STUDY = """
[study]
id = "s"
title = "S"
scales = ["paper", "quick"]
[[experiment]]
id = "e"
measure = "train"
stacks = ["tf", "torch"]
grid = { task = ["lenet5", "vgg16"], batch = [1, 2, 4] }
scale.quick = { grid = { batch = [1] } }
[[claim]]
id = "c"
text = "TensorFlow is faster"
kind = "faster"
quantity = "step"
of = { stack = "tf" }
to = { stack = "torch" }
over = ["task", "batch"]
turned_for = [{ task = "vgg16" }]
"""


def parsed(*changes: tuple[str, str], scale: str | None = None) -> file.Study:
    return parse(STUDY, *changes, scale=scale)


@pytest.mark.parametrize(("changes", "scale", "cases"), [
    ((), None, {(task, batch) for task in ("lenet5", "vgg16") for batch in (1, 2, 4)}),
    ((), "quick", {("lenet5", 1), ("vgg16", 1)}),
    ((("over =", "where = { batch = [2] }\nover ="),), "quick", set()),             # which only another scale has
    # models that a scale leaves out stay cases, so that fewer do not stand for all
    ((("batch = [1, 2, 4]", "batch = [1]"), ('over = ["task", "batch"]', 'over = ["task"]'),
      ("grid = { batch = [1] }", 'grid = { task = ["lenet5"] }')), "quick", {("lenet5",), ("vgg16",)})])
def test_a_claim_is_read_with_the_study_s_cases_at_its_scale(
        changes: tuple[tuple[str, str], ...], scale: str | None, cases: set[tuple[Any, ...]]) -> None:
    assert cases == set(parsed(*changes, scale=scale).claims[0].cases)


OVER, TURNED = 'over = ["task", "batch"]', 'turned_for = [{ task = "vgg16" }]'
TO = 'to = { stack = "torch" }'


@pytest.mark.parametrize(("changes", "message"), [
    ([("text =", "txt =")], 'claim c: key "txt" is unknown; did you mean "text"?'),
    ([('text = "TensorFlow is faster"', "")], 'claim c: key "text": missing'),
    ([('id = "c"', "")], '[[claim]]: key "id": missing'),
    ([('kind = "faster"', 'kind = "slower"')],
     'claim c: key "kind": found "slower", expected one of faster, ratio, share, trend, slope, order, least, most, '
     "equal, mpe"),
    ([('quantity = "step"', 'quantity = "steps"')], 'claim c: key "quantity": found "steps", expected one of step'),
    ([('quantity = "step"', 'quantity = "memory"')], 'claim c: key "quantity": found "memory", expected a time'),
    ([('quantity = "step"', 'quantity = "load"')], 'claim c: quantity "load" needs an experiment of measure "phases"'),
    ([('of = { stack = "tf" }', 'of = { stack = "tf-9" }')], 'claim c: stack "tf-9" is in no experiment; known: tf,'),
    ([('of = { stack = "tf" }', 'of = { stack = "tf", parallel = "sync" }')], 'claim c: quantity "step" needs an'),
    ([('of = { stack = "tf" }', 'of = { stack = "torch" }')], "claim c: found torch, torch, expected different"),
    ([('of = { stack = "tf" }', 'of = "tf"')], 'claim c: of: subject "tf" is not in [subjects]; known: none'),
    ([('of = { stack = "tf" }', 'of = 3')], 'claim c: key "of": found 3, expected a name or a table'),
    ([(TO, "")], 'claim c: key "to": missing; kind "faster" has of, to, turned_for'),
    ([(TO, f"{TO}\nat_least = 2")], 'claim c: key "at_least" is not of kind "faster", which has of, to, turned_for'),
    ([(TO, f"{TO}\nwithin = -1")], 'claim c: key "within": found -1, expected a number above 0'),
    ([(TO, f"{TO}\nat_least = nan")], 'claim c: key "at_least": found nan, expected a number'),
    ([('"faster"', '"ratio"'), (TURNED, "")], 'claim c: expected either "about" and "within", or'),
    ([('"faster"', '"ratio"'), (TURNED, "about = 2")], 'claim c: expected either "about" and "within", or'),
    ([('"faster"', '"ratio"'), (TURNED, "at_least = 2\nat_most = 1")], 'claim c: key "at_least": found 2, expected'),
    ([('"faster"', '"equal"'), (TURNED, "")], 'claim c: key "within": missing; kind "equal" has of, to, within'),
    ([('"faster"', '"share"'), (TO, ""), (TURNED, "at_least = 0.1")], 'claim c: key "quantity": found "step",'),
    ([('"faster"', '"order"'), ('of = { stack = "tf" }\n' + TO, 'order = [{ stack = "tf" }]')],
     'claim c: key "order": expected two subjects or more'),
    ([('"faster"', '"trend"')], 'claim c: key "along": missing; kind "trend" has of, along, direction, to, turned_for'),
    ([('"faster"', '"trend"'), (OVER, 'over = ["batch"]\nalong = "task"\ndirection = "up"'), (TURNED, "")],
     'claim c: key "along": task lenet5 has no place in an order: list its values in where'),
    ([('"faster"', '"trend"'), (OVER, OVER + '\nalong = "task"\ndirection = "up"')],
     "claim c: averaged, over and along name a field twice"),
    ([('"faster"', '"trend"'), (OVER, 'over = ["task"]\nalong = "batch"\ndirection = "down up"')],
     'claim c: key "direction": found "down up", expected one of up, down'),
    ([(OVER, 'over = ["task"]')], 'claim c: cells of one case differ in "batch": 1 of tf and 2 of tf; name it in over'),
    ([(OVER, 'over = ["task", "batches"]')], 'claim c: field "batches": expected one of a cell but'),
    ([(OVER, 'over = ["task", "stack"]')], 'claim c: field "stack": expected one of a cell but'),
    ([(OVER, f'{OVER}\nwhere = {{ parallel = ["none"] }}')], 'claim c: field "parallel": expected one'),
    ([(OVER, f'{OVER}\nwhere = {{ batch = [3] }}')], "claim c: where: no experiment of measure train with tf has"),
    ([(OVER, f'{OVER}\nwhere = {{ task = [] }}')], 'claim c: where: key "task": found [], expected one of'),
    ([(TURNED, 'turned_for = [{ image = 64 }]')], 'claim c: turned_for: field "image" is not in over'),
    ([(TURNED, 'turned_for = [{}]')], 'claim c: turned_for: expected fields and their values'),
    ([(TURNED, 'turned_for = [{ task = 1 }]')], 'claim c: turned_for: key "task": found 1, expected one of'),
    ([(TURNED, f'{TURNED}\nholds_for = "mean"')], 'claim c: key "turned_for": a mean over the cases has no exceptions'),
    ([(TURNED, f'{TURNED}\nholds_for = "most"')], 'claim c: key "holds_for": found "most", expected one of each, mean'),
    ([('[[claim]]', '[[claims]]')], 'key "claims" is unknown; did you mean "claim"?'),
])
def test_a_mistake_is_told_in_one_line_with_file_claim_and_key(changes: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"^s\.toml: .*{re.escape(message)}"):
        parsed(*changes)


def test_two_claims_of_one_id_and_subjects_of_different_batches_are_refused() -> None:
    other = '[[experiment]]\nid = "f"\nmeasure = "train"\ntask = "lenet5"\nstacks = ["mxnet"]\nbatch = 1\nsteps = 7\n'
    with pytest.raises(InputError, match='claim id "c" is there twice'):
        parse(STUDY + STUDY[STUDY.index("[[claim]]"):])
    with pytest.raises(InputError, match='claim c: cells of one case differ in "steps": 100 of tf and 7 of mxnet'):
        parsed(("[[claim]]", f"{other}[[claim]]"), (TO, 'to = { stack = "mxnet" }'))


RECORD = json.loads(json.dumps(parsed().claims[0].record()))


@pytest.mark.parametrize("change", [
    {"kind": "x"}, {"quantity": "x"}, {"of": None}, {"of": "tf"}, {"of": {"stack": 1}}, {"where": []},
    {"where": {"x": [1]}}, {"cases": [[1]]}, {"cases": [{}]}, {"over": ["task", "x"]}, {"at_least": -1},
    {"within": "x"}, {"holds_for": 1}, {"turned_for": [{"x": 1}]}, {"turned_for": [[]]}, {"x": 1}, {"direction": "up"}])
def test_a_store_s_claim_that_cannot_be_is_refused_in_one_line(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="the plan's claims: "):
        made.summarised(made.cell(), claims=[{**RECORD, **change}])


def test_a_store_without_claims_is_read() -> None:
    plan = {name: value for name, value in made.plan(made.cell()).items() if name != "claims"}

    assert () == summary_of(measurements([made.session(), plan])).claims


def test_the_summary_tells_claims_with_verdicts_numbers_and_what_is_missing() -> None:
    rates = {made.cell(stack, batch=1): [rate * each for each in ABOUT_ONE]
             for stack, rate in (("tf", 8.0), ("torch", 2.0))}
    found = made.summarised(rates=rates, claims=[{**RECORD, "cases": [["lenet5", 1]]}, {**RECORD, "id": "d"}])

    assert [HOLDS, NO_DATA] == [each.verdict for each in found.claims]
    (number,) = found.claims[0].numbers
    assert ("torch / tf", {"task": "lenet5", "batch": 1}, pytest.approx(4.0, rel=0.01), 5, 1.0, None) == (
        number.what, number.case, number.value, number.rounds, number.low, number.high)
    assert "tf, lenet5, batch 2: not planned" in found.claims[1].missing


def test_krisilias_claims_fit_80_columns() -> None:
    chosen = read("krisilias", "quick").claims
    times = {made.cell(stack, task="lenet5", batch=42, steps=100, nodes=3, parallel=parallel): time
             for stack, parallel, time in (("tf-2.5", "allreduce", [2.0, 2.02, 1.98, 2.01, 1.99]),
                                           ("torch-1.7", "allreduce", ABOUT_ONE),
                                           ("mxnet-1.7", "ps-sync", [3.2, 3.22, 3.2, 3.25, 3.19]))}
    records = made.rated({cell: [99 / each for each in seconds] for cell, seconds in times.items()})
    plan = made.plan(*times, baseline="torch-1.7", experiment="kri-f3",
                     claims=json.loads(json.dumps([each.record() for each in chosen])))
    report = made_report.reported([made.session(study="krisilias"), plan, *records])
    shown = printed(summary_view(report, is_detailed=True))
    lines = {line.split()[0]: line for line in shown.splitlines() if line.startswith("kri-c")}
    papers = [lines.pop(f"kri-c{number}") for number in range(1, 20)]

    assert "Claims of krisilias, on this machine: holds " in shown
    assert {"kri-c3a", "kri-c3b", "kri-c3c"} == set(lines) and 80 >= max(map(len, shown.splitlines()))
    assert f"no data {len(chosen) - 3}" in " ".join(shown.split())
    assert re.fullmatch(r"kri-c3 +does not hold +holds 2, does not hold 1, no data 2 *", papers[2])
    assert re.fullmatch(r"kri-c3a +holds +1\.61x \(1\.\d+–1\.\d+\), 2 of 2 cases +in this order *", lines["kri-c3a"])
    assert re.fullmatch(r"kri-c3b +does not hold +3\.21x \(3\.\d+–3\.\d+\) +1\.8x within 15 % *", lines["kri-c3b"])
    assert re.fullmatch(r"kri-c3c +holds +1\.61x \(1\.\d+–1\.\d+\) +1\.56x within 15 % *", lines["kri-c3c"])
    folded = table_lines(next(each for each in report.claims if each.caption == "Claims without data here"))
    assert len(chosen) - 3 == len(folded) and ("kri-c1a", "no data") == folded[0][:2]
    assert folded[0][3].startswith("tf-2.5 sync, alexnet,")
