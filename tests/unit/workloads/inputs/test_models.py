"""What goes into sequence models, by published counts and seeds: texts, translations and speech, made or prepared."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.made_sequences import prepared
from workloads.inputs import sequence_batches
from workloads.inputs.models import bert as masked
from workloads.inputs.models import gnmt as translated
from workloads.process.errors import DataError
from workloads.spec.cell import Cell
from workloads.spec.data import alphabets
from workloads.spec.models import bert
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


def drawn(task: str, count: int, folder: str | None = None, seed: int = 1, **sizes: int) -> list[dict[str, Any]]:
    """Samples of the small preset, or of one with these sizes."""
    spec, inputs = model(task)
    return list(inputs.samples(spec.PRESETS["small"]._replace(**sizes), count, seed, folder))


def collated(task: str, samples: list[dict[str, Any]], precision: str = "float32") -> dict[str, Any]:
    spec, inputs = model(task)
    batch: dict[str, Any] = inputs.collate(spec.PRESETS["small"], samples, precision)
    return batch


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
    # a token: two products of 4 x 4, two of 4 x 2, three of 4 x 3; attention: ten pairs of two products of 4; a head of
    # 4 x 5
    ("llama", {**TINY, "width": 4, "heads": 2, "key_heads": 1}, 4 * (2 * 16 + 2 * 8 + 3 * 12) + 10 * 2 * 4 + 4 * 20),
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
    first, same, other = (collated(task, drawn(task, 4, seed=seed)) for seed in (1, 1, 2))

    assert all(np.array_equal(first[name], same[name]) for name in first)
    assert any(first[name].shape != other[name].shape or not np.array_equal(first[name], other[name]) for name in first)
    if "frames" in first:                                                  # padded with zeros
        real, padded = model(task)[1].tokens(first)
        assert real < padded == first["frames"].shape[0] * first["frames"].shape[1]
        assert padded - real == int((first["frames"] == 0).all(axis=2).sum())


@pytest.mark.parametrize(("task", "most"), [("bert", 64), ("gpt2", 128), ("llama", 512)])
def test_a_sequence_longer_than_the_positions_is_refused_with_both_numbers(task: str, most: int) -> None:
    with pytest.raises(DataError, match=f"found {most + 1}, expected at most {most}"):
        drawn(task, 1, length=most + 1)


@pytest.mark.parametrize(("task", "name", "files", "message"), [
    ("gnmt", "wmt16", {"source": [[7, 3], [8, 3]], "target": [[7, 3]]}, "found 2 sentences in source and 1 in target"),
    ("tacotron2", "ljspeech", {"frames": [np.ones((99, 80))], "characters": [[1]]}, "no clip of at most 40 frames"),
    ("tacotron2", "ljspeech", {"frames": [np.ones((10, 81))], "characters": [[1]]}, "expected 80 bins"),
    ("tacotron2", "ljspeech", {"frames": [np.ones((10, 80))], "characters": [[1], [2]]},
     "found 1 clips in frames and 2 in characters"),
    ("bert", "wikitext103", {"tokens": [[7]]}, "found no 'unknown'; prepare it again")])
def test_prepared_files_that_do_not_fit_the_model_are_told(
        task: str, name: str, files: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = prepared(tmp_path, name, {"marks": {"pad": 0}}, **files)
    with pytest.raises(DataError, match=message):
        drawn(task, 1, folder)


def test_prepared_text_goes_on_from_sample_to_sample_and_words_that_a_preset_does_not_know_are_unknown(
        tmp_path: Path) -> None:
    folder = prepared(tmp_path, "wikitext103", {"marks": BYTES}, tokens=[[7, 999, 1000]])
    first, second = drawn("gpt2", 2, folder, length=4)

    assert [7, 999, 1, 7] == first["ids"].tolist() and [999, 1, 7, 999] == first["labels"].tolist()
    assert [1, 7, 999, 1] == second["ids"].tolist()


def test_prepared_text_stands_between_its_own_marks(tmp_path: Path) -> None:
    article = list(range(5, 105))
    texts = []
    for sample in drawn("bert", 2, prepared(tmp_path, "wikitext103", {"marks": BYTES}, tokens=[article])):
        sample["ids"][sample["positions"]] = sample["labels"]               # as it was before it was masked
        texts.append(sample["ids"].tolist())

    assert all((text[0], text[-1]) == (2, 3) for text in texts)
    words = texts[0][1:-1] + texts[1][1:-1]
    assert words == article[:len(words)]


@pytest.mark.parametrize(("length", "count"), [(128, 20), (512, 77), (48, 8), (1, 1)])
def test_at_most_fifteen_percent_of_the_tokens_are_masked(length: int, count: int) -> None:
    assert bert.predictions(length) == count


def test_labels_are_the_tokens_that_stood_at_the_masked_positions() -> None:
    sample = {"ids": np.array([101, 7, 103, 9, 102]), "positions": np.array([2, 3]), "labels": np.array([8, 9])}
    batch = collated("bert", [sample, sample])
    assert batch["ids"].flatten()[batch["positions"][1, :2]].tolist() == [103, 9]
    assert batch["labels"][1].tolist() == [8, 9, 0, 0, 0, 0, 0, 0]
    assert batch["weights"][1].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]


def test_a_shorter_sample_is_padded_and_masked_to_the_longest() -> None:
    long = {"ids": np.array([101, 7, 103, 9, 102]), "positions": np.array([2]), "labels": np.array([8])}
    short = {"ids": np.array([101, 103, 102]), "positions": np.array([1]), "labels": np.array([7])}
    batch = collated("bert", [short, long])
    assert batch["ids"].tolist() == [[101, 103, 102, 0, 0], [101, 7, 103, 9, 102]]
    assert batch["mask"].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    assert masked.tokens(batch) == (8, 10)


def test_masking_keeps_the_marks_and_shows_eight_of_ten_masked_tokens_as_the_mask() -> None:
    made = drawn("bert", 400, seed=3)
    assert all((sample["ids"][0], sample["ids"][-1]) == (masked.MADE.begin, masked.MADE.end) for sample in made)
    shown = np.concatenate([sample["ids"][sample["positions"]] == masked.MADE.mask for sample in made])
    kept = np.concatenate([sample["ids"][sample["positions"]] == sample["labels"] for sample in made])
    assert shown.mean() == pytest.approx(0.8, abs=0.03)
    assert kept.mean() == pytest.approx(0.1, abs=0.03)


def test_a_check_s_batch_of_bert_has_padding_though_nine_of_ten_sequences_have_the_full_length() -> None:
    series = sequence_batches.read("", Cell(stack="s", task="bert", measure="check", batch=4, warmup=0, steps=1))
    assert series.facts["tokens"] < series.facts["padded_tokens"] and len(series.batches) == 1


def test_a_decoder_s_inputs_are_the_target_moved_by_one() -> None:
    batch = collated("gnmt", [{"source": np.array([5, 6, 3]), "target": np.array([7, 8, 9, 3])}])
    assert batch["inputs"].tolist() == [[2, 7, 8, 9]]
    assert batch["labels"].tolist() == [[7, 8, 9, 3]]


def test_source_and_target_are_padded_apart_and_counted_together() -> None:
    batch = collated("gnmt", [{"source": np.array([5, 3]), "target": np.array([7, 8, 3])},
                              {"source": np.array([5, 6, 6, 3]), "target": np.array([3])}])
    assert batch["source"].tolist() == [[5, 3, 0, 0], [5, 6, 6, 3]]
    assert batch["source_lengths"].tolist() == [2, 4]
    assert batch["weights"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert translated.tokens(batch) == (10, 14)


def test_every_sentence_ends_with_the_end_mark_and_has_no_other_mark() -> None:
    for pair in drawn("gnmt", 50):
        for sentence in pair.values():
            assert sentence[-1] == translated.END and (sentence[:-1] >= translated.FIRST_WORD).all()
            assert len(sentence) <= SEQUENCES["gnmt"].model.PRESETS["small"].length


def test_prepared_pairs_stay_pairs_too_long_ones_are_left_out_and_words_that_a_preset_does_not_know_are_unknown(
        tmp_path: Path) -> None:
    folder = prepared(tmp_path, "wmt16", source=[[10, 3], [999, 1000, 3], [12] * 25],
                      target=[[20, 3], [21, 3], [22, 3]])
    pairs = {(*pair["source"].tolist(), int(pair["target"][0])) for pair in drawn("gnmt", 8, folder)}
    assert pairs == {(10, 3, 20), (999, 1, 3, 21)}


def test_every_spoken_text_fits_into_its_steps() -> None:
    batch = collated("deepspeech2", drawn("deepspeech2", 50, seed=3))
    assert (batch["characters"] <= batch["steps"]).all()
    assert (batch["text"] < SEQUENCES["deepspeech2"].model.PRESETS["small"].labels - 1).all()
    for text, length in zip(batch["text"], batch["characters"], strict=True):
        assert (np.diff(text[:length]) != 0).all()


def test_what_comes_before_a_frame_is_the_frame_before() -> None:
    batch = collated("tacotron2", drawn("tacotron2", 3), "float64")
    assert (batch["before"][:, 0] == 0).all()
    assert np.array_equal(batch["before"][:, 1:], batch["frames"][:, :-1])
    lasts = batch["weights"].sum(axis=1).astype(int) - 1
    assert [1.0] * 3 == [row[last] for row, last in zip(batch["stops"], lasts, strict=True)]


def test_no_character_of_librispeech_is_the_blank(tmp_path: Path) -> None:
    folder = prepared(tmp_path, "librispeech", frames=[np.ones((60, 161))],
                      characters=[alphabets.ids("A '", alphabets.LIBRISPEECH_LETTERS)])
    assert [1, 27, 0] == drawn("deepspeech2", 1, folder)[0]["text"].tolist()       # the blank is 28


def test_clips_keep_their_text_and_too_long_ones_are_left_out(tmp_path: Path) -> None:
    clips = [np.full((length, 80), length) for length in (10, 20, 41)]
    folder = prepared(tmp_path, "ljspeech", frames=clips, characters=[[1], [2, 2], [3]])
    samples = {(len(sample["frames"]), tuple(sample["text"])) for sample in drawn("tacotron2", 6, folder)}
    assert {(10, (1,)), (20, (2, 2))} == samples
