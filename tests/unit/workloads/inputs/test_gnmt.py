"""GNMT: batches in which source, target and masks belong together."""

from pathlib import Path

import numpy as np
import pytest

from tests.made_sequences import prepared
from workloads.inputs.models import gnmt as inputs
from workloads.process.errors import DataError
from workloads.spec.models import gnmt

SIZES = gnmt.PRESETS["small"]


def test_the_decoder_s_inputs_are_the_target_moved_by_one() -> None:
    pair = {"source": np.array([5, 6, 3]), "target": np.array([7, 8, 9, 3])}
    batch = inputs.collate(SIZES, [pair], "float64")
    assert batch["inputs"].tolist() == [[2, 7, 8, 9]]
    assert batch["labels"].tolist() == [[7, 8, 9, 3]]


def test_source_and_target_are_padded_apart_and_counted_together() -> None:
    pairs = [{"source": np.array([5, 3]), "target": np.array([7, 8, 3])},
             {"source": np.array([5, 6, 6, 3]), "target": np.array([3])}]
    batch = inputs.collate(SIZES, pairs, "float32")
    assert batch["source"].tolist() == [[5, 3, 0, 0], [5, 6, 6, 3]]
    assert batch["source_lengths"].tolist() == [2, 4]
    assert batch["weights"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert inputs.tokens(batch) == (10, 14)


def test_every_sentence_ends_with_the_end_mark_and_has_no_other_mark() -> None:
    for pair in inputs.samples(SIZES, 50, 1, None):
        for sentence in pair.values():
            assert sentence[-1] == inputs.END and (sentence[:-1] >= inputs.FIRST_WORD).all()
            assert len(sentence) <= SIZES.length


def test_prepared_pairs_stay_pairs_and_too_long_ones_are_left_out(tmp_path: Path) -> None:
    folder = prepared(tmp_path, "wmt16", source=[[10, 3], [11, 11, 3], [12] * 25],
                      target=[[20, 3], [21, 3], [22, 3]])
    pairs = {(int(pair["source"][0]), int(pair["target"][0])) for pair in inputs.samples(SIZES, 8, 1, folder)}
    assert pairs == {(10, 20), (11, 21)}


def test_words_that_a_preset_does_not_know_are_unknown(tmp_path: Path) -> None:
    folder = prepared(tmp_path, "wmt16", source=[[999, 1000, 3]], target=[[7, 3]])
    assert inputs.samples(SIZES, 1, 1, folder)[0]["source"].tolist() == [999, 1, 3]


def test_sentences_without_a_partner_are_refused_with_both_counts(tmp_path: Path) -> None:
    folder = prepared(tmp_path, "wmt16", source=[[7, 3], [8, 3]], target=[[7, 3]])
    with pytest.raises(DataError, match="found 2 sentences in source and 1 in target"):
        inputs.samples(SIZES, 1, 1, folder)
