"""A table of layers as pure functions of arrays, named by the table's paths. JAX 0.10 and later.

Convolutions' weights are (height, width, in, out) in the layout nhwc, as XLA takes them, canonical in nchw.
"""
import contextlib
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.frameworks.jax.models import blocks, transformer
from workloads.spec import layers
from workloads.spec.models.transformer import Form as Layer

_OWN = {"nhwc": (2, 3, 1, 0), "nchw": (0, 1, 2, 3)}               # of a canonical convolution's weight
_CANONICAL = {"nhwc": (3, 2, 0, 1), "nchw": (0, 1, 2, 3)}
_DIMENSIONS = {"nhwc": ("NHWC", "HWIO", "NHWC"), "nchw": ("NCHW", "OIHW", "NCHW")}


class Form(NamedTuple):
    """In which form a net is computed, training or not."""

    layout: str
    numbers: Any                  # what products are made in, None for the weights' own type
    has_own_depthwise: bool       # as a sum of shifted products: on a CPU XLA's grouped convolution is no kernel
    attention: str = "plain"      # as settings.attention says


class Mode(blocks.Mode):
    """How a pass through a table's layers is made: by no LSTM, in a Form."""

    def __init__(self, form, is_training, key=None, kept=None):
        """form: a Form. key: of dropout, None for none."""
        super().__init__(None, is_training, key, form.numbers, kept, form.attention)
        self.layout, self.has_own_depthwise = form.layout, form.has_own_depthwise

    @property
    def channels(self):
        """The axis of an image's channels."""
        return 3 if self.layout == "nhwc" else 1

    @property
    def filters(self):
        """The axis of a kernel's filters."""
        return 3 if self.layout == "nhwc" else 0

    @property
    def sides(self):
        """The axes of an image's height and width."""
        return (1, 2) if self.layout == "nhwc" else (2, 3)


def own(array, layout):
    """A canonical array of weights in the net's order; a view."""
    return array.transpose(_OWN[layout]) if array.ndim == 4 else array


def canonical(array, layout):
    """The net's array of weights in the canonical order; a view."""
    return array.transpose(_CANONICAL[layout]) if array.ndim == 4 else array


def images(array, layout):
    """Canonical images, or an activation's values, in the layout's order: contiguous."""
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1)) if layout == "nhwc" and array.ndim == 4 else array


def channels_first(array, layout):
    """What images has changed, changed back; a view."""
    return array.transpose(0, 3, 1, 2) if layout == "nhwc" and array.ndim == 4 else array


def forward(table, weights, x, mode, path=""):
    """What comes out of a table for x, a batch in the mode's layout; weights are by canonical name."""
    for index, layer in enumerate(table):
        here = layers.join(path, index)
        with _scope(layer):
            x = mode.keep(here, _LAYERS[type(layer)](layer, weights, here, x, mode))
    return x


def _scope(layer):
    """What a profiler calls the layer's operations by; of layers that hold others, those' own."""
    if isinstance(layer, (layers.Residual, layers.Branch)):
        return contextlib.nullcontext()
    return jax.named_scope(layer.kind if isinstance(layer, layers.Act) else _LAYERS[type(layer)].__name__)


def _product(x, kernel, mode, stride=1, pad=(0, 0), groups=1):
    x, kernel = mode.cast(x, kernel)
    if mode.has_own_depthwise and groups > 1 and groups == x.shape[mode.channels] == kernel.shape[mode.filters]:
        return _depthwise(x, kernel, mode, stride, pad)
    return lax.conv_general_dilated(x, kernel, (stride, stride), [(pad[0], pad[0]), (pad[1], pad[1])],
                                    dimension_numbers=_DIMENSIONS[mode.layout], feature_group_count=groups)


def _depthwise(x, kernel, mode, stride, pad):
    """The convolution of each channel by itself, as the sum of what each of the kernel's numbers adds.

    XLA fuses it into one loop. Its own grouped convolution took 11 times as long on a CPU (jaxlib 0.10.2, 3x3 over 96
    channels of 56 pixels), its gradients 15 and 3 times.
    """
    rows, columns = mode.sides
    x = jnp.pad(x, [(pad[axis - rows],) * 2 if axis in mode.sides else (0, 0) for axis in range(4)])
    taps = kernel.reshape(kernel.shape[:2] + (-1,)) if mode.layout == "nhwc" else kernel[:, 0].transpose(1, 2, 0)
    height, width = taps.shape[:2]
    total = 0
    for top in range(height):
        for left in range(width):
            part = lax.slice_in_dim(x, top, x.shape[rows] - height + top + 1, stride, rows)
            part = lax.slice_in_dim(part, left, x.shape[columns] - width + left + 1, stride, columns)
            total = total + part * _by_channel(taps[top, left], mode)
    return total


def _by_channel(array, mode):
    """An array of channels, to be added to images or multiplied with them."""
    return array if mode.layout == "nhwc" else array[:, None, None]


def conv(layer, weights, path, x, mode):
    """The convolution."""
    x = _product(x, weights[path + ".weight"], mode, layer.stride, layer.pad, layer.groups)
    return x + _by_channel(weights[path + ".bias"], mode).astype(x.dtype) if layer.bias else x


def norm(layer, weights, path, x, mode):
    """Batch normalisation, in the weights' own type; the running variance is the biased one."""
    gamma, beta, mean, variance = (weights[path + "." + kind] for kind in ("gamma", "beta", "mean", "variance"))
    wide = x.astype(gamma.dtype)
    if mode.is_training:
        axes = (0,) + mode.sides
        seen = wide.mean(axes), wide.var(axes)
        mode.statistics[path + ".mean"] = layer.decay * mean + (1 - layer.decay) * seen[0]
        mode.statistics[path + ".variance"] = layer.decay * variance + (1 - layer.decay) * seen[1]
        mean, variance = seen
    scale = gamma * lax.rsqrt(variance + layer.epsilon)
    return ((wide - _by_channel(mean, mode)) * _by_channel(scale, mode) + _by_channel(beta, mode)).astype(x.dtype)


def act(layer, weights, path, x, mode):
    """The activation."""
    return _ACTIVATIONS[layer.kind](x)


_ACTIVATIONS = {"relu": jax.nn.relu, "relu6": jax.nn.relu6, "tanh": jnp.tanh, "swish": jax.nn.swish,
                "sigmoid": jax.nn.sigmoid}


def pool(layer, weights, path, x, mode):
    """Pooling; a mean counts padded pixels as zeros."""
    window = _of_sides(mode, layer.size, 1)
    strides, pads = _of_sides(mode, layer.stride, 1), _of_sides(mode, (layer.pad, layer.pad), (0, 0))
    if layer.kind == "max":
        return lax.reduce_window(x, -np.inf, lax.max, window, strides, pads)
    return lax.reduce_window(x, 0.0, lax.add, window, strides, pads) / layer.size ** 2


def _of_sides(mode, value, other):
    """The value for each of an image's sides, the other one for its remaining axes."""
    return tuple(value if axis in mode.sides else other for axis in range(4))


def global_pool(layer, weights, path, x, mode):
    """The mean over height and width."""
    return x.mean(mode.sides, keepdims=True)


def residual(layer, weights, path, x, mode):
    """body(x) + shortcut(x)."""
    return (forward(layer.body, weights, x, mode, layers.join(path, "body"))
            + forward(layer.shortcut, weights, x, mode, layers.join(path, "shortcut")))


def branch(layer, weights, path, x, mode):
    """The branches' outputs, concatenated along the channels."""
    return jnp.concatenate([forward(inner, weights, x, mode, layers.join(path, index))
                            for index, inner in enumerate(layer.branches)], mode.channels)


def squeeze_excite(layer, weights, path, x, mode):
    """x times a weight for each channel."""
    y = x.mean(mode.sides, keepdims=True)
    for part in ("squeeze", "expand"):
        y = _product(y, weights["%s.%s.weight" % (path, part)], mode)
        y = y + _by_channel(weights["%s.%s.bias" % (path, part)], mode).astype(y.dtype)
        y = _ACTIVATIONS[layer.act](y) if part == "squeeze" else jax.nn.sigmoid(y)
    return y * x


def flatten(layer, weights, path, x, mode):
    """Channels first."""
    x = x.transpose(0, 3, 1, 2) if mode.layout == "nhwc" and x.ndim == 4 else x
    return x.reshape(x.shape[0], -1)


def dropout(layer, weights, path, x, mode):
    """Zeroes a share of x, and makes the rest larger."""
    if not mode.has_dropout:
        return x
    kept = jax.random.bernoulli(mode.key(), 1 - layer.rate, x.shape)
    return jnp.where(kept, x / (1 - layer.rate), jnp.zeros_like(x))


def dense(layer, weights, path, x, mode):
    """x times the weight (units, in), plus the bias."""
    x, weight = mode.cast(x, weights[path + ".weight"])
    x = lax.dot_general(x, weight, (((1,), (1,)), ((), ())))
    return x + weights[path + ".bias"].astype(x.dtype)


def tokens(layer, weights, path, x, mode):
    """The pixels row after row, behind a learned first token, with learned positions."""
    x = x if mode.layout == "nhwc" else x.transpose(0, 2, 3, 1)
    pixels = x.reshape(x.shape[0], -1, x.shape[-1])
    learned = weights[path + ".first.weight"].astype(x.dtype)
    return (jnp.concatenate([jnp.broadcast_to(learned, (x.shape[0],) + learned.shape), pixels], 1)
            + weights[path + ".positions.weight"])


def encoder(layer, weights, path, x, mode):
    """A pre-norm transformer layer in which every token sees all."""
    form = Layer(layer.heads, layer.gelu, layer.epsilon)
    return transformer.layer(weights, path, x, form, mode, functools.partial(transformer.attention, mode=mode))


def layer_norm(layer, weights, path, x, mode):
    """Each token with mean 0 and variance 1."""
    return blocks.layer_norm(weights, path, x, layer.epsilon)


def first(layer, weights, path, x, mode):
    """(n, numbers)."""
    return x[:, 0]


_LAYERS = {layers.Conv: conv, layers.Norm: norm, layers.Act: act, layers.Pool: pool, layers.GlobalPool: global_pool,
           layers.Residual: residual, layers.Branch: branch, layers.SqueezeExcite: squeeze_excite,
           layers.Flatten: flatten, layers.Dropout: dropout, layers.Dense: dense, layers.Tokens: tokens,
           layers.Encoder: encoder, layers.LayerNorm: layer_norm, layers.First: first}
