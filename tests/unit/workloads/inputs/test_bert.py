"""BERT: batches whose masks say what is in them."""

import numpy as np
import pytest

from workloads.inputs import sequence_batches
from workloads.inputs.models import bert as inputs
from workloads.spec.cell import Cell
from workloads.spec.models import bert

SIZES = bert.PRESETS["small"]


@pytest.mark.parametrize(("length", "masked"), [(128, 20), (512, 77), (48, 8), (1, 1)])
def test_at_most_fifteen_percent_of_the_tokens_are_masked(length: int, masked: int) -> None:
    assert bert.predictions(length) == masked


def test_labels_are_the_tokens_that_stood_at_the_masked_positions() -> None:
    sample = {"ids": np.array([101, 7, 103, 9, 102]), "positions": np.array([2, 3]), "labels": np.array([8, 9])}
    batch = inputs.collate(SIZES, [sample, sample], "float64")
    assert batch["ids"].flatten()[batch["positions"][1, :2]].tolist() == [103, 9]
    assert batch["labels"][1].tolist() == [8, 9, 0, 0, 0, 0, 0, 0]
    assert batch["weights"][1].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]


def test_a_shorter_sample_is_padded_and_masked_to_the_longest() -> None:
    long = {"ids": np.array([101, 7, 103, 9, 102]), "positions": np.array([2]), "labels": np.array([8])}
    short = {"ids": np.array([101, 103, 102]), "positions": np.array([1]), "labels": np.array([7])}
    batch = inputs.collate(SIZES, [short, long], "float32")
    assert batch["ids"].tolist() == [[101, 103, 102, 0, 0], [101, 7, 103, 9, 102]]
    assert batch["mask"].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    assert inputs.tokens(batch) == (8, 10)


def test_masking_keeps_the_marks_and_shows_eight_of_ten_masked_tokens_as_the_mask() -> None:
    made = inputs.samples(SIZES, 400, 3, None)
    assert all((sample["ids"][0], sample["ids"][-1]) == (inputs.MADE.begin, inputs.MADE.end) for sample in made)
    shown = np.concatenate([sample["ids"][sample["positions"]] == inputs.MADE.mask for sample in made])
    kept = np.concatenate([sample["ids"][sample["positions"]] == sample["labels"] for sample in made])
    assert shown.mean() == pytest.approx(0.8, abs=0.03)
    assert kept.mean() == pytest.approx(0.1, abs=0.03)


def test_a_check_s_batch_has_padding_though_nine_of_ten_sequences_have_the_full_length() -> None:
    series = sequence_batches.read("", Cell(stack="s", task="bert", measure="check", batch=4, warmup=0, steps=1))
    assert series.facts["tokens"] < series.facts["padded_tokens"] and len(series.batches) == 1
