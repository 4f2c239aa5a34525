"""Which batches of a sequence task each of many workers reads."""

import pytest

from workloads.inputs.sequence_batches import Sequences

SIX = Sequences(tuple({"index": index} for index in range(6)),
                {"name": "made", "batches": 6, "pass_tokens": [10, 11, 12, 13, 14, 15]})


@pytest.mark.parametrize(("rank", "count", "expected"), [
    (0, 2, [0, 2, 4]), (1, 2, [1, 3, 5]), (3, 4, [3]), (1, 4, [1]), (5, 6, [5]), (7, 8, [1])])
def test_workers_read_equally_many_batches_and_share_none_where_there_are_enough(
        rank: int, count: int, expected: list[int]) -> None:
    part = SIX.part(rank, count)
    assert expected == [batch["index"] for batch in part.batches]
    assert [10 + index for index in expected] == part.facts["pass_tokens"]
    assert (len(expected), f"{rank} of {count}") == (part.facts["batches"], part.facts["shard"])
