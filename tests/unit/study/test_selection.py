"""Some of a study's experiments, by name."""

from pathlib import Path

import pytest

from runner.errors import InputError
from runner.study import selection

STUDIES = Path(__file__).parents[3] / "studies"


def chosen(name: str) -> list[str]:
    return [experiment.id for experiment in selection.read(name, STUDIES).experiments]


def test_a_study_alone_has_all_its_experiments() -> None:
    assert ["train", "infer"] == chosen("quick")


def test_experiments_stand_after_the_study_in_the_file_s_order() -> None:
    assert ["infer"] == chosen("quick/infer")
    assert ["train", "infer"] == chosen("quick/infer,train")


def test_a_path_may_have_experiments_too() -> None:
    assert ["infer"] == chosen(f"{STUDIES}/quick.toml/infer")
    assert ["train", "infer"] == chosen(f"{STUDIES}/quick.toml")


def test_an_unknown_experiment_is_told_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match='study quick: experiment "trian" is unknown; known: train, infer; did you '
                                         "mean `train`"):
        chosen("quick/trian")


def test_only_claims_and_numbers_of_the_chosen_experiments_are_left() -> None:
    whole, memory = (selection.read(name, STUDIES, "quick") for name in ("krisilias", "krisilias/kri-t5"))

    assert {"step"} < {claim.quantity for claim in whole.claims}
    assert memory.claims and {"step", "memory"}.isdisjoint(claim.quantity for claim in memory.claims)
    assert {"step", "memory"}.isdisjoint(number.quantity for number in memory.published)
