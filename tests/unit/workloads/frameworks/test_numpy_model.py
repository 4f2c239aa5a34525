"""The numpy reference against values worked out by hand."""
import math

import numpy as np
import pytest

from workloads.frameworks import numpy
from workloads.frameworks.numpy import model
from workloads.inputs import images as data
from workloads.inputs import weights
from workloads.spec import layers, tasks
from workloads.spec.cell import Cell
from workloads.spec.layers import (
    Act,
    Branch,
    Conv,
    Dense,
    Dropout,
    Encoder,
    First,
    Flatten,
    GlobalPool,
    LayerNorm,
    Norm,
    Pool,
    Residual,
    SqueezeExcite,
    Tokens,
)

NINE = np.arange(1.0, 10.0).reshape(1, 1, 3, 3)      # 1 2 3 / 4 5 6 / 7 8 9


def out_of(table, x, arrays=None, is_training=True):
    """What a table makes of x with arrays by name."""
    held = {name: np.array(array, dtype=np.float64) for name, array in (arrays or {}).items()}
    return model.run(table, np.asarray(x, dtype=np.float64), model.Pass(held, is_training, {}))


def channels(*values):
    """One image of one pixel with these channels."""
    return np.array(values, dtype=np.float64).reshape(1, -1, 1, 1)


def test_a_convolution_does_not_turn_its_kernel():
    out = out_of((Conv(1, (2, 2)),), NINE, {"0.weight": [[[[1, 10], [100, 1000]]]]})
    assert [[[[5421, 6532], [8754, 9865]]]] == out.tolist()


def test_a_convolution_takes_every_other_window_of_the_padded_image_and_adds_its_bias():
    out = out_of((Conv(1, (3, 3), 2, (1, 1), bias=True),), NINE, {"0.weight": np.ones((1, 1, 3, 3)), "0.bias": [0.5]})
    assert [[[[12.5, 16.5], [24.5, 28.5]]]] == out.tolist()


def test_a_row_kernel_is_padded_along_rows_only():
    out = out_of((Conv(1, (1, 3), 1, (0, 1)),), NINE, {"0.weight": [[[[1, 1, 1]]]]})
    assert [[[[3, 6, 5], [9, 15, 11], [15, 24, 17]]]] == out.tolist()


def test_a_group_of_filters_sees_its_own_channels_only():
    kernels = np.array([[1, 10], [2, 20], [3, 30], [4, 40]]).reshape(4, 2, 1, 1)
    out = out_of((Conv(4, (1, 1), groups=2),), channels(1, 2, 3, 4), {"0.weight": kernels})
    assert [21, 42, 129, 172] == out.ravel().tolist()


def test_normalisation_in_training_is_by_the_batchs_biased_variance():
    x = np.array([1.0, 3.0]).reshape(2, 1, 1, 1)                        # mean 2, variance 1
    arrays = {"0.gamma": [4], "0.beta": [10], "0.mean": [7], "0.variance": [9]}
    assert [8, 12] == pytest.approx(out_of((Norm(epsilon=3.0),), x, arrays).ravel().tolist())


def test_normalisation_in_evaluation_is_by_the_running_statistics():
    arrays = {"0.gamma": [4], "0.beta": [10], "0.mean": [7], "0.variance": [1]}
    assert [-2, 12] == out_of((Norm(epsilon=3.0),), [[[[1.0]]], [[[8.0]]]], arrays, is_training=False).ravel().tolist()


@pytest.mark.parametrize(("kind", "expected"), [
    ("relu", [0, 0, 7]), ("relu6", [0, 0, 6]), ("sigmoid", [0.25, 0.5, 1 / (1 + math.exp(-7))]),
    ("tanh", [-0.8, 0, math.tanh(7)]), ("swish", [-0.25 * math.log(3), 0, 7 / (1 + math.exp(-7))])])
def test_activations(kind, expected):
    x = channels(-math.log(3), 0, 7)                                    # sigmoid(-log 3) = 1/4, tanh(-log 3) = -4/5
    assert expected == pytest.approx(out_of((Act(kind),), x).ravel().tolist(), abs=1e-15)


def test_a_sigmoid_of_a_great_number_does_not_overflow():
    assert [0, 1] == out_of((Act("sigmoid"),), channels(-1e4, 1e4)).ravel().tolist()


def test_padding_never_is_the_greatest():
    assert [[[[-9, -7], [-3, -1]]]] == out_of((Pool("max", 2, 2, pad=1),), NINE - 10).tolist()


def test_a_mean_counts_padding_as_zeros():
    assert [[[[0.25, 1.25], [2.75, 7]]]] == out_of((Pool("mean", 2, 2, pad=1),), NINE).tolist()


def test_a_pools_rest_is_left_out():
    assert [[[[5]]]] == out_of((Pool("max", 2, 2),), NINE).tolist()


def test_the_global_pool_is_the_mean_of_all_pixels():
    assert [[[[5]]]] == out_of((GlobalPool(),), NINE).tolist()


def test_an_empty_shortcut_is_the_input_itself():
    assert [3, 4] == out_of((Residual((Act(),)),), channels(1.5, 2)).ravel().tolist()


def test_a_shortcut_is_added_to_the_body():
    arrays = {"0.body.0.weight": [[[[2]]]], "0.shortcut.0.weight": [[[[30]]]]}
    table = (Residual((Conv(1, (1, 1)),), (Conv(1, (1, 1)),)),)
    assert [96] == out_of(table, channels(3), arrays).ravel().tolist()


def test_branches_stand_side_by_side_in_their_order():
    table = (Branch(((Act("relu"),), (), (Pool("max", 1, 1), Act("relu6")))),)
    assert [0, 8, -1, 8, 0, 6] == out_of(table, channels(-1, 8)).ravel().tolist()


def test_squeeze_and_excite_scales_channels_by_what_their_means_become():
    x = np.array([[[[1.0, 3.0]], [[0.0, 2.0]]]])                        # means 2 and 1
    arrays = {"0.squeeze.weight": [[[[1]], [[-1]]]], "0.squeeze.bias": [-2], "0.expand.weight": [[[[5]]], [[[0]]]],
              "0.expand.bias": [0, math.log(3)]}                        # relu(2 - 1 - 2) = 0, so 1/2 and 3/4
    assert [[[[0.5, 1.5]], [[0, 1.5]]]] == pytest.approx(out_of((SqueezeExcite(1, "relu"),), x, arrays))


def test_flatten_puts_channels_before_pixels():
    x = np.arange(8.0).reshape(1, 2, 2, 2)
    assert [list(range(8))] == out_of((Flatten(),), x).tolist()


def test_a_dense_layer_has_a_row_a_unit():
    arrays = {"0.weight": [[1, 2], [3, 4], [5, 6]], "0.bias": [100, 200, 300]}
    assert [[121, 243, 365]] == out_of((Dense(3),), [[1, 10]], arrays).tolist()


def test_dropout_is_off_in_both_modes():
    for is_training in (True, False):
        assert [1, 2] == out_of((Dropout(0.5),), channels(1, 2), is_training=is_training).ravel().tolist()


def test_cross_entropy_is_the_batchs_mean():
    logits = np.log([[1.0, 3.0], [1.0, 1.0]])                           # shares 1/4, 3/4 and 1/2, 1/2
    assert (math.log(4) + math.log(2)) / 2 == pytest.approx(model.cross_entropy(logits, np.array([0, 1])))


def test_cross_entropy_of_great_logits_is_finite():
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


def test_pixels_become_tokens_behind_the_first_one_with_their_positions():
    x = np.array([1.0, 2.0]).reshape(1, 1, 1, 2)
    out = out_of((Tokens(),), x, {"0.first.weight": [[10]], "0.positions.weight": [[100], [200], [300]]})
    assert [[[110], [201], [302]]] == out.tolist()
    assert [[110]] == out_of((Tokens(), First()), x, {"0.first.weight": [[10]],
                                                      "0.positions.weight": [[100], [200], [300]]}).tolist()


def test_a_token_is_normalised_by_its_own_numbers():
    out = out_of((LayerNorm(epsilon=3.0),), [[[1, 3], [5, 7]]], {"0.gamma": [4, 4], "0.beta": [10, 10]})  # variance 1
    assert [[[8, 12], [8, 12]]] == out.tolist()


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
