"""What the sequence models are made of, in MXNet; the same functions as in the other frameworks' blocks.py.

Weights are found by canonical name in a dict; x is (batch, time, numbers) unless a function says otherwise.
MXNet 1.7 and 1.9.
"""
import math

import mxnet as mx
import numpy as np
from mxnet import autograd

from workloads.frameworks.mxnet.graphs import ops


def dense(weights, name, x):
    """x times name.weight (out, in) plus name.bias."""
    weight = weights[name + ".weight"]
    return ops.FullyConnected(x, weight, weights[name + ".bias"], num_hidden=weight.shape[0], flatten=False)


def batch_norm(weights, name, x, epsilon, decay, mode, axis=-1):
    """x with mean 0 and variance 1 over all axes but one, times name.gamma plus name.beta.

    Running statistics keep decay of their old value; the running variance is the biased one, of n values.
    """
    gamma, beta, mean, variance = (weights[name + "." + kind] for kind in ("gamma", "beta", "mean", "variance"))
    if not mode.is_training:
        return mx.nd.BatchNorm(x, gamma, beta, mean, variance, eps=epsilon, fix_gamma=False, use_global_stats=True,
                               axis=axis)
    # MXNet's own update is the same, but with decay rounded to float32, and it comes with the backward pass only
    normed, seen_mean, scale = mx.nd.BatchNorm(x, gamma, beta, mx.nd.zeros_like(mean), mx.nd.zeros_like(variance),
                                              eps=epsilon, fix_gamma=False, axis=axis, output_mean_var=True)
    with autograd.pause():
        mean[:] = decay * mean + (1 - decay) * seen_mean
        variance[:] = decay * variance + (1 - decay) * (1 / mx.nd.square(scale) - epsilon)    # 1 / sqrt(it + epsilon)
    return normed


def conv2d(weights, name, x, stride, pad):
    """The convolution of x (batch, in, height, width) with name.weight (out, in, height, width), plus name.bias."""
    return _convolved(x, weights[name + ".weight"], weights[name + ".bias"], stride, pad)


def conv1d(weights, name, x, pad):
    """The convolution of x (batch, in, time) with name.weight (out, in, taps), plus name.bias.

    As one of two dimensions: in MXNet 1.9 what oneDNN makes of one cannot go backward through BatchNorm ("!is_view").
    """
    weight = weights[name + ".weight"].expand_dims(2)
    return _convolved(x.expand_dims(2), weight, weights[name + ".bias"], (1, 1), (0, pad)).squeeze(axis=2)


def _convolved(x, weight, bias, stride, pad):
    return mx.nd.Convolution(x, weight, bias, kernel=weight.shape[2:], stride=stride, pad=pad,
                             num_filter=weight.shape[0])


def masked(x, lengths, axis):
    """x (batch, ...) with zeros past each sample's length along the axis."""
    steps = mx.nd.arange(x.shape[axis], ctx=x.context, dtype=x.dtype).expand_dims(0)
    shape = [x.shape[0]] + [1] * (len(x.shape) - 1)
    shape[axis] = x.shape[axis]
    return x * mx.nd.broadcast_lesser(steps, lengths.astype(x.dtype).expand_dims(1)).reshape(shape)


def dropout(x, rate, mode):
    """Zeroes a share of x where the mode has dropout."""
    return ops.Dropout(x, rate, mode="always") if mode.has_dropout and rate else x


def linear(weights, name, x):
    """x times name.weight (out, in)."""
    weight = weights[name + ".weight"]
    return ops.FullyConnected(x, weight, num_hidden=weight.shape[0], no_bias=True, flatten=False)


def embedding(weights, name, ids):
    """The row of name.weight (ids, numbers) for each id: one dimension more than ids."""
    weight = weights[name + ".weight"]
    return ops.Embedding(ids, weight, input_dim=weight.shape[0], output_dim=weight.shape[1], dtype=weight.dtype)


def layer_norm(weights, name, x, epsilon):
    """x with mean 0 and variance 1 over its last dimension, times name.gamma plus name.beta."""
    return ops.LayerNorm(x, weights[name + ".gamma"], weights[name + ".beta"], axis=-1, eps=epsilon)


def gelu(x):
    """x times the normal distribution's share below x, by erf."""
    if x.dtype == np.float64:
        return x * _share_below(x)
    return ops.LeakyReLU(x, act_type="gelu")


def _share_below(x):
    """The normal distribution's share below x, in float64.

    MXNet's gelu computes in float32, and so does the gradient of its erf: the gradient here is that of a line through
    the share at x, whose slope is the density there.
    """
    fixed = ops.BlockGrad(x)
    density = ops.exp(-0.5 * fixed * fixed) / math.sqrt(2 * math.pi)
    return 0.5 * (1 + ops.erf(fixed / math.sqrt(2))) + density * (x - fixed)


def attention(query, key, value, heads, bias, rate, mode):
    """Attention of heads side by side, (batch, time, numbers), scaled by 1 / sqrt(numbers of a head).

    bias (batch, 1, 1, time of key) is added to the scores; rate is the dropout of their softmax.
    """
    scale = math.sqrt(query.shape[-1] // heads)
    query, key, value = (by_head(x, heads) for x in (query, key, value))
    scores = ops.batch_dot(query / scale, key, transpose_b=True)
    shares = ops.softmax(scores.reshape((-4, -1, heads, 0, 0)) + bias)
    mixed = ops.batch_dot(dropout(shares, rate, mode).reshape((-3, 0, 0)), value)
    return of_heads(mixed, heads)


def by_head(x, heads):
    """(batch * heads, time, numbers of a head), which batch_dot takes; of one time step nothing is moved."""
    if x.shape[1] == 1:
        return x.reshape((-1, 1, x.shape[2] // heads))
    return x.reshape((0, 0, heads, -1)).transpose((0, 2, 1, 3)).reshape((-3, 0, 0))


def of_heads(x, heads):
    """Back from by_head: (batch, time, numbers)."""
    if x.shape[1] == 1:
        return x.reshape((-1, 1, x.shape[2] * heads))
    return x.reshape((-4, -1, heads, 0, 0)).transpose((0, 2, 1, 3)).reshape((0, 0, -3))


def cross_entropy(logits, labels, weights, smoothing=0.0):
    """The mean of -log p(label) by weights: logits (n, classes), labels and weights (n,).

    A share smoothing of each is the mean of -log p over all classes instead.
    """
    log_p = ops.log_softmax(logits)
    losses = -ops.pick(log_p, labels)
    if smoothing:
        losses = (1 - smoothing) * losses - smoothing * log_p.mean(axis=-1)
    return (losses * weights).sum() / weights.sum()
