"""Kinds of claims over settings, shares, slopes and means of errors: made rows with known answers, at the edges too."""

import dataclasses
import json
from random import Random
from typing import Any

import pytest

from runner.analysis import doubts, stats
from runner.analysis.claims import judging
from runner.results.rows import Measurements
from runner.study import claims
from runner.study.claims import Claim, Verdict, paper_claim, together
from runner.study.subjects import Subject
from tests import made_rows as made
from tests.made_claims import MXNET, TF, TORCH, claim, judge, number, over, took

HOLDS, DOES_NOT, INCONCLUSIVE, NO_DATA = Verdict
BATCHES = (1, 2, 4, 8)
OVER: dict[str, Any] = {"cases": ((1,), (2,)), "over": ("batch",)}


CUDNN, PLAIN = Subject("tf", settings=(("lstm", "cudnn"),)), Subject("tf", settings=(("lstm", "cell"),))


@pytest.mark.parametrize(("fields", "less", "more", "what"), [
    (({"lstm": "cudnn"}, {"lstm": "cell"}, {"lstm": "block"}), CUDNN, PLAIN, "tf lstm cudnn / tf lstm cell"),
    (({"parallel": "allreduce", "nodes": 3}, {"parallel": "ps-async", "nodes": 3}), Subject("tf", "sync"),
     Subject("tf", "async"), "tf sync / tf async")])
def test_settings_and_parallel_modes_tell_subjects_of_one_stack_apart(
        fields: tuple[dict[str, Any], ...], less: Subject, more: Subject, what: str) -> None:
    measured = took({made.cell("tf", **each): seconds for each, seconds in zip(fields, (1.0, 2.0, 1.5), strict=False)})

    assert HOLDS is judge(claim("faster", of=less, to=more), measured).verdict
    found = judge(claim("faster", of=more, to=less), measured)
    assert (DOES_NOT, what) == (found.verdict, number(found).what)


def averages(**values: Any) -> Claim:
    """A claim on batches 1 and 2, each the mean over 16 and 32 pixels."""
    return claim(averaged=("image",), over=("batch",), cases=tuple((image, batch) for image in (16, 32)
                                                                   for batch in (1, 2)), **values)


SIZED = {(16, 1): (1.0, 3.0), (32, 1): (5.0, 4.0), (16, 2): (2.0, 1.0), (32, 2): (2.0, 2.5)}     # of tf, of torch


def sized(*left_out: tuple[int, int]) -> Measurements:
    return took({made.cell(stack, image=image, batch=batch): seconds[index]
                 for (image, batch), seconds in SIZED.items() if (image, batch) not in left_out
                 for index, stack in enumerate(("tf", "torch"))})


def test_cases_of_averages_are_compared_by_their_mean_values() -> None:
    """Means of 3 and 3.5 s at batch 1, of 2 and 1.75 s at batch 2: ratios 6 / 7 and 8 / 7."""
    found = judge(averages(kind="ratio", at_least=0.5), sized())

    assert [({"batch": 1}, pytest.approx(6 / 7)), ({"batch": 2}, pytest.approx(8 / 7))] == [
        (each.case, each.value) for each in found.numbers]
    assert (HOLDS, DOES_NOT) == tuple(each.verdict for each in judge(averages(kind="faster"), sized()).numbers)


def test_an_average_that_lacks_a_cell_is_no_data() -> None:
    found = judge(averages(kind="ratio", at_least=0.5, fuller="paper"), sized((16, 1)))

    assert (NO_DATA, "tf, image 16, batch 1: not planned; scale paper has") == (found.verdict, found.missing[0])


def test_subjects_with_settings_survive_the_store() -> None:
    asked = claim("order", of=None, to=None, order=(CUDNN, dataclasses.replace(PLAIN, also=("x",))))
    assert asked == claims.from_record(json.loads(json.dumps(asked.record())))


@pytest.mark.parametrize("field", ["lstm", "stack"])
def test_a_field_that_subjects_say_tells_no_cases_apart(field: str) -> None:
    asked = Claim(id="c", text="it is so", kind="faster", quantity="step", where={}, of=CUDNN, to=PLAIN, over=(field,))

    assert f'field "{field}": expected one of a cell but stack, parallel, measure, lstm' == claims.mistake(asked)


def of_tf(measure: str, *lines: made.Record) -> Measurements:
    return made.told({made.cell("tf", measure=measure): lines})


def removed(expensive: int) -> made.Record:
    return {**made.GRAPH, "removed": {"expensive": expensive, "cheap": 10, "noop": 90 - expensive}}


@pytest.mark.parametrize(("measured", "quantity", "thresholds", "expected", "value"), [
    # a tenth of each run is loading
    *((took({made.cell("tf", measure="phases"): [1.0, 2.0, 4.0, 3.0, 2.0]}), "load", thresholds, expected, 0.1)
      for thresholds, expected in (({"at_least": 0.09}, HOLDS), ({"at_least": 0.11}, DOES_NOT),
                                   ({"at_most": 0.09}, DOES_NOT), ({"about": 0.1, "within": 0.01}, HOLDS))),
    # 6 over the mean of 3 and 5
    *((of_tf("epochs", *map(made.epoch, (0, 1, 2), (6.0, 3.0, 5.0))), "first_epoch", {"at_least": least}, expected, 1.5)
      for least, expected in ((1.0, HOLDS), (1.6, DOES_NOT))),
    # which may be nothing at all
    *((of_tf("graph", removed(expensive)), "removed_expensive", {"at_most": 0.01}, expected, expensive / 100)
      for expensive, expected in ((0, HOLDS), (2, DOES_NOT)))])
def test_a_share_is_of_its_whole_in_the_same_run(
        measured: Measurements, quantity: str, thresholds: Any, expected: Verdict, value: float) -> None:
    found = judge(claim("share", to=None, quantity=quantity, **thresholds), measured)

    assert (expected, "tf", pytest.approx(value, abs=1e-9)) == (found.verdict, number(found).what, number(found).value)


SLOPE: dict[str, Any] = {"to": None, "cases": tuple((batch,) for batch in BATCHES), "along": "batch"}


def at_batches(**seconds: Any) -> Measurements:
    """Steps of each stack at batches of 1, 2, 4 ...: as many as it has seconds."""
    return over("batch", BATCHES[:min(map(len, seconds.values()))], **seconds)


NOISY: Any = ([1.0, 1.1, 0.9] * 2, [1.1, 0.9, 1.0] * 2, [0.9, 1.0, 1.1] * 2, [1.0, 0.95, 1.05] * 2)


@pytest.mark.parametrize(("kind", "seconds", "to", "up", "down"), [
    ("trend", {"tf": (1.0, 1.5, 2.0, 3.0)}, None, HOLDS, DOES_NOT),
    ("trend", {"tf": (3.0, 2.0, 1.5, 1.0)}, None, DOES_NOT, HOLDS),
    ("trend", {"tf": (1.0, 1.5, 2.0, 1.2)}, None, DOES_NOT, DOES_NOT),
    ("trend", {"tf": (1.0, 1.5, [1.5, 1.3, 1.7, 1.4, 1.6], 2.5)}, None, INCONCLUSIVE, DOES_NOT),
    ("slope", {"tf": (8.0, 4.0, 2.0, 2.0)}, None, DOES_NOT, HOLDS),           # up to a limit: the last two are equal
    ("slope", {"tf": (1.0, 1.5, 2.0, 2.5)}, None, HOLDS, DOES_NOT), ("slope", {"tf": NOISY}, None, *[INCONCLUSIVE] * 2),
    # a ratio's
    ("trend", {"tf": (1.0, 3.0, 8.0, 20.0), "torch": (1.0, 2.0, 4.0, 8.0)}, TORCH, HOLDS, DOES_NOT),
    ("trend", {"tf": (1.0, 1.5, 2.0, 3.0), "torch": (1.0, 2.0, 4.0, 8.0)}, TORCH, DOES_NOT, HOLDS),
    ("slope", {"tf": (1.0, 2.0, 4.0, 8.0), "torch": (1.0,) * 4}, TORCH, HOLDS, DOES_NOT),
    ("slope", {"tf": (1.0,) * 4, "torch": (1.0, 2.0, 4.0, 8.0)}, TORCH, DOES_NOT, HOLDS)])
def test_a_trend_goes_one_way_from_each_value_to_the_next_and_a_slope_as_a_whole(
        kind: str, seconds: Any, to: Subject | None, up: Verdict, down: Verdict) -> None:
    for direction, expected in (("up", up), ("down", down)):
        asked = claim(kind, direction=direction, **{**SLOPE, "to": to})
        assert expected is judge(asked, at_batches(**seconds)).verdict


@pytest.mark.parametrize(("last", "expected"), [(1.0, HOLDS), (1.6, DOES_NOT), (0.6, DOES_NOT)])
def test_a_flat_slope_stays_within_its_limit(last: float, expected: Verdict) -> None:
    flat = claim("slope", direction="flat", within=0.1, **SLOPE)

    assert expected is judge(flat, at_batches(tf=(1.0, 1.0, 1.0, last))).verdict


@pytest.mark.parametrize(("to", "thresholds", "expected"), [
    *((to, {"about": -1.0, "within": 0.15}, expected) for to, expected in (
        (2.0, HOLDS), (2.1, HOLDS), (2.5, DOES_NOT), (1.5, DOES_NOT), (2.15, INCONCLUSIVE), (0.5, DOES_NOT))),
    (2.0, {"at_most": -0.5}, HOLDS), (2.0, {"at_least": -0.5}, DOES_NOT),
    (2.0, {"at_least": -2, "at_most": 0.5}, HOLDS), (2.0, {"at_least": 0.1}, DOES_NOT)])
def test_an_mpe_lies_about_a_number_or_between_ends_below_zero(to: float, thresholds: Any, expected: Verdict) -> None:
    measured = at_batches(tf=[[1.0] * 5] * 2, torch=[to, to])

    assert expected is judge(claim("mpe", **thresholds, **OVER), measured).verdict


@pytest.mark.parametrize(("asked", "seconds", "what", "case", "value"), [
    # ratios of 2 / 1 and 9 / 9: their mean, that of the sums 11 and 10, and the greatest
    *(({"kind": "ratio", "holds_for": holds_for, "about": value, "within": 0.001, **OVER},
       {"tf": (2.0, 9.0), "torch": (1.0, 9.0)}, "tf / torch", case, value)
      for holds_for, case, value in (("mean", {}, 2.0 ** 0.5), ("total", {}, 1.1), ("greatest", {"batch": 1}, 2.0))),
    # in the rounds that all cases have
    ({"kind": "ratio", "holds_for": "mean", "about": 4.0, "within": 0.1, **OVER},
     {"tf": ([2.0] * 5, [8.0] * 5 + [1.0]), "torch": ([1.0] * 5, [1.0] * 6)}, "tf / torch", {}, 4.0),
    # torch takes twice tf's time; mxnet's and jax's are 3 to 2
    ({"kind": "ratio", "of": TORCH, "to": TF, "than": (MXNET, Subject("jax")), "at_least": 1.3},
     {"torch": [2.0], "tf": [1.0], "mxnet": [3.0], "jax": [2.0]}, "(torch / tf) / (mxnet / jax)", {}, 4 / 3),
    # on a line through logarithms, over the whole range
    ({"kind": "slope", "direction": "up", **SLOPE}, {"tf": (3.0, 6.0, 12.0, 24.0)}, "tf", {"batch": "1 to 8"}, 8.0),
    # -0.5 and -1.5
    ({"kind": "mpe", "about": -1.0, "within": 0.15, **OVER},
     {"tf": ([1.0] * 5, [2.0] * 5), "torch": ([1.5] * 5, [5.0] * 5)}, "tf, torch", {}, -1.0)])
def test_a_number_is_of_its_cases_together(asked: Any, seconds: Any, what: str, case: Any, value: float) -> None:
    found = judge(claim(**asked), at_batches(**seconds))

    only = number(found)
    assert (HOLDS, what, case, 5, pytest.approx(value, rel=0.001)) == (
        found.verdict, only.what, only.case, only.rounds, only.value)


def test_an_mpe_is_about_a_number_on_either_side() -> None:
    found = number(judge(claim("mpe", about=-1.0, within=0.15, **OVER), over("batch", (1, 2), tf=(1, 1), torch=(2, 2))))

    assert pytest.approx((-1.15, -1 / 1.15)) == (found.low, found.high)


def test_doubts_of_a_mean_are_told_in_the_order_of_its_steps() -> None:
    measured = at_batches(tf=(1.0, 2.0, 3.0))
    doubted = {row.key: doubts.Doubt(stats.Verdict.NOT_STEADY, f"not steady at {row.cell.batch}")
               for row in measured.rows}
    asked = claim("trend", to=None, cases=((4,), (1,), (2,)), along="batch", direction="up", holds_for="mean")

    assert "tf: not steady at 1, tf: not steady at 2, tf: not steady at 4" == number(
        judging.judge(asked, measured, doubted)).reason


@pytest.mark.parametrize(("skips", "expected"), [(True, HOLDS), (False, NO_DATA)])
def test_what_ran_out_of_memory_is_told_and_passed_over_where_the_claim_says_so(skips: bool, expected: Verdict) -> None:
    large = made.cell("torch", batch=2)
    cells = {made.cell("tf", batch=1): 1.0, made.cell("torch", batch=1): 2.0, made.cell("tf", batch=2): 1.0, large: []}
    found = judge(claim("faster", skips_oom=skips, **OVER), took(cells, *made.run(large, 0, ending="oom")))

    assert (expected, ("torch, batch 2: ended oom",)) == (found.verdict, found.missing)


def test_a_claim_that_ran_out_of_memory_everywhere_has_no_data() -> None:
    measured = made.told({made.cell(stack, batch=batch): [] for stack in ("tf", "torch") for batch in (1, 2)},
                         rounds=1, ending="oom")
    found = judge(claim("faster", skips_oom=True, **OVER), measured)

    assert NO_DATA is found.verdict and 4 == len(found.missing)


@pytest.mark.parametrize(("factor", "batches", "expected"), [
    # 4 % slower, t = 5.3 of 4 degrees: p = 0.006 is below 0.05 and above 0.05 / 20
    (1.04, 20, INCONCLUSIVE), (1.5, 20, DOES_NOT), (1.04, 1, DOES_NOT)])
def test_intervals_of_a_claim_s_cases_allow_for_all_of_them(factor: float, batches: int, expected: Verdict) -> None:
    """tf takes half of torch's time in all batch sizes but the last."""
    last = [each * factor for each in (1.0, 1.02, 0.98, 1.01, 1.0)]
    measured = over("batch", range(1, batches + 1), tf=[*[0.5] * (batches - 1), last], torch=[[1.0] * 5] * batches)
    asked = claim("faster", cases=tuple((batch,) for batch in range(1, batches + 1)), over=("batch",))

    assert expected is judge(asked, measured).verdict


def test_a_case_that_contradicts_is_enough_beside_one_that_is_missing_and_no_mean_is_of_some() -> None:
    measured = took({made.cell("tf", batch=1): 2.0, made.cell("torch", batch=1): 1.0, made.cell("tf", batch=2): 1.0})
    found = judge(claim("faster", **OVER), measured)

    assert (DOES_NOT, ("torch, batch 2: not planned",)) == (found.verdict, found.missing)
    assert NO_DATA is judge(claim("ratio", at_most=1.0, holds_for="mean", **OVER), measured).verdict
    assert NO_DATA is judge(claim("mpe", at_least=0.5, **OVER), measured).verdict


def test_memory_is_told_of_a_stack_that_was_not_steady() -> None:
    """Steps of tf get faster by 2 % each."""
    measured = made.told({made.cell(stack): [made.steps([0.1 * factor**(20 - step) for step in range(20)])]
                          for stack, factor in (("tf", 1.02), ("torch", 1.0))}, after={"peak_bytes": 10**9})

    assert HOLDS is judge(claim("equal", quantity="memory", within=0.1), measured).verdict


def test_a_share_below_nothing_counts_as_what_it_is() -> None:
    """The first epoch takes -0.1, 0, 0.1, ... of a later one more: plain values, whose mean is 0.02."""
    cell = made.cell("tf", measure="epochs")
    records = [record for index, extra in enumerate((-0.1, 0.0, 0.1, 0.05, 0.05))
               for record in made.run(cell, index, made.epoch(0, 1 + extra), made.epoch(1))]
    found = judge(claim("share", to=None, quantity="first_epoch_extra", at_least=0.5), made.measured(cell, *records))

    assert (DOES_NOT, pytest.approx(0.02), 5) == (found.verdict, number(found).value, number(found).rounds)


def test_an_accuracy_of_one_seed_has_no_interval_and_no_verdict() -> None:
    cell = made.cell("tf", measure="epochs")
    found, other = (judge(claim("share", to=None, quantity="accuracy", at_least=0.5), made.measured(cell, *(
        {**record, "seed": seed} for index, seed in enumerate(seeds)
        for record in made.run(cell, index, made.epoch(accuracy=0.9 + index / 1000)))))
        for seeds in ([1] * 5, [1, 2, 3, 4, 5]))

    assert (INCONCLUSIVE, None) == (found.verdict, number(found).interval) and "one seed" in number(found).reason
    assert HOLDS is other.verdict


SHARE = {"kind": "share", "to": None, "at_least": 0.5}


@pytest.mark.parametrize(("seeds", "rounds", "values", "expected", "reason", "value"), [
    ((1, 2, 3, 4, 5), 2, {"at_least": 1.0}, HOLDS, "", 1 / 0.9),
    ((1, 2, 3, 4, 5), 2, {"at_least": 1.0, "holds_for": "mean"}, HOLDS, "", 1 / 0.9),
    ((1, 2, 3, 4, 5), 2, {"at_least": 1.0, "averaged": ("batch",), "cases": tuple((10, seed) for seed in range(1, 6))},
     HOLDS, "", 1 / 0.9),
    ((1, 2, 3), 5, {"at_least": 1.0}, INCONCLUSIVE, "needs 5 rounds or seeds", 1 / 0.9),     # too few, and not one
    ((1, 2, 3, 4, 5), 1, SHARE, HOLDS, "", 0.903)])
def test_accuracies_of_a_grid_of_seeds_have_an_interval_over_the_seeds(
        seeds: tuple[int, ...], rounds: int, values: dict[str, Any], expected: Verdict, reason: str, value: float
        ) -> None:
    """0.9 and a thousandth a seed, and nine tenths of it in torch."""
    measured = made.told({made.cell(stack, measure="epochs", seed=seed): [
        made.epoch(accuracy=(0.9 + seed / 1000) * factor)]
        for seed in seeds for stack, factor in (("tf", 1.0), ("torch", 0.9))}, rounds)
    asked = claim(**{"kind": "ratio", "quantity": "accuracy", "over": ("seed",),
                     "cases": tuple((seed,) for seed in seeds), **values})
    found = judge(asked, measured)

    only = number(found)
    assert (expected, reason, len(seeds), pytest.approx(value, rel=1e-3)) == (
        found.verdict, only.reason, only.rounds, only.value)
    assert only.interval is not None and {} == only.case


@pytest.mark.parametrize(("name", "expected"), [
    ("kri-c6a", "kri-c6"), ("dai-c12", "dai-c12"), ("dai-c12ab", "dai-c12"), ("c", "c"), ("t2-x", "t2-x")])
def test_a_part_of_a_paper_s_claim_has_letters_after_its_number(name: str, expected: str) -> None:
    assert expected == paper_claim(name)


@pytest.mark.parametrize(("parts", "expected"), [
    ([HOLDS, HOLDS], HOLDS), ([HOLDS, DOES_NOT, NO_DATA], DOES_NOT), ([HOLDS, NO_DATA, INCONCLUSIVE], NO_DATA),
    ([HOLDS, INCONCLUSIVE], INCONCLUSIVE), ([], NO_DATA)])
def test_a_paper_s_claim_holds_if_all_its_parts_do(parts: list[Verdict], expected: Verdict) -> None:
    assert expected is together(parts)


@pytest.mark.parametrize(("values", "message"), [
    ({"kind": "slope", "to": None, "along": "batch", "direction": "flat"}, 'direction "flat" has "within"'),
    ({"kind": "slope", "to": None, "along": "batch", "direction": "up", "within": 0.1}, 'direction "flat" has'),
    ({"kind": "slope", "to": None, "along": "length", "direction": "up", "cases": ((0,),)}, "has no logarithm"),
    ({"kind": "trend", "to": None, "along": "batch", "direction": "flat"}, 'direction "flat" is of kind "slope"'),
    ({"kind": "mpe", "about": -1.0}, 'expected either "about" and "within"'),
    ({"kind": "mpe", "at_most": 1.0}, 'key "at_most": found 1, expected a share below 1'),
    ({"kind": "mpe", "at_most": -1.0, "holds_for": "mean"}, 'key "holds_for": an mpe is a mean'),
    ({"kind": "ratio", "at_least": -1.0}, 'key "at_least": found -1, expected a number above 0'),
    ({"kind": "faster", "quantity": "accuracy"}, 'found "accuracy", expected a time'),
    ({"kind": "share", "to": None, "quantity": "launch_share", "at_least": 1.5}, "found a threshold above 1")])
def test_what_a_kind_cannot_say_is_named(values: dict[str, Any], message: str) -> None:
    asked = Claim(**{"id": "c", "text": "it is so", "quantity": "step", "where": {}, "of": TF, "to": TORCH, **values})

    assert message in (claims.mistake(asked) or "")


def test_the_least_is_below_every_other_case() -> None:
    measured = over("batch", (1, 2, 4), tf=(1.0, 3.0, 2.0))
    asked = claim("least", to=None, cases=((1,), (2,), (4,)), over=("batch",), at={"batch": 1})

    found = judge(asked, measured)
    assert (HOLDS, [3.0, 2.0]) == (found.verdict, [pytest.approx(each.value) for each in found.numbers])
    assert DOES_NOT is judge(asked.model_copy(update={"at": {"batch": 4}}), measured).verdict


@pytest.mark.parametrize(("rival", "expected"), [(1.5, HOLDS), (3.0, DOES_NOT)])
def test_the_most_is_above_every_case_of_others_too(rival: float, expected: Verdict) -> None:
    """tf / jax is 1 and 2 at two batches, torch / jax 0.5 and then the rival."""
    measured = over("batch", (1, 2), tf=(1.0, 2.0), jax=(1.0, 1.0), torch=(0.5, rival))
    asked = claim("most", to=Subject("jax"), than=(TORCH, Subject("jax")), at={"batch": 2}, **OVER)

    found = judge(asked, measured)
    assert (expected, {"tf / jax", "torch / jax"}) == (found.verdict, {each.what for each in found.numbers})
    assert {0.5, 0.25, rival / 2} == {round(each.value, 6) for each in found.numbers}


def test_of_twenty_claims_on_things_that_are_alike_one_may_be_wrong() -> None:
    """600 claims on equal times of 1 % noise: one in twenty gets a word, give or take what chance gives."""
    random, claims_made = Random(62), 600
    cells = [made.cell(stack, batch=batch) for batch in range(1, claims_made + 1) for stack in ("tf", "torch")]
    measured = took({cell: [random.lognormvariate(0, 0.01) for _ in range(5)] for cell in cells})
    doubted = doubts.of(measured)
    words = [judging.judge(claim("faster", cases=((index + 1,),), over=("batch",)),
                           dataclasses.replace(measured, rows=measured.rows[2 * index:2 * index + 2]), doubted).verdict
             for index in range(claims_made)]
    assert 15 <= sum(word in (HOLDS, DOES_NOT) for word in words) <= 45


def test_a_stand_in_is_named_and_what_differs_from_the_paper_is_said() -> None:
    own = Subject("tf", also=("tf-9",))
    measured = took({made.cell("tf-9"): 1.0, made.cell("torch"): 2.0})
    asked = claim("faster", of=own, paper={"device": ("gpu",), "batch": (1, 64), "nodes": (1,)})

    found = judge(asked, measured)
    assert (HOLDS, "torch / tf-9 (for tf)") == (found.verdict, number(found).what)
    assert NO_DATA is judge(claim("faster"), measured).verdict
    assert ({"tf": "tf-9"}, own) == (found.stand_ins, found.of)
    assert "on a CPU" in found.differs
