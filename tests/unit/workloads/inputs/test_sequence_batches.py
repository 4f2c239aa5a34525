"""Batches of sequences: how they are padded, and which of them each of many workers reads."""

import numpy as np
import pytest

from workloads.inputs import padding, sequence_batches
from workloads.inputs.models import bert
from workloads.inputs.sequence_batches import Sequences
from workloads.spec.cell import Cell
from workloads.spec.sequence_tasks import SEQUENCES


@pytest.mark.parametrize(("length", "most", "expected"), [
    (1, 40, 10), (10, 40, 10), (11, 40, 20), (40, 40, 40), (41, 40, 50),
    (22, 22, 22), (19, 22, 22),                                        # a quarter of 22 is 6: 24 would be too long
    (3, 2, 3)])
def test_a_length_becomes_the_next_quarter_of_the_longest(length: int, most: int, expected: int) -> None:
    assert expected == padding.bucketed(length, most)


def test_what_padding_adds_is_zero_in_arrays_and_masks() -> None:
    arrays = [np.array([1, 2, 3]), np.array([4])]
    assert [[1, 2, 3], [4, 0, 0]] == padding.padded(arrays, np.int64).tolist()
    assert [[1, 2, 3, 0], [4, 0, 0, 0]] == padding.padded(arrays, np.int64, 8).tolist()
    assert [[1, 1, 1, 0], [1, 0, 0, 0]] == padding.mask(arrays, "float32", 8).tolist()


@pytest.mark.parametrize("task", ["bert", "gnmt", "deepspeech2", "tacotron2"])
def test_buckets_make_few_shapes_of_many_and_the_real_tokens_stay(task: str) -> None:
    cell = Cell(stack="s", task=task, measure="train", batch=1, steps=60, warmup=0)
    plain, bucketed = (sequence_batches.read("", cell._replace(padding=how)) for how in ("batch", "buckets"))
    assert plain.facts["tokens"] == bucketed.facts["tokens"]
    assert plain.facts["padded_tokens"] < bucketed.facts["padded_tokens"]
    assert bucketed.facts["shapes"] < plain.facts["shapes"] and bucketed.facts["shapes"] <= 16
    assert "few lengths" in bucketed.facts["padding"]
    told = plain.facts["pass_tokens"]
    assert (60, 60) == (len(told), plain.pass_steps)
    assert pytest.approx(plain.facts["padded_tokens"]) == sum(told) / 60


def test_bert_s_positions_count_through_the_longer_rows() -> None:
    sizes = SEQUENCES["bert"].model.PRESETS["small"]                  # at most 48 tokens: buckets of 12
    sample = {"ids": np.arange(1, 8), "positions": np.array([2]), "labels": np.array([5])}
    batch = bert.collate(sizes, [sample, sample], "float32", True)
    assert (2, 12) == batch["ids"].shape
    assert [2, 14] == batch["positions"][:, 0].tolist()


@pytest.mark.parametrize("values", [{"task": "lstm"}, {"task": "gnmt", "input": "synthetic"}])
def test_batches_that_are_all_alike_make_no_pass(values: dict[str, str]) -> None:
    series = sequence_batches.read("", Cell(stack="s", measure="train", batch=1, steps=60, warmup=0, **values))
    assert "pass_tokens" not in series.facts and 0 == series.pass_steps


@pytest.mark.parametrize(("rank", "count", "expected"), [
    (0, 2, [0, 2, 4]), (1, 2, [1, 3, 5]), (3, 4, [3]), (1, 4, [1]), (5, 6, [5]), (7, 8, [1])])
def test_workers_read_equally_many_batches_and_share_none_where_there_are_enough(
        rank: int, count: int, expected: list[int]) -> None:
    six = Sequences(tuple({"index": index} for index in range(6)),
                    {"name": "made", "batches": 6, "pass_tokens": [10, 11, 12, 13, 14, 15]})
    part = six.part(rank, count)
    assert expected == [batch["index"] for batch in part.batches]
    assert [10 + index for index in expected] == part.facts["pass_tokens"]
    assert (len(expected), f"{rank} of {count}") == (part.facts["batches"], part.facts["shard"])
