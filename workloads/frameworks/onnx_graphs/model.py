"""A table of layers (spec/layers.py) as an ONNX graph. Images are (n, channels, height, width)."""
import numpy as np

from workloads.frameworks.onnx_graphs.models import blocks
from workloads.spec import layers
from workloads.spec.models.transformer import PARTS


def forward(table, graph, x, path=""):
    """What comes out of a table for x; every layer's output is kept under its path. Dropout is left out."""
    for index, layer in enumerate(table):
        here = layers.join(path, index)
        x = graph.keep(here, _LAYERS[type(layer)](layer, graph, here, x))
    return x


def conv(layer, graph, path, x):
    """The convolution."""
    bias = (graph.weight(path + ".bias"),) if layer.bias else ()
    return graph.add("Conv", x, graph.weight(path + ".weight"), *bias, kernel_shape=layer.kernel, pads=layer.pad * 2,
                     strides=(layer.stride, layer.stride), group=layer.groups)


def norm(layer, graph, path, x):
    """Batch normalisation by the running statistics; by the batch's own where the graph is of training."""
    gamma, beta = graph.weight(path + ".gamma"), graph.weight(path + ".beta")
    if not graph.is_training:
        return graph.add("BatchNormalization", x, gamma, beta, graph.weight(path + ".mean"),
                         graph.weight(path + ".variance"), epsilon=layer.epsilon)
    centred = graph.add("Sub", x, _batch_mean(graph, x))
    variance = _batch_mean(graph, graph.add("Mul", centred, centred))
    deviation = graph.add("Sqrt", graph.add("Add", variance, np.float32(layer.epsilon)))
    scaled = graph.add("Mul", graph.add("Div", centred, deviation), _by_channel(graph, gamma))
    return graph.add("Add", scaled, _by_channel(graph, beta))


def _batch_mean(graph, x):
    return graph.add("ReduceMean", x, [0, 2, 3])


def _by_channel(graph, array):
    """An array of channels, to be added to images or multiplied with them."""
    return graph.add("Reshape", array, [1, -1, 1, 1])


def act(layer, graph, path, x):
    """The activation."""
    return _act(layer.kind, graph, x)


def _act(kind, graph, x):
    if kind == "swish":
        return graph.add("Mul", x, graph.add("Sigmoid", x))
    if kind == "relu6":
        return graph.add("Clip", x, np.float32(0), np.float32(6))
    return graph.add({"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}[kind], x)


def pool(layer, graph, path, x):
    """Pooling; a mean counts padded pixels as zeros."""
    window = {"kernel_shape": (layer.size,) * 2, "strides": (layer.stride,) * 2, "pads": (layer.pad,) * 4}
    if layer.kind == "max":
        return graph.add("MaxPool", x, **window)
    return graph.add("AveragePool", x, count_include_pad=1, **window)


def global_pool(layer, graph, path, x):
    """The mean over height and width."""
    return graph.add("GlobalAveragePool", x)


def residual(layer, graph, path, x):
    """The body's output plus the shortcut's."""
    body = forward(layer.body, graph, x, layers.join(path, "body"))
    return graph.add("Add", body, forward(layer.shortcut, graph, x, layers.join(path, "shortcut")))


def branch(layer, graph, path, x):
    """The branches' outputs side by side in the channels."""
    outputs = [forward(inner, graph, x, layers.join(path, index)) for index, inner in enumerate(layer.branches)]
    return graph.add("Concat", *outputs, axis=1)


def squeeze_excite(layer, graph, path, x):
    """x times a weight for each channel, computed from the channels' means."""
    squeezed = _act(layer.act, graph, _pointwise(graph, path + ".squeeze", graph.add("GlobalAveragePool", x)))
    return graph.add("Mul", x, graph.add("Sigmoid", _pointwise(graph, path + ".expand", squeezed)))


def _pointwise(graph, name, x):
    return graph.add("Conv", x, graph.weight(name + ".weight"), graph.weight(name + ".bias"))


def flatten(layer, graph, path, x):
    """Channels first, then rows, then columns."""
    return graph.add("Flatten", x)


def dropout(layer, graph, path, x):
    """x itself."""
    return x


def dense(layer, graph, path, x):
    """The product with the transposed weight (out, in), plus bias."""
    return graph.add("Gemm", x, graph.weight(path + ".weight"), graph.weight(path + ".bias"), transB=1)


def tokens(layer, graph, path, x):
    """(n, 1 + pixels, channels): the learned first token, then the pixels row after row, with their positions."""
    pixels = graph.add("Transpose", graph.add("Reshape", x, [0, 0, -1]), perm=(0, 2, 1))
    first = path + ".first.weight"
    shape = graph.add("Concat", graph.add("Shape", x, end=1), np.array(graph.weights[first].shape), axis=0)
    together = graph.add("Concat", graph.add("Expand", graph.weight(first), shape), pixels, axis=1)
    return graph.add("Add", together, graph.weight(path + ".positions.weight"))


def encoder(layer, graph, path, x):
    """Attention of every token over all, then the feed-forward part; each is added to what it was normalised from."""
    width = len(graph.weights[path + ".norm.gamma"])
    normed = blocks.layer_norm(graph, path + ".attention.norm", x, layer.epsilon)
    query, key, value = (blocks.dense(graph, path + ".attention." + part, normed) for part in PARTS)
    mixed = blocks.attention(graph, query, key, value, layer.heads, width)
    x = graph.add("Add", x, blocks.dense(graph, path + ".attention.output", mixed))
    inner = blocks.dense(graph, path + ".inner", blocks.layer_norm(graph, path + ".norm", x, layer.epsilon))
    return graph.add("Add", x, blocks.dense(graph, path + ".outer", blocks.gelu(graph, inner, layer.gelu)))


def layer_norm(layer, graph, path, x):
    """Each token with mean 0 and variance 1."""
    return blocks.layer_norm(graph, path, x, layer.epsilon)


def first(layer, graph, path, x):
    """(n, channels)."""
    return graph.add("Gather", x, 0, axis=1)


_LAYERS = {layers.Conv: conv, layers.Norm: norm, layers.Act: act, layers.Pool: pool, layers.GlobalPool: global_pool,
           layers.Residual: residual, layers.Branch: branch, layers.SqueezeExcite: squeeze_excite,
           layers.Flatten: flatten, layers.Dropout: dropout, layers.Dense: dense, layers.Tokens: tokens,
           layers.Encoder: encoder, layers.LayerNorm: layer_norm, layers.First: first}
