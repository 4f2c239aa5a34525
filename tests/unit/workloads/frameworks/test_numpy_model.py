"""The numpy reference against values worked out by hand."""

import math

import numpy as np
import pytest

from workloads.frameworks import numpy
from workloads.frameworks.numpy import model
from workloads.frameworks.numpy.recurrent import lstm, lstm_step
from workloads.inputs import images as data
from workloads.inputs import weights
from workloads.spec import layers, tasks
from workloads.spec.cell import Cell
from workloads.spec.layers import Act, Conv, Dense, Dropout, Encoder, Flatten, Norm, Pool, Residual, Tokens

NINE = np.arange(1.0, 10.0).reshape(1, 1, 3, 3)      # 1 2 3 / 4 5 6 / 7 8 9


def out_of(table, x, arrays=None, is_training=True):
    """What a table makes of x with arrays by name."""
    held = {name: np.array(array, dtype=np.float64) for name, array in (arrays or {}).items()}
    return model.run(table, np.asarray(x, dtype=np.float64), model.Pass(held, is_training, {}))


def channels(*values):
    """One image of one pixel with these channels."""
    return np.array(values, dtype=np.float64).reshape(1, -1, 1, 1)


ONE = Conv(1, (1, 1))
TOKENS = {"0.first.weight": [[10]], "0.positions.weight": [[100], [200], [300]]}


@pytest.mark.parametrize(("table", "x", "arrays", "expected"), [
    # a convolution does not turn its kernel
    ((Conv(1, (2, 2)),), NINE, {"0.weight": [[[[1, 10], [100, 1000]]]]}, [[[[5421, 6532], [8754, 9865]]]]),
    ((Conv(1, (3, 3), 2, (1, 1), bias=True),), NINE, {"0.weight": np.ones((1, 1, 3, 3)), "0.bias": [0.5]},
     [[[[12.5, 16.5], [24.5, 28.5]]]]),
    # a row's kernel is padded along rows only, and a group of filters sees its own channels only
    ((Conv(1, (1, 3), 1, (0, 1)),), NINE, {"0.weight": [[[[1, 1, 1]]]]}, [[[[3, 6, 5], [9, 15, 11], [15, 24, 17]]]]),
    ((Conv(4, (1, 1), groups=2),), channels(1, 2, 3, 4),
     {"0.weight": np.array([[1, 10], [2, 20], [3, 30], [4, 40]]).reshape(4, 2, 1, 1)}, channels(21, 42, 129, 172)),
    # by the batch's biased variance: mean 2, variance 1
    ((Norm(epsilon=3.0),), [[[[1.0]]], [[[3.0]]]],
     {"0.gamma": [4], "0.beta": [10], "0.mean": [7], "0.variance": [9]}, [[[[8]]], [[[12]]]]),
    ((Act("sigmoid"),), channels(-1e4, 1e4), {}, channels(0, 1)),
    # padding is never the greatest, and counts as zeros in a mean; a pool's rest is left out
    ((Pool("max", 2, 2, pad=1),), NINE - 10, {}, [[[[-9, -7], [-3, -1]]]]),
    ((Pool("mean", 2, 2, pad=1),), NINE, {}, [[[[0.25, 1.25], [2.75, 7]]]]),
    ((Pool("max", 2, 2),), NINE, {}, [[[[5]]]]),
    ((layers.GlobalPool(),), NINE, {}, [[[[5]]]]),
    # an empty shortcut is the input itself
    ((Residual((Act(),)),), channels(1.5, 2), {}, channels(3, 4)),
    ((Residual((ONE,), (ONE,)),), channels(3), {"0.body.0.weight": [[[[2]]]], "0.shortcut.0.weight": [[[[30]]]]},
     channels(96)),
    ((layers.Branch(((Act("relu"),), (), (Pool("max", 1, 1), Act("relu6")))),), channels(-1, 8), {},
     channels(0, 8, -1, 8, 0, 6)),
    # means 2 and 1: relu(2 - 1 - 2) = 0, so 1/2 and 3/4
    ((layers.SqueezeExcite(1, "relu"),), [[[[1.0, 3.0]], [[0.0, 2.0]]]],
     {"0.squeeze.weight": [[[[1]], [[-1]]]], "0.squeeze.bias": [-2], "0.expand.weight": [[[[5]]], [[[0]]]],
      "0.expand.bias": [0, math.log(3)]}, [[[[0.5, 1.5]], [[0, 1.5]]]]),
    ((Flatten(),), np.arange(8.0).reshape(1, 2, 2, 2), {}, [list(range(8))]),
    ((Dense(3),), [[1, 10]], {"0.weight": [[1, 2], [3, 4], [5, 6]], "0.bias": [100, 200, 300]}, [[121, 243, 365]]),
    ((Dropout(0.5),), channels(1, 2), {}, channels(1, 2)),
    # pixels become tokens behind the first one, each with its position
    ((Tokens(),), [[[[1.0, 2.0]]]], TOKENS, [[[110], [201], [302]]]),
    ((Tokens(), layers.First()), [[[[1.0, 2.0]]]], TOKENS, [[110]]),
    ((layers.LayerNorm(epsilon=3.0),), [[[1, 3], [5, 7]]], {"0.gamma": [4, 4], "0.beta": [10, 10]},
     [[[8, 12], [8, 12]]])])
def test_a_layer_computes_what_was_worked_out_by_hand(table, x, arrays, expected):
    np.testing.assert_allclose(out_of(table, x, arrays), expected, rtol=1e-14)


def test_in_evaluation_running_statistics_count_and_dropout_does_not():
    arrays = {"0.gamma": [4], "0.beta": [10], "0.mean": [7], "0.variance": [1]}
    table = (Norm(epsilon=3.0), Dropout(0.5))
    assert [-2, 12] == out_of(table, [[[[1.0]]], [[[8.0]]]], arrays, is_training=False).ravel().tolist()


@pytest.mark.parametrize(("kind", "expected"), [
    ("relu", [0, 0, 7]), ("relu6", [0, 0, 6]), ("sigmoid", [0.25, 0.5, 1 / (1 + math.exp(-7))]),
    ("tanh", [-0.8, 0, math.tanh(7)]), ("swish", [-0.25 * math.log(3), 0, 7 / (1 + math.exp(-7))])])
def test_activations(kind, expected):
    x = channels(-math.log(3), 0, 7)                                    # sigmoid(-log 3) = 1/4, tanh(-log 3) = -4/5
    assert expected == pytest.approx(out_of((Act(kind),), x).ravel().tolist(), abs=1e-15)


def test_cross_entropy_is_the_batch_s_mean_and_finite_for_great_logits():
    logits = np.log([[1.0, 3.0], [1.0, 1.0]])                           # shares 1/4, 3/4 and 1/2, 1/2
    assert (math.log(4) + math.log(2)) / 2 == pytest.approx(model.cross_entropy(logits, np.array([0, 1])))
    assert 2000 == model.cross_entropy(np.array([[1000.0, -1000.0]]), np.array([1]))


@pytest.mark.parametrize("task", ["lenet5", "resnet18_cifar", "mobilenetv2"])
def test_every_place_comes_out_in_the_shape_that_the_table_says(task):
    cell = Cell("here", task, "check", batch=2, image=tasks.TASKS[task].least)
    table, shape = tasks.table(task, cell.classes), tasks.input_shape(cell.image)
    reference = numpy.Workload(table, cell)
    reference.load(weights.seeded(layers.parameters(table, shape), 1))

    activations = reference.activations(data.synthetic(cell).images)

    expected = [(place.path, (2, *place.out)) for place in layers.leaves(table, shape)]
    assert expected == [(path, array.shape) for path, array in activations.items()]


def test_images_are_taken_from_bytes_to_minus_one_to_one():
    cell = Cell("here", "lenet5", "check", batch=1, image=1, classes=2)
    reference = numpy.Workload((Flatten(),), cell)
    images = np.array([0, 51, 255], dtype=np.uint8).reshape(1, 3, 1, 1)
    assert [-1, -0.6, 1] == pytest.approx(reference.logits(images)[0].tolist())


def encoder_arrays(**changed):
    """Of tokens of two numbers and three inner ones, all of whose weights but the norms' are zero."""
    shapes = dict(layers.arrays(Encoder(1, 3), (2, 2)))
    arrays = {name: np.full(shape, float(name.endswith("gamma"))) for name, shape in shapes.items()}
    arrays.update({name.replace("_", "."): np.array(array, float) for name, array in changed.items()})
    return {"0." + name: array for name, array in arrays.items()}


def test_attention_mixes_values_by_the_softmax_of_scaled_products():
    c = math.sqrt(2.0) * math.log(3.0) / 2              # scores of ln 3 / 2 to oneself, - ln 3 / 2 to the other: 3 to 1
    arrays = encoder_arrays(attention_query_weight=[[c, 0], [0, 0]], attention_key_weight=[[1, 0], [0, 0]],
                            attention_value_weight=[[1, 0], [0, 0]], attention_output_weight=np.eye(2))
    out = out_of((Encoder(1, 3, epsilon=0.0),), [[[1, -1], [-1, 1]]], arrays)       # as normalised: mean 0, variance 1
    assert [1.5, -1, -1.5, 1] == pytest.approx(out.ravel().tolist())


@pytest.mark.parametrize(("gelu", "expected"), [("erf", 0.8413447460685429), ("tanh", 0.8411919906082768)])
def test_the_feed_forward_part_is_added(gelu, expected):
    arrays = encoder_arrays(inner_bias=[1, 0, 0], outer_weight=[[1, 0, 0], [0, 0, 0]], outer_bias=[0, 5])
    out = out_of((Encoder(1, 3, gelu, 0.0),), [[[1, -1], [-1, 1]]], arrays)         # gelu(1), by erf and by tanh
    assert [1 + expected, 4, -1 + expected, 6] == pytest.approx(out.ravel().tolist())


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
