"""The layers of image models in numpy, written to be read: float64, forward only. Python 3.6 and later."""
import math
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from workloads.spec import layers
from workloads.spec.models.transformer import PARTS


class Pass(NamedTuple):
    """One forward pass: the arrays by canonical name, the mode, and each leaf's output by its path."""

    weights: dict
    is_training: bool
    activations: dict


def run(table, x, done, path=""):
    """What comes out of a table on x (n, channels, height, width); every leaf's output is kept in done.activations."""
    for index, layer in enumerate(table):
        here = layers.join(path, index)
        x = _LAYERS[type(layer)](layer, x, done, here)
        done.activations[here] = x
    return x


def conv(layer, x, done, path):
    """Each group's windows as rows, times its kernels as columns."""
    weight = done.weights[path + ".weight"]
    seen = windows(padded(x, layer.pad, 0.0), layer.kernel, layer.stride)
    n, channels, height, width = seen.shape[:4]
    seen = seen.reshape((n, layer.groups, channels // layer.groups) + seen.shape[2:])
    rows = seen.transpose(1, 0, 3, 4, 2, 5, 6).reshape(layer.groups, n * height * width, -1)
    columns = weight.reshape(layer.groups, layer.filters // layer.groups, -1).transpose(0, 2, 1)
    out = np.matmul(rows, columns).reshape(layer.groups, n, height, width, -1)
    out = out.transpose(1, 0, 4, 2, 3).reshape(n, layer.filters, height, width)
    return out + channelwise(done.weights[path + ".bias"]) if layer.bias else out


def norm(layer, x, done, path):
    """By the batch's mean and biased variance while training, by the running ones in evaluation."""
    if done.is_training:
        mean, variance = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
    else:
        mean, variance = done.weights[path + ".mean"], done.weights[path + ".variance"]
    scale = done.weights[path + ".gamma"] / np.sqrt(variance + layer.epsilon)
    return (x - channelwise(mean)) * channelwise(scale) + channelwise(done.weights[path + ".beta"])


def act(layer, x, done, path):
    """The element-wise function by its name."""
    return _ACTS[layer.kind](x)


def pool(layer, x, done, path):
    """The greatest or the mean of each window; a mean counts padded pixels as zeros."""
    fill, reduced = (-np.inf, np.max) if layer.kind == "max" else (0.0, np.mean)
    seen = windows(padded(x, (layer.pad, layer.pad), fill), (layer.size, layer.size), layer.stride)
    return reduced(seen, axis=(4, 5))


def global_pool(layer, x, done, path):
    """The mean over height and width."""
    return x.mean(axis=(2, 3), keepdims=True)


def residual(layer, x, done, path):
    """The body's output plus the shortcut's."""
    body = run(layer.body, x, done, layers.join(path, "body"))
    return body + run(layer.shortcut, x, done, layers.join(path, "shortcut"))


def branch(layer, x, done, path):
    """The branches' outputs side by side in the channels."""
    return np.concatenate([run(inner, x, done, layers.join(path, i)) for i, inner in enumerate(layer.branches)], axis=1)


def squeeze_excite(layer, x, done, path):
    """x times a weight for each channel, computed from the channels' means."""
    squeezed = _ACTS[layer.act](_pointwise(x.mean(axis=(2, 3)), done, path + ".squeeze"))
    return x * sigmoid(_pointwise(squeezed, done, path + ".expand"))[:, :, None, None]


def _pointwise(x, done, path):
    """A 1x1 convolution of (n, channels)."""
    return x @ done.weights[path + ".weight"][:, :, 0, 0].T + done.weights[path + ".bias"]


def flatten(layer, x, done, path):
    """Channels first, then rows, then columns."""
    return x.reshape(len(x), -1)


def dropout(layer, x, done, path):
    """x itself: off in both modes, as it is in every check."""
    return x


def dense(layer, x, done, path):
    """The product with the transposed weight (out, in), plus bias."""
    return _densed(x, done, path)


def tokens(layer, x, done, path):
    """(n, 1 + pixels, channels): the learned first token, then the pixels row after row, with their positions."""
    pixels = x.reshape(x.shape[0], x.shape[1], -1).transpose(0, 2, 1)
    first = np.repeat(done.weights[path + ".first.weight"][None], len(x), axis=0)
    return np.concatenate([first, pixels], axis=1) + done.weights[path + ".positions.weight"]


def encoder(layer, x, done, path):
    """Attention of every token over all, then the feed-forward part; each is added to what it was normalised from."""
    mixed = _attended(layer, _normed(layer, x, done, path + ".attention.norm"), done, path + ".attention")
    x = x + _densed(mixed, done, path + ".attention.output")
    inner = _densed(_normed(layer, x, done, path + ".norm"), done, path + ".inner")
    return x + _densed(_GELUS[layer.gelu](inner), done, path + ".outer")


def _attended(layer, x, done, path):
    """The values of all tokens, mixed by each head's shares."""
    n, count, width = x.shape
    split = (_densed(x, done, path + "." + part).reshape(n, count, layer.heads, -1) for part in PARTS)
    query, key, value = (part.transpose(0, 2, 1, 3) for part in split)
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = shares / shares.sum(axis=-1, keepdims=True) @ value
    return mixed.transpose(0, 2, 1, 3).reshape(n, count, width)


def layer_norm(layer, x, done, path):
    """Each token with mean 0 and variance 1."""
    return _normed(layer, x, done, path)


def _normed(layer, x, done, path):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return ((x - mean) / np.sqrt(variance + layer.epsilon) * done.weights[path + ".gamma"]
            + done.weights[path + ".beta"])


def _densed(x, done, path):
    return x @ done.weights[path + ".weight"].T + done.weights[path + ".bias"]


def first(layer, x, done, path):
    """(n, channels)."""
    return x[:, 0]


def padded(x, pad, fill):
    """x with pad (rows, columns) pixels of fill on both sides."""
    return np.pad(x, ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1])), mode="constant", constant_values=fill)


def windows(x, kernel, stride):
    """A view (n, channels, rows, columns, kernel rows, kernel columns) of every window that fits into x."""
    n, channels, height, width = x.shape
    shape = (n, channels, (height - kernel[0]) // stride + 1, (width - kernel[1]) // stride + 1) + tuple(kernel)
    step = x.strides
    return as_strided(x, shape, step[:2] + (step[2] * stride, step[3] * stride) + step[2:], writeable=False)


def channelwise(values):
    """Values (channels,) as (1, channels, 1, 1)."""
    return values.reshape(1, -1, 1, 1)


def sigmoid(x):
    """1 / (1 + exp(-x)), through tanh, which does not overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def cross_entropy(logits, labels):
    """The mean over the batch of -log softmax(logits)[label]."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]))


_ACTS: dict = {"relu": lambda x: np.maximum(x, 0.0), "relu6": lambda x: np.clip(x, 0.0, 6.0), "tanh": np.tanh,
               "swish": lambda x: x * sigmoid(x), "sigmoid": sigmoid}
_GELUS = {"erf": lambda x: 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0))),
          "tanh": lambda x: 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x ** 3)))}
_LAYERS = {layers.Conv: conv, layers.Norm: norm, layers.Act: act, layers.Pool: pool, layers.GlobalPool: global_pool,
           layers.Residual: residual, layers.Branch: branch, layers.SqueezeExcite: squeeze_excite,
           layers.Flatten: flatten, layers.Dropout: dropout, layers.Dense: dense, layers.Tokens: tokens,
           layers.Encoder: encoder, layers.LayerNorm: layer_norm, layers.First: first}
