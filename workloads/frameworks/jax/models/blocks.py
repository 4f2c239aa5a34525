"""What the sequence models are made of, in JAX; the same functions as in the other frameworks' blocks.py.

Weights are found by canonical name in a dict; x is (batch, time, numbers) unless a function says otherwise.
"""
import math

import jax
import jax.numpy as jnp
from jax import lax

from workloads.frameworks.forward_pass import Mode as PlainMode


class Mode(PlainMode):
    """With the key of dropout, the type of products, and the running statistics that the pass leaves."""

    def __init__(self, lstm, is_training, key=None, numbers=None, kept=None, attention="plain"):
        """key: of dropout, None for none. numbers: what products are made in, None for the weights' own type.

        statistics: the new running ones by name. attention: as settings.attention says.
        """
        super().__init__(lstm, is_training, is_training and key is not None, kept, attention)
        self.numbers, self.statistics = numbers, {}
        self._key, self._drawn = key, 0

    def key(self):
        """Another key for each place that draws."""
        self._drawn += 1
        return jax.random.fold_in(self._key, self._drawn)

    def cast(self, *arrays):
        """The arrays in the type that products are made in."""
        return arrays if self.numbers is None else tuple(array.astype(self.numbers) for array in arrays)


@jax.named_scope("dense")
def dense(weights, name, x, mode):
    """x times name.weight (out, in) plus name.bias."""
    x = linear(weights, name, x, mode)
    return x + weights[name + ".bias"].astype(x.dtype)


@jax.named_scope("dense")
def linear(weights, name, x, mode):
    """x times name.weight (out, in)."""
    if mode.is_training or x.shape[-2:-1] != (1,):
        return matmul(x, weights[name + ".weight"].T, mode)
    x, weight = mode.cast(x, weights[name + ".weight"])      # of one row XLA would transpose the weight in each call
    return lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))


def matmul(left, right, mode):
    """The product of matrices, over what comes before them."""
    return jnp.matmul(*mode.cast(left, right))


@jax.named_scope("embedding")
def embedding(weights, name, ids):
    """The row of name.weight (ids, numbers) for each id: one dimension more than ids."""
    return weights[name + ".weight"].at[ids].get(mode="promise_in_bounds")


@jax.named_scope("norm")
def layer_norm(weights, name, x, epsilon):
    """x with mean 0 and variance 1 over its last dimension, times name.gamma plus name.beta."""
    gamma, beta = weights[name + ".gamma"], weights[name + ".beta"]
    wide = x.astype(gamma.dtype)
    mean, variance = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
    return (wide - mean) * lax.rsqrt(variance + epsilon) * gamma + beta


@jax.named_scope("gelu")
def gelu(x):
    """x times the normal distribution's share below x, by erf."""
    return jax.nn.gelu(x, approximate=False)


@jax.named_scope("norm")
def batch_norm(weights, name, x, epsilon, decay, mode, axis=-1):
    """x with mean 0 and variance 1 over all axes but one, times name.gamma plus name.beta.

    Running statistics keep decay of their old value; the running variance is the biased one, of n values.
    """
    gamma, beta, mean, variance = (weights[name + "." + kind] for kind in ("gamma", "beta", "mean", "variance"))
    axis %= x.ndim
    wide = x.astype(gamma.dtype)
    if mode.is_training:
        others = tuple(each for each in range(x.ndim) if each != axis)
        seen = wide.mean(others), wide.var(others)
        mode.statistics[name + ".mean"] = decay * mean + (1 - decay) * seen[0]
        mode.statistics[name + ".variance"] = decay * variance + (1 - decay) * seen[1]
        mean, variance = seen
    shape = [-1 if each == axis else 1 for each in range(x.ndim)]
    scale = gamma * lax.rsqrt(variance + epsilon)
    return ((wide - mean.reshape(shape)) * scale.reshape(shape) + beta.reshape(shape)).astype(x.dtype)


@jax.named_scope("conv")
def conv2d(weights, name, x, stride, pad, mode):
    """The convolution of x (batch, in, height, width) with name.weight (out, in, height, width), plus name.bias."""
    return _conv(weights, name, x, stride, pad, ("NCHW", "OIHW", "NCHW"), mode)


@jax.named_scope("conv")
def conv1d(weights, name, x, pad, mode):
    """The convolution of x (batch, channels, time) with name.weight (out, in, taps), plus name.bias."""
    return _conv(weights, name, x, (1,), (pad,), ("NCH", "OIH", "NCH"), mode)


def _conv(weights, name, x, stride, pad, dimensions, mode):
    x, kernel = mode.cast(x, weights[name + ".weight"])
    x = lax.conv_general_dilated(x, kernel, stride, [(each, each) for each in pad], dimension_numbers=dimensions)
    return x + weights[name + ".bias"].astype(x.dtype).reshape((-1,) + (1,) * len(pad))


def masked(x, lengths, axis):
    """x (batch, ...) with zeros past each sample's length along the axis."""
    shape = [1] * x.ndim
    shape[0], shape[axis] = x.shape[0], x.shape[axis]
    return x * (jnp.arange(x.shape[axis]) < lengths[:, None]).reshape(shape).astype(x.dtype)


@jax.named_scope("dropout")
def dropout(x, rate, mode):
    """Zeroes a share of x where the mode has dropout, and makes the rest larger."""
    if not (mode.has_dropout and rate):
        return x
    return jnp.where(jax.random.bernoulli(mode.key(), 1 - rate, x.shape), x / (1 - rate), jnp.zeros_like(x))


@jax.named_scope("attention")
def attention(query, key, value, heads, bias, rate, mode):
    """Attention of heads side by side, (batch, time, numbers), scaled by 1 / sqrt(numbers of a head).

    bias (batch, 1, 1, time of key) is added to the scores; rate is the dropout of their softmax.
    """
    query, key, value = (by_head(x, heads) for x in (query, key, value))
    scores = matmul(query / math.sqrt(query.shape[-1]), key.transpose(0, 1, 3, 2), mode)
    shares = jax.nn.softmax(scores + bias, -1)       # the bias is wide, so the softmax is, too
    mixed = matmul(dropout(shares, rate, mode), value, mode).transpose(0, 2, 1, 3)
    return mixed.reshape(mixed.shape[:2] + (-1,))


def by_head(x, heads):
    """(batch, heads, time, numbers of a head)."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def log_softmax(logits):
    """Their logarithms as shares of one; amp's logits are cast first."""
    return jax.nn.log_softmax(logits.astype(jnp.float32) if logits.dtype == jnp.bfloat16 else logits, -1)


@jax.named_scope("loss")
def cross_entropy(logits, labels, weights, smoothing=0.0):
    """The mean of -log p(label) by weights: logits (n, classes), labels and weights (n,).

    A share smoothing of each is the mean of -log p over all classes instead.
    """
    log_p = log_softmax(logits)
    losses = -jnp.take_along_axis(log_p, labels[:, None], -1)[:, 0]
    if smoothing:
        losses = (1 - smoothing) * losses - smoothing * log_p.mean(-1)
    return (losses * weights).sum() / weights.sum()
