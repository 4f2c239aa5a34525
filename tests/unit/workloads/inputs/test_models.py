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


TINY = {"layers": 1, "width": 2, "heads": 1, "inner": 3, "vocabulary": 5, "positions": 4, "length": 4}


@pytest.mark.parametrize(("task", "sizes", "multiply_adds"), [
    # four products of 4 x 2 x 2, two of attention of 4 x 4 x 2, two of 4 x 2 x 3; one masked token: 2 x 2 and 2 x 5
    ("bert", TINY, 4 * 16 + 2 * 32 + 2 * 24 + 4 + 10),
    # a token: four products of 2 x 2, two of 2 x 3; attention: ten pairs of two products of 2; a head of 2 x 5
    ("gpt2", TINY, 4 * (4 * 4 + 2 * 6) + 10 * 2 * 2 + 4 * 10),
    # of a step: LSTM layers of 8 x (2 + 2), or 8 x (4 + 2), four in the encoder and three in the decoder; attention's
    # query, key, scores over three tokens and context of them; a head of 2 x 5
    ("gnmt", {"layers": 3, "units": 2, "vocabulary": 5, "length": 3},
     3 * (3 * 32 + 48 + 32 + 2 * 48 + 2 * 2 + 2 * 2 + 3 * 2 + 3 * 2 + 2 * 5)),
    # 10 x 41 become 5 x 21, then 5 x 11; an LSTM of both directions, and a head
    ("deepspeech2", {"bins": 41, "channels": 2, "layers": 1, "units": 3, "labels": 5, "length": 10},
     5 * 21 * 2 * 11 * 41 + 5 * 11 * 2 * 2 * 11 * 21 + 5 * 2 * 4 * 3 * (22 + 3) + 5 * 5 * 3)])
def test_flops_of_a_tiny_model_are_those_counted_by_hand(task: str, sizes: dict[str, int], multiply_adds: int) -> None:
    spec, _ = model(task)
    assert 2 * multiply_adds == spec.forward_flops(spec.Sizes(**sizes))


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
