"""What holds of every sequence model: its published count, samples by the seed alone, refusals with both numbers."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.made_sequences import prepared
from workloads.process.errors import DataError
from workloads.spec.sequence_tasks import SEQUENCES

MODELS = ("bert", "gnmt", "gpt2", "llama", "deepspeech2", "tacotron2")
BYTES = {"pad": 0, "unknown": 1, "begin": 2, "end": 3, "mask": 4}
# PyTorch's LSTM layers have two biases each: nine in MLPerf's GNMT, four in NVIDIA's Tacotron 2, whose second layer
# also takes the context, which the study's does not. Deep Speech 2's are its layers' (161 bins become 41)
PUBLISHED = {
    "bert": 109_514_298, "gpt2": 124_439_808, "llama": 1_100_048_384, "gnmt": 160_671_297 - 9 * 4 * 1024,
    "tacotron2": 28_193_153 - 2 * 4 * 256 - 2 * 4 * 1024 - 4 * 1024 * 512,
    "deepspeech2": 32 * 11 * 41 + 32 + 2 * 32 + 32 * 32 * 11 * 21 + 32 + 2 * 32
    + 2 * (4 * 800 * (32 * 41 + 800) + 4 * 800)
    + 4 * (2 * 800 + 2 * (4 * 800 * (800 + 800) + 4 * 800)) + 2 * 800 + 29 * 800 + 29}


def model(task: str) -> tuple[Any, ModuleType]:
    """The spec and the inputs of a model."""
    return SEQUENCES[task].model, importlib.import_module(f"workloads.inputs.models.{task}")


@pytest.mark.parametrize("task", MODELS)
def test_the_study_s_preset_has_the_published_parameters_each_with_a_name_of_its_own(task: str) -> None:
    spec, _ = model(task)
    found = spec.parameters(spec.PRESETS["study"])

    assert PUBLISHED[task] == sum(int(np.prod(each.shape)) for each in found if each.is_trainable)
    assert len(found) == len({each.name for each in found})


@pytest.mark.parametrize("task", MODELS)
def test_equal_seeds_give_equal_batches_and_others_do_not(task: str) -> None:
    spec, inputs = model(task)
    sizes = spec.PRESETS["small"]
    first, same, other = (inputs.collate(sizes, inputs.samples(sizes, 4, seed, None), "float32") for seed in (1, 1, 2))

    assert all(np.array_equal(first[name], same[name]) for name in first)
    assert any(first[name].shape != other[name].shape or not np.array_equal(first[name], other[name]) for name in first)
    if "frames" in first:                                                  # padded with zeros
        real, padded = inputs.tokens(first)
        assert real < padded == first["frames"].shape[0] * first["frames"].shape[1]
        assert padded - real == int((first["frames"] == 0).all(axis=2).sum())


@pytest.mark.parametrize(("task", "most"), [("bert", 64), ("gpt2", 128), ("llama", 512)])
def test_a_sequence_longer_than_the_positions_is_refused_with_both_numbers(task: str, most: int) -> None:
    spec, inputs = model(task)
    with pytest.raises(DataError, match=f"found {most + 1}, expected at most {most}"):
        inputs.samples(spec.PRESETS["small"]._replace(length=most + 1), 1, 1, None)


def test_prepared_text_goes_on_from_sample_to_sample_and_words_that_a_preset_does_not_know_are_unknown(
        tmp_path: Path) -> None:
    spec, inputs = model("gpt2")
    folder = prepared(tmp_path, "wikitext103", {"marks": BYTES}, tokens=[[7, 999, 1000]])
    first, second = inputs.samples(spec.PRESETS["small"]._replace(length=4), 2, 1, folder)

    assert [7, 999, 1, 7] == first["ids"].tolist() and [999, 1, 7, 999] == first["labels"].tolist()
    assert [1, 7, 999, 1] == second["ids"].tolist()


def test_prepared_text_stands_between_its_own_marks_and_a_set_without_them_is_refused(tmp_path: Path) -> None:
    spec, inputs = model("bert")
    article = list(range(5, 105))
    folder = prepared(tmp_path / "a", "wikitext103", {"marks": BYTES}, tokens=[article])
    texts = []
    for sample in inputs.samples(spec.PRESETS["small"], 2, 1, folder):
        sample["ids"][sample["positions"]] = sample["labels"]               # as it was before it was masked
        texts.append(sample["ids"].tolist())

    assert all((text[0], text[-1]) == (2, 3) for text in texts)
    words = texts[0][1:-1] + texts[1][1:-1]
    assert words == article[:len(words)]
    without = prepared(tmp_path / "b", "wikitext103", {"marks": {"pad": 0}}, tokens=[[7]])
    with pytest.raises(DataError, match="found no 'unknown'; prepare it again"):
        inputs.samples(spec.PRESETS["small"], 1, 1, without)
