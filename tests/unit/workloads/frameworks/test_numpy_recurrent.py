"""The numpy LSTM against a step worked out by hand."""

import math

import numpy as np
import pytest

from workloads.frameworks.numpy.recurrent import lstm, lstm_step

# one unit, one input; the gates i, f, g, o of x = 1, h = 0.5 by hand: 2*1 + 1*0.5 - 0.5 = 2 and so on
WEIGHTS = {"a.input.weight": np.array([[2.0], [1.0], [0.5], [-1.0]]),
           "a.recurrent.weight": np.array([[1.0], [0.0], [-1.0], [2.0]]),
           "a.bias": np.array([-0.5, 1.0, 0.5, 0.0])}


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_a_step_is_that_of_the_equations() -> None:
    h, c = lstm_step(WEIGHTS, "a", np.array([[1.0]]), (np.array([[0.5]]), np.array([[3.0]])))

    expected = sigmoid(2.0) * 3.0 + sigmoid(2.0) * math.tanh(0.5)
    assert c[0, 0] == pytest.approx(expected, rel=1e-14)
    assert h[0, 0] == pytest.approx(sigmoid(0.0) * math.tanh(expected), rel=1e-14)


def test_outputs_past_a_sample_s_end_are_zero_and_do_not_depend_on_padding() -> None:
    x = np.array([[[1.0], [2.0], [9.0]], [[1.0], [2.0], [3.0]]])

    out = lstm(WEIGHTS, "a", x, np.array([2, 3]))

    assert 0.0 == out[0, 2, 0]
    np.testing.assert_array_equal(out[0, :2], out[1, :2])


def test_a_reversed_layer_begins_at_the_sample_s_own_end() -> None:
    x = np.array([[[1.0], [2.0], [9.0]]])

    np.testing.assert_array_equal(lstm(WEIGHTS, "a", x, np.array([2]), is_reversed=True)[:, :2],
                                  lstm(WEIGHTS, "a", x[:, 1::-1])[:, ::-1])
