"""Claims judged on the numbers that their paper prints: values and ratios worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner.analysis.claims import paper_check
from runner.analysis.claims.paper_check import CONTRADICTION, DOES_NOT_HOLD, HOLDS, NO_DATA, Judged
from runner.cli import app
from runner.errors import InputError
from runner.study import file

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
    return {"of": of, "value": value, "unit": "s", **({"where": {"task": list(tasks)}} if tasks else {})}


def ratio(value: float, *tasks: str, **more: Any) -> dict[str, Any]:
    return {"of": TF, "to": TORCH, "value": value, "unit": "x",
            **({"where": {"task": list(tasks)}} if tasks else {}), **more}


def near(value: float, **more: Any) -> dict[str, Any]:
    return {"kind": "ratio", "of": TF, "to": TORCH, "over": ["task"], "about": value, "within": 0.05, **more}


FASTER = {"kind": "faster", "of": TORCH, "to": TF, "over": ["task"]}
TABLE = [seconds(TF, 2.0, "lenet5"), seconds(TORCH, 1.0, "lenet5"),
         seconds(TF, 9.0, "vgg16"), seconds(TORCH, 10.0, "vgg16")]


def test_a_claim_that_the_table_contradicts_does_not_hold_and_names_the_case() -> None:
    (found,) = checked(TABLE, FASTER)

    assert DOES_NOT_HOLD == found.word
    assert not found.is_right
    assert ("tf / torch, vgg16: 0.9",) == found.numbers


def test_a_claim_that_the_table_bears_out_holds() -> None:
    (found,) = checked(TABLE, {**FASTER, "turned_for": [{"task": "vgg16"}]})

    assert HOLDS == found.word


def test_a_contradiction_that_is_marked_is_right() -> None:
    (found,) = checked(TABLE, {**FASTER, "contradiction": "9 < 10"})

    assert (CONTRADICTION, True, "9 < 10") == (found.word, found.is_right, found.contradiction)


def test_an_empty_contradiction_is_refused() -> None:
    with pytest.raises(InputError, match="contradiction"):
        checked(TABLE, {**FASTER, "contradiction": " "})


def test_without_printed_numbers_there_is_no_data() -> None:
    (found,) = checked([], FASTER)

    assert (NO_DATA, True) == (found.word, found.is_right)


def test_a_printed_mean_says_nothing_of_single_cases() -> None:
    (found,) = checked([ratio(2.0)], FASTER)

    assert NO_DATA == found.word


def test_a_printed_mean_is_data_of_a_claim_on_that_mean() -> None:
    (right,) = checked([ratio(2.0)], near(2.0, holds_for="mean"))
    (wrong,) = checked([ratio(3.0)], near(2.0, holds_for="mean"))

    assert (HOLDS, DOES_NOT_HOLD) == (right.word, wrong.word)


def test_a_mean_needs_all_its_cases() -> None:
    (found,) = checked([ratio(2.0, "lenet5")], near(2.0, holds_for="mean"))

    assert NO_DATA == found.word


def test_a_mean_is_of_the_ratios_and_a_total_of_the_sums() -> None:
    # ratios 2 and 0.9: geometric mean 1.342; sums 11 and 11
    (mean,) = checked(TABLE, near(1.342, holds_for="mean"))
    (total,) = checked(TABLE, near(1.0, holds_for="total"))

    assert (HOLDS, HOLDS) == (mean.word, total.word)


def test_the_greatest_is_one_case() -> None:
    (found,) = checked(TABLE, near(2.0, holds_for="greatest"))

    assert (HOLDS, ("tf / torch, lenet5: 2",)) == (found.word, found.numbers)


def test_of_which_case_a_printed_maximum_is_nobody_says() -> None:
    (found,) = checked([ratio(2.0, statistic="greatest")], near(2.0, holds_for="greatest"))

    assert (HOLDS, ("tf / torch: 2",)) == (found.word, found.numbers)


def test_an_average_difference_is_of_both_ways() -> None:
    """2 / 1 and 9 / 10: twice and 1.111 times apart, of which the geometric mean is 1.491."""
    claim = {"kind": "equal", "of": TF, "to": TORCH, "over": ["task"], "holds_for": "difference"}
    (right,) = checked(TABLE, {**claim, "within": 0.5})
    (wrong,) = checked(TABLE, {**claim, "within": 0.48})

    assert (HOLDS, DOES_NOT_HOLD, ("tf / torch: 1.49071",)) == (right.word, wrong.word, wrong.numbers)


@pytest.mark.parametrize(("kind", "task", "word"), [
    ("least", "lenet5", HOLDS), ("least", "vgg16", DOES_NOT_HOLD),
    ("most", "vgg16", HOLDS), ("most", "lenet5", DOES_NOT_HOLD)])
def test_the_least_and_the_most_are_held_against_every_other_case(kind: str, task: str, word: str) -> None:
    (found,) = checked(TABLE, {"kind": kind, "of": TF, "over": ["task"], "at": {"task": task}})

    assert word == found.word


def test_a_ratio_may_be_held_against_another() -> None:
    """TensorFlow's 9 / 10 over PyTorch's 10 / 9 in VGG16: 0.81."""
    claim = {"kind": "ratio", "of": TF, "to": TORCH, "than": [TORCH, TF], "where": {"task": ["vgg16"]}}
    (found,) = checked(TABLE, {**claim, "about": 0.81, "within": 0.001})

    assert (HOLDS, ("(tf / torch) / (torch / tf): 0.81",)) == (found.word, found.numbers)


def test_a_printed_maximum_is_no_mean() -> None:
    (found,) = checked([ratio(2.0, statistic="greatest")], near(2.0, holds_for="mean"))

    assert NO_DATA == found.word


def test_a_number_on_its_threshold_holds() -> None:
    claim = {"kind": "equal", "of": TORCH, "to": TF, "over": ["task"], "within": 0.037, "holds_for": "mean"}
    (found,) = checked([ratio(1.037)], claim)

    assert HOLDS == found.word


def test_rates_are_judged_as_times() -> None:
    rates = [{"of": TF, "value": 100.0, "unit": "samples/s", "where": {"task": ["vgg16"]}},
             {"of": TORCH, "value": 200.0, "unit": "samples/s", "where": {"task": ["vgg16"]}}]
    (found,) = checked(rates, {**FASTER, "where": {"task": ["vgg16"]}})

    assert (HOLDS, ("tf / torch, vgg16: 2",)) == (found.word, found.numbers)


@pytest.mark.parametrize("printed, word", [(2.0, HOLDS), (2.5, DOES_NOT_HOLD)])
def test_a_printed_ratio_must_follow_from_the_printed_numbers(printed: float, word: str) -> None:
    (found,) = checked([*TABLE, ratio(printed, "lenet5")])

    assert word == found.word


FILE = """
[study]
id = "s"
title = "A study"
[[experiment]]
id = "e"
measure = "train"
task = "lenet5"
stacks = ["tf", "torch"]
[[published]]
id = "p"
source = "Table 1"
quantity = "step"
of = { stack = "tf" }
to = { stack = "torch" }
value = 2.0
unit = "x"
[[claim]]
id = "c1"
text = "TensorFlow is faster"
kind = "faster"
quantity = "step"
of = { stack = "tf" }
to = { stack = "torch" }
"""


@pytest.mark.parametrize(("more", "code"), [("", 1), ('contradiction = "2 > 1"', 0)])
def test_the_command_fails_where_a_claim_does_not_hold_unmarked(tmp_path: Path, more: str, code: int) -> None:
    path = tmp_path / "s.toml"
    path.write_text(FILE + more)

    assert code == CliRunner().invoke(app, ["check-study", str(path)]).exit_code
