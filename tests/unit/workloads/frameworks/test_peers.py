"""What our models are compared with: a missing library is said, and KerasHub generates over the positions of ours."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads.frameworks import peers
from workloads.process.errors import Unsupported
from workloads.spec.cell import Cell

LENGTH = 6
cell_of = Cell(stack="a", task="gpt2", measure="decode", prompt=3, length=LENGTH, batch=2)._replace


class Answer:
    """Gives the position after the ids as each one's token, and counts in the cache what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], int]] = []

    def __call__(self, ids: np.ndarray[Any, Any], cache: int, position: int) -> tuple[np.ndarray[Any, Any], int]:
        self.asked.append((ids[0].tolist(), position))
        return np.full(len(ids), position + ids.shape[1]), cache + ids.shape[1]


@pytest.mark.parametrize(("measure", "tokens", "asked"), [
    # up to the greatest length, and from the prompt on again; a prompt is read anew in each step
    ("decode", [4, 5, 6, 4, 5], [([7, 8, 9], 0), ([3], 3), ([4], 4), ([5], 5), ([3], 3), ([4], 4)]),
    ("prefill", [3, 3], [([7, 8, 9], 0)] * 2)])
def test_tokens_are_generated_over_the_positions_of_ours(
        measure: str, tokens: list[int], asked: list[tuple[list[int], int]]) -> None:
    answer = Answer()
    step = peers.generating(cell_of(measure=measure), answer, np.array([[7, 8, 9], [7, 8, 9]]), 0, int)

    assert tokens == [step()[0] for _ in tokens]
    assert asked == answer.asked


def test_a_library_that_is_not_there_is_unsupported_with_its_folder(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=rf"{tmp_path}/peers/a: no keras_hub_of_nobody that can be imported"):
        peers.library(cell_of(), str(tmp_path), "keras_hub_of_nobody")


def test_keras_hub_s_cache_has_keys_and_values_of_every_layer_and_position() -> None:
    assert (3, 2, 2, LENGTH, 4, 32) == peers.keras_hub_cache(cell_of(batch=3))
    assert (3, 6, 2, LENGTH, 2, 64) == peers.keras_hub_cache(cell_of(task="llama", batch=3))
