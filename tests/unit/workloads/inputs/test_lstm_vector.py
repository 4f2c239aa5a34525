"""An LSTM's arrays as one vector, and back."""

import numpy as np
import pytest

from workloads.inputs import lstm_vector
from workloads.spec import sequence_tasks
from workloads.spec.cell import Cell

LAYER = lstm_vector.Packed("lstm", inputs=3, hidden=2)
ARRAYS = {"lstm.input.weight": np.arange(24.0).reshape(8, 3), "lstm.recurrent.weight": np.arange(16.0).reshape(8, 2),
          "lstm.bias": np.arange(8.0)}


def test_a_vector_has_both_weights_the_bias_and_a_second_one_of_zeros_and_gives_the_arrays_back() -> None:
    vector = LAYER.vector(ARRAYS)
    back = LAYER.arrays(vector)

    assert [*range(24), *range(16), *range(8), *[0] * 8] == vector.tolist()
    assert (LAYER.size, LAYER.still) == (56, 8)
    assert list(back) == list(ARRAYS) and all(np.array_equal(back[name], ARRAYS[name]) for name in ARRAYS)


@pytest.mark.parametrize(("inputs", "hidden"), [(3, 2), (1, 1), (1024, 4096), (4096, 1), (80, 32)])
def test_a_layer_s_units_follow_from_the_vector_s_size(inputs: int, hidden: int) -> None:
    assert hidden == lstm_vector.units(lstm_vector.Packed("x", inputs, hidden).size, inputs)


def test_layers_of_single_steps_are_not_packed() -> None:
    parameters = sequence_tasks.parameters(Cell(stack="s", task="tacotron2", measure="train"))
    names = [layer.name for layer in lstm_vector.packed(parameters, ("decoder.",))]

    assert names and all(name.startswith("encoder.") for name in names)
