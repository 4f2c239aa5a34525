"""Claims judged on the numbers that their paper prints: values and ratios worked out by hand."""

from typing import Any

import pytest

from runner.errors import InputError
from runner.study import file
from tools import paper_check
from tools.paper_check import CONTRADICTION, DOES_NOT_HOLD, HOLDS, NO_DATA, Judged

TF, TORCH = {"stack": "tf"}, {"stack": "torch"}
MODELS = ["lenet5", "vgg16"]


def checked(published: list[dict[str, Any]], *claims: dict[str, Any]) -> tuple[Judged, ...]:
    study = {"study": {"id": "s", "title": "A study"},
             "experiment": [{"id": "e", "measure": "train", "stacks": ["tf", "torch"], "grid": {"task": MODELS}}],
             "published": [{"id": f"p{index}", "source": "Table 1", "quantity": "step", **number}
                           for index, number in enumerate(published)],
             "claim": [{"id": "c1", "text": "a claim", "quantity": "step", **claim} for claim in claims]}
    return paper_check.check(file.from_document(study, "s.toml"))


def seconds(of: dict[str, str], value: float, *tasks: str) -> dict[str, Any]:
    return {"of": of, "printed": f"{value:g}", "unit": "s", **({"where": {"task": list(tasks)}} if tasks else {})}


def ratio(value: float, *tasks: str, **more: Any) -> dict[str, Any]:
    return {"of": TF, "to": TORCH, "printed": f"{value:.10g}", "unit": "x",
            **({"where": {"task": list(tasks)}} if tasks else {}), **more}


def near(value: float, **more: Any) -> dict[str, Any]:
    return {"kind": "ratio", "of": TF, "to": TORCH, "over": ["task"], "about": value, "within": 0.05, **more}


FASTER = {"kind": "faster", "of": TORCH, "to": TF, "over": ["task"]}
TABLE = [seconds(TF, 2.0, "lenet5"), seconds(TORCH, 1.0, "lenet5"),
         seconds(TF, 9.0, "vgg16"), seconds(TORCH, 10.0, "vgg16")]


EQUAL = {"kind": "equal", "of": TF, "to": TORCH, "over": ["task"]}
VGG16 = {"where": {"task": ["vgg16"]}}
RATES = [{"of": of, "printed": str(value), "unit": "samples/s", **VGG16} for of, value in ((TF, 100.0), (TORCH, 200.0))]


@pytest.mark.parametrize(("published", "claim", "word", "numbers"), [
    (TABLE, FASTER, DOES_NOT_HOLD, ("tf / torch, vgg16: 0.9",)),
    (TABLE, {**FASTER, "turned_for": [{"task": "vgg16"}]}, HOLDS, None), ([], FASTER, NO_DATA, None),
    # a printed mean says nothing of single cases, and is data of a claim on that mean
    ([ratio(2.0)], FASTER, NO_DATA, None), ([ratio(2.0)], near(2.0, holds_for="mean"), HOLDS, None),
    ([ratio(3.0)], near(2.0, holds_for="mean"), DOES_NOT_HOLD, None),
    ([ratio(2.0, "lenet5")], near(2.0, holds_for="mean"), NO_DATA, None),       # a mean needs all its cases
    # ratios 2 and 0.9: geometric mean 1.342; sums 11 and 11
    (TABLE, near(1.342, holds_for="mean"), HOLDS, None), (TABLE, near(1.0, holds_for="total"), HOLDS, None),
    (TABLE, near(2.0, holds_for="greatest"), HOLDS, ("tf / torch, lenet5: 2",)),
    # of which case a printed maximum is nobody says, and it is no mean
    ([ratio(2.0, statistic="greatest")], near(2.0, holds_for="greatest"), HOLDS, ("tf / torch: 2",)),
    ([ratio(2.0, statistic="greatest")], near(2.0, holds_for="mean"), NO_DATA, None),
    *((TABLE, {"kind": kind, "of": TF, "over": ["task"], "at": {"task": task}}, word, None)
      for kind, task, word in (("least", "lenet5", HOLDS), ("least", "vgg16", DOES_NOT_HOLD),
                               ("most", "vgg16", HOLDS), ("most", "lenet5", DOES_NOT_HOLD))),
    # the most of all, also of those of others: 10 s on VGG16 in torch are more than 9 in tf
    *((TABLE, {"kind": "most", "of": of, "than": [than], "over": ["task"], "at": {"task": "vgg16"}}, word, None)
      for of, than, word in ((TORCH, TF, HOLDS), (TF, TORCH, DOES_NOT_HOLD))),
    # a ratio against another: 9 / 10 over 10 / 9
    (TABLE, {"kind": "ratio", "of": TF, "to": TORCH, "than": [TORCH, TF], **VGG16, "about": 0.81, "within": 0.001},
     HOLDS, ("(tf / torch) / (torch / tf): 0.81",)),
    # a number on its threshold holds; rates are judged as times
    ([ratio(1.037)], {**EQUAL, "holds_for": "mean", "within": 0.037}, HOLDS, None),
    (RATES, {**FASTER, **VGG16}, HOLDS, ("tf / torch, vgg16: 2",)),
])
def test_a_claim_is_judged_by_the_printed_numbers(published: list[dict[str, Any]], claim: dict[str, Any], word: str,
                                                  numbers: tuple[str, ...] | None) -> None:
    (found,) = checked(published, claim)

    assert word == found.word
    assert numbers in (None, found.numbers)


def test_a_contradiction_that_is_marked_is_right_and_an_empty_mark_refused() -> None:
    (found,) = checked(TABLE, {**FASTER, "contradiction": "9 < 10"})

    assert CONTRADICTION == found.word
    with pytest.raises(InputError, match="contradiction"):
        checked(TABLE, {**FASTER, "contradiction": " "})


@pytest.mark.parametrize("printed, word", [(2.0, HOLDS), (2.5, DOES_NOT_HOLD)])
def test_a_printed_ratio_must_follow_from_the_printed_numbers(printed: float, word: str) -> None:
    (found,) = checked([*TABLE, ratio(printed, "lenet5")])

    assert word == found.word
