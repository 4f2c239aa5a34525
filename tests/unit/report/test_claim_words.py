"""Published numbers and claims in the words that people read, within a terminal's width."""

import json
from typing import Any

import pytest

from runner.analysis import stats
from runner.analysis.summary_format import JudgedClaim, PublishedNumber, Summary
from runner.report.claims import wording
from runner.report.claims.beside_ours import NUMBERS
from runner.report.tables import Form, of
from runner.study import quantities
from runner.study.claims import Claim
from runner.study.subjects import Subject
from tests import made_claims, made_report
from tests import made_rows as made
from tests.printing import on_screen

TF, TORCH = Subject("tf", settings=(("lstm", "cudnn"),)), Subject("torch", "sync", (("gpus", 2),))
CLAIM = {"id": "c", "text": "a claim", "kind": "ratio", "quantity": "step", "where": {}, "of": TF, "to": TORCH,
         "verdict": "holds", "missing": ()}


def claim(low: float | None, high: float | None, value: float, **values: Any) -> JudgedClaim:
    number = {"what": "", "case": {}, "value": value, "interval": {"low": value - 0.05, "high": value + 0.05},
              "rounds": 5, "low": low, "high": high, "verdict": "holds"}
    return JudgedClaim.model_validate({**CLAIM, "numbers": (number,), **values})


@pytest.mark.parametrize(("judged", "here", "theirs"), [
    (claim(1, None, 1.5, kind="slope", direction="up"), "1.50x (1.45–1.55)", "up"),
    (claim(0.9, 1.1, 1.0, kind="slope", direction="flat", within=0.1), "1.00x (0.95–1.05)", "flat within 10 %"),
    (claim(0.9, 1.1, 1.0, kind="equal", within=0.1), "1.00x (0.95–1.05)", "equal within 10 %"),
    (claim(-0.6, -0.4, -0.5, kind="mpe", about=-0.53, within=0.15), "-0.50 (-0.55–-0.45)", "-0.53 within 15 %"),
    (claim(None, -0.5, -0.9, kind="mpe", at_most=-0.5), "-0.90 (-0.95–-0.85)", "to -0.5"),
    (claim(0.7, None, 0.8, kind="share", at_least=0.7), "80 % (75 %–85 %)", "from 70 %")])
def test_a_claim_is_told_by_its_number_and_what_is_claimed(judged: JudgedClaim, here: str, theirs: str) -> None:
    assert (here, theirs) == (wording.here(judged), wording.theirs(judged))


def test_a_claim_without_a_number_tells_what_is_missing() -> None:
    judged = JudgedClaim.model_validate({**CLAIM, "verdict": "no data", "missing": ("one", "two"), "numbers": ()})
    assert "one, and 1 more" == wording.here(judged)


@pytest.mark.parametrize(("printed", "ours", "expected"), [
    ("1741.81", 1654.321, "1654"), ("1741.81", 0.01234, "0.0123"), ("216.14", 5.8312, "5.83"),
    ("4.85 %", 5.2071, "5.21 %"),
    ("62M", 21.6e6, "21.6M"), ("2X", 1.456, "1.46X"), ("about 55 %", 61.04, "61.0 %"), ("76649", 5120.0, "5120"),
    ("-17.75424073", -1.53045, "-1.530"), ("0.0397 %", 0.0, "0.000 %")])
def test_ours_stands_in_the_form_of_what_the_paper_prints(printed: str, ours: float, expected: str) -> None:
    number = PublishedNumber(id="p", source="Table 1", quantity="step", of=TF, printed=printed, value=1.0, unit="s",
                             ours=ours, cells=1)
    assert (printed, expected) == (wording.printed(number), wording.measured(number))


@pytest.mark.parametrize(("unit", "value", "expected"), [
    ("x", 2.5, "2.50x"), ("s", 0.5, "500 ms"), ("bytes", 2e9, "2.0 GB"), ("share", 0.5, "50 %"),
    ("%", 0.0397, "0.0397 %"), ("mpe", -17.754, "-17.754"), ("W", 180.4, "180 W"), ("count", 76649, "76,649"),
    ("samples/s", 216.14, "216/s"), ("steps/s", 0.286, "0.2860 steps/s"),
    # as the tables of steps and epochs have them
    ("s", 0.000412, "0.4120 ms"), ("s", 0.0112, "11.2 ms"), ("s", 5.2, "5.2 s"), ("count", 43.0, "43"),
    ("count", 2.5, "2.50")])
def test_every_unit_of_older_results_has_words(unit: str, value: float, expected: str) -> None:
    number = PublishedNumber(id="p", source="Table 1", text="", quantity="first_epoch", of=TF,
                             to=TORCH, where={"task": ("vgg16",)}, value=value, unit=unit, ours=None, cells=0,
                             experiment="")

    columns = of(NUMBERS, Form.SCREEN)
    assert ["Table 1", "tf lstm cudnn / torch sync gpus 2 (vgg16)", "first epoch", expected,
            "no data", "", ""] == [column.shown(column.value(number), Form.SCREEN) for column in columns]


def test_the_paper_s_own_claims_follow_ours() -> None:
    cells = {made.cell("tf"): [10.0] * 5, made.cell("torch"): [5.0] * 5}
    asked = [Claim(id=name, text="a claim", kind="ratio", quantity="step", where={}, cases=((),), of=Subject("torch"),
                   to=Subject("tf"), at_least=least)
             for name, least in (("x-c1a", 1.5), ("x-c1b", 2.5), ("x-c2", 1.5))]
    found, _, whole = made_report.contents(made_report.records(cells=cells, session={"study": "x"}, plan={
        "claims": json.loads(json.dumps([each.record() for each in asked]))}))

    assert [("x-c1", ("x-c1a", "x-c1b"), "does not hold"), ("x-c2", ("x-c2",), "holds")] == [
        (each.id, each.parts, each.verdict) for each in found.paper_claims]
    shown = on_screen(whole, is_detailed=True)
    assert "of which those above are parts: holds 1, does not hold 1" in " ".join(shown.split())
    assert 80 >= max(map(len, shown.splitlines()))


def test_a_study_s_own_word_for_a_unit_is_one_that_has_words() -> None:
    assert set(quantities.UNITS) == set(wording.IN_UNIT)


@pytest.mark.parametrize(("planned", "said"), [
    (made_claims.claim("faster"), "tf < torch"),
    (made_claims.claim("ratio", about=2.0, within=0.15), "tf / torch about 2, within 0.15"),
    (made_claims.claim("ratio", at_least=1.0, at_most=1.5), "tf / torch at least 1 and at most 1.5"),
    (made_claims.claim("equal", within=0.1, over=("batch",), cases=((1,), (2,))),
     "tf / torch is 1, within 0.1; in each of 2 cases"),
    (made_claims.claim("order", of=None, to=None, order=(made_claims.TF, made_claims.TORCH), over=("batch",),
                       cases=((1,), (2,)), holds_for="total"),
     "tf < torch; in the sum of 2 cases"),
    (made_claims.claim("trend", along="batch", direction="up", over=("task",), cases=(("bert", 1),),
                       turned_for=({"task": "bert"},)),
     "tf / torch up from each batch to the next; the other way for bert"),
])
def test_where_a_claim_holds_is_said_as_a_comparison(planned: Claim, said: str) -> None:
    assert said == wording.condition(planned)


def two(rounds: int, **values: Any) -> Summary:
    """A session of two equally fast stacks."""
    cells = made.cell("torch", **values), made.cell("tf", **values)
    return made_report.contents(made_report.records(cells=dict.fromkeys(cells, [100.0] * rounds)))[0]


def test_a_session_s_words_are_explained_in_two_sentences_and_withheld_ones_with_what_to_set() -> None:
    first, second, remedy = wording.reading(two(rounds=4))

    assert "1.32 times as fast as torch" in first
    assert "a verdict (FASTEST: against every other stack) where they exclude 1" in second
    assert "Needs five rounds: more --rounds, until both ended ok in five." == remedy


@pytest.mark.parametrize(("warm", "remedy"), [
    ("steady", "Not steady: more --set seconds=."),
    ("fixed", "Not steady: --set warm=steady, or more --set seconds=.")])
def test_a_longer_warm_up_is_advised_only_where_it_is_not_set(warm: str, remedy: str) -> None:
    summary = two(rounds=5, warm=warm)
    one = summary.comparisons[0]
    result = one.results[0].model_copy(update={"verdict": stats.Verdict.NOT_STEADY})
    changed = summary.model_copy(update={"comparisons": (one.model_copy(update={"results": (result,)}),)})

    assert remedy in wording.reading(changed)
