"""Some of a study's experiments, by name."""

from pathlib import Path

import pytest

from runner.errors import InputError
from runner.study import selection

STUDIES = Path(__file__).parents[3] / "studies"


def chosen(name: str) -> list[str]:
    return [experiment.id for experiment in selection.read(name, STUDIES).experiments]


def test_a_study_alone_has_all_its_experiments() -> None:
    assert ["train", "infer", "train-gpt2", "decode"] == chosen("quick")


def test_experiments_stand_after_the_study_in_the_file_s_order() -> None:
    assert ["decode"] == chosen("quick/decode")
    assert ["train", "decode"] == chosen("quick/decode,train")


def test_a_path_may_have_experiments_too() -> None:
    assert ["decode"] == chosen(f"{STUDIES}/quick.toml/decode")
    assert chosen("quick") == chosen(f"{STUDIES}/quick.toml")


def test_an_unknown_experiment_is_told_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match='study quick: experiment "trian" is unknown; known: train, infer, '
                                         'train-gpt2, decode; did you mean "train"'):
        chosen("quick/trian")


def test_an_experiment_without_cells_at_its_scale_is_told_with_the_scales_that_have_some() -> None:
    with pytest.raises(InputError, match="study quick: infer: found no cells at scale quick, expected --scale long or "
                                         "--scale reference"):
        chosen("quick/infer")


def test_a_path_that_is_no_study_is_said_whole() -> None:
    with pytest.raises(InputError, match='study "/tmp" is unknown'):
        chosen("/tmp")
    with pytest.raises(InputError, match=r"gone/mine\.toml: no such file"):
        chosen("gone/mine.toml/train")


def test_only_claims_and_numbers_of_the_chosen_experiments_are_left() -> None:
    whole, memory = (selection.read(name, STUDIES, "quick") for name in ("krisilias", "krisilias/kri-t5"))

    assert {"step"} < {claim.quantity for claim in whole.claims}
    assert memory.claims and {"step", "memory"}.isdisjoint(claim.quantity for claim in memory.claims)
    assert {"step", "memory"}.isdisjoint(number.quantity for number in memory.published)
