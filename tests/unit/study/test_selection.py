"""Some of a study's experiments, by name."""

from pathlib import Path

import pytest

from runner.errors import InputError
from runner.study import selection

STUDIES = Path(__file__).parents[3] / "studies"


def chosen(name: str) -> list[str]:
    return [experiment.id for experiment in selection.read(name, STUDIES).experiments]


WHOLE = ["train", "infer", "train-gpt2", "decode"]


@pytest.mark.parametrize(("name", "expected"), [
    ("quick", WHOLE), ("quick/decode", ["decode"]), ("quick/decode,train", ["train", "decode"]),
    (f"{STUDIES}/quick.toml/decode", ["decode"]), (f"{STUDIES}/quick.toml", WHOLE)])
def test_experiments_stand_after_the_study_or_its_path(name: str, expected: list[str]) -> None:
    assert expected == chosen(name)


@pytest.mark.parametrize(("name", "message"), [
    ("quick/trian", 'study quick: experiment "trian" is unknown; known: train, infer, .*; did you mean "train"'),
    ("quick/infer", "study quick: infer: found no cells at scale quick, expected --scale long or"),
    ("/tmp", 'study "/tmp" is unknown'), ("gone/mine.toml/train", r"gone/mine\.toml: no such file")])
def test_what_is_no_experiment_is_told_with_what_there_is(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen(name)


def test_only_claims_and_numbers_of_the_chosen_experiments_are_left() -> None:
    whole, memory = (selection.read(name, STUDIES, "quick") for name in ("krisilias", "krisilias/kri-t5"))

    assert {"step"} < {claim.quantity for claim in whole.claims}
    assert memory.claims and {"step", "memory"}.isdisjoint(claim.quantity for claim in memory.claims)
    assert {"step", "memory"}.isdisjoint(number.quantity for number in memory.published)
