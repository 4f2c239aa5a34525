"""Published numbers and claims in the words that people read, within a terminal's width."""

import json
from typing import Any

import pytest

from runner.analysis.summary import summarise
from runner.analysis.summary_format import Claim, PublishedNumber
from runner.report.claims import claim_text
from runner.report.claims.published import NUMBERS
from runner.report.tables import Form, of
from runner.screen.summary import summary_view
from runner.study import quantities
from runner.study.claims import Claim as Asked
from runner.study.subjects import Subject
from tests import made_report
from tests import made_rows as made
from tests.printing import printed

TF, TORCH = Subject("tf", settings=(("lstm", "cudnn"),)), Subject("torch", "sync", (("gpus", 2),))
CLAIM = {**Asked("c", "a claim", "ratio", "step", {}, (), TF, TORCH).record(), "verdict": "holds", "missing": ()}
del CLAIM["cases"]


def claim(low: float | None, high: float | None, value: float, **values: Any) -> Claim:
    number = {"what": "", "case": {}, "value": value, "interval": {"low": value - 0.05, "high": value + 0.05},
              "rounds": 5, "low": low, "high": high, "is_turned": False, "verdict": "holds"}
    return Claim.model_validate({**CLAIM, "numbers": (number,), **values})


@pytest.mark.parametrize(("found", "here", "theirs"), [
    (claim(1, None, 1.5, kind="slope", direction="up"), "1.50x (1.45–1.55)", "up"),
    (claim(0.9, 1.1, 1.0, kind="slope", direction="flat", within=0.1), "1.00x (0.95–1.05)", "flat within 10 %"),
    (claim(0.9, 1.1, 1.5, kind="differ", within=0.1), "1.50x (1.45–1.55)", "different by 10 %"),
    (claim(-0.6, -0.4, -0.5, kind="mpe", about=-0.53, within=0.15), "-0.50 (-0.55–-0.45)", "-0.53 within 15 %"),
    (claim(None, -0.5, -0.9, kind="mpe", at_most=-0.5), "-0.90 (-0.95–-0.85)", "to -0.5"),
    (claim(0.7, None, 0.8, kind="share", at_least=0.7), "80 % (75 %–85 %)", "from 70 %")])
def test_a_claim_is_told_by_its_number_and_what_is_claimed(found: Claim, here: str, theirs: str) -> None:
    assert (here, theirs) == (claim_text.here(found), claim_text.theirs(found))


def test_a_claim_without_a_number_tells_what_is_missing() -> None:
    found = Claim.model_validate({**CLAIM, "verdict": "no data", "missing": ("one", "two"), "numbers": ()})
    assert "one, and 1 more" == claim_text.here(found)


@pytest.mark.parametrize(("unit", "value", "expected"), [
    ("x", 2.5, "2.50x"), ("s", 0.5, "500 ms"), ("bytes", 2e9, "2.0 GB"), ("share", 0.5, "50 %"),
    ("%", 0.0397, "0.0397 %"), ("mpe", -17.754, "-17.754"), ("W", 180.4, "180 W"), ("count", 76649, "76,649"),
    ("samples/s", 216.14, "216/s"), ("steps/s", 0.286, "0.2860 steps/s")])
def test_every_unit_has_words(unit: str, value: float, expected: str) -> None:
    number = PublishedNumber(id="p", source="Table 1", text="", quantity="first_epoch", of=TF.record(),
                             to=TORCH.record(), where={"task": ("vgg16",)}, value=value, unit=unit, ours=None, cells=0,
                             experiment="")

    assert ["Table 1", "tf lstm cudnn / torch sync gpus 2 (vgg16)", "first epoch", expected,
            "no data"] == [column.shown(number, Form.SCREEN) for column in of(NUMBERS, Form.SCREEN)]


def test_the_paper_s_own_claims_follow_ours() -> None:
    cells = [made.cell(stack) for stack in ("tf", "torch")]
    records = [record for cell, seconds in zip(cells, (1.0, 2.0), strict=True)
               for record in made.runs(cell, [cell.batch / seconds] * 5)]
    asked = [Asked(name, "a claim", "ratio", "step", {}, ((),), Subject("torch"), Subject("tf"), at_least=least)
             for name, least in (("x-c1a", 1.5), ("x-c1b", 2.5), ("x-c2", 1.5))]
    plan = made.plan(*cells, claims=json.loads(json.dumps([each.record() for each in asked])))
    records = [made.session(study="x"), plan, *records]
    found = summarise(records)

    assert [("x-c1", ("x-c1a", "x-c1b"), "does not hold"), ("x-c2", ("x-c2",), "holds")] == [
        (each.id, each.parts, each.verdict) for each in found.paper_claims]
    shown = printed(summary_view(made_report.reported(records)))
    assert "of which those above are parts: holds 1, does not hold 1" in " ".join(shown.split())
    assert 80 >= max(map(len, shown.splitlines()))


def test_a_study_s_own_word_for_a_unit_is_one_that_has_words() -> None:
    assert set(quantities.UNITS) == set(claim_text.IN_UNIT)


@pytest.mark.parametrize(("unit", "value", "expected"), [
    ("s", 0.000412, "0.4120 ms"), ("s", 0.0112, "11.2 ms"), ("s", 5.2, "5.2 s"), ("count", 43.0, "43"),
    ("count", 1234.0, "1,234"), ("count", 2.5, "2.50")])
def test_a_number_beside_a_published_one_reads_as_in_its_table(unit: str, value: float, expected: str) -> None:
    assert expected == claim_text.IN_UNIT[unit](value)
