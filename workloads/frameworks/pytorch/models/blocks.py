"""What the sequence models are made of, in PyTorch; the same functions as in the other frameworks' blocks.py.

Weights are found by canonical name in a dict; x is (batch, time, numbers) unless a function says otherwise.
"""
import math

import torch
from torch import nn


def dense(weights, name, x):
    """x times name.weight (out, in) plus name.bias."""
    return nn.functional.linear(x, weights[name + ".weight"], weights[name + ".bias"])


def linear(weights, name, x):
    """x times name.weight (out, in)."""
    return nn.functional.linear(x, weights[name + ".weight"])


def embedding(weights, name, ids):
    """The row of name.weight (ids, numbers) for each id: one dimension more than ids."""
    return nn.functional.embedding(ids, weights[name + ".weight"])


def layer_norm(weights, name, x, epsilon):
    """x with mean 0 and variance 1 over its last dimension, times name.gamma plus name.beta."""
    return nn.functional.layer_norm(x, x.shape[-1:], weights[name + ".gamma"], weights[name + ".beta"], epsilon)


def gelu(x):
    """x times the normal distribution's share below x, by erf."""
    return nn.functional.gelu(x)


def batch_norm(weights, name, x, epsilon, decay, mode, axis=-1):
    """x with mean 0 and variance 1 over all axes but one, times name.gamma plus name.beta.

    Running statistics keep decay of their old value; the running variance is the biased one, of n values.
    """
    gamma, beta, mean, variance = (weights[name + "." + kind] for kind in ("gamma", "beta", "mean", "variance"))
    x = x.transpose(1, axis)
    if not mode.is_training:
        normed = nn.functional.batch_norm(x, mean, variance, gamma, beta, False, 0.0, epsilon)
        return normed.transpose(1, axis)
    # PyTorch's own running variance is n / (n - 1) times the batch's, so it is given one to forget
    seen_mean, seen_variance = torch.zeros_like(mean), torch.zeros_like(variance)
    normed = nn.functional.batch_norm(x, seen_mean, seen_variance, gamma, beta, True, 1.0, epsilon)
    count = x.numel() // x.shape[1]
    with torch.no_grad():
        mean.mul_(decay).add_(seen_mean * (1 - decay))
        variance.mul_(decay).add_(seen_variance * ((1 - decay) * (count - 1) / count))
    return normed.transpose(1, axis)


def conv2d(weights, name, x, stride, pad):
    """The convolution of x (batch, in, height, width) with name.weight (out, in, height, width), plus name.bias."""
    return nn.functional.conv2d(x, weights[name + ".weight"], weights[name + ".bias"], stride, pad)


def conv1d(weights, name, x, pad):
    """The convolution of x (batch, channels, time) with name.weight (out, in, taps), plus name.bias."""
    return nn.functional.conv1d(x, weights[name + ".weight"], weights[name + ".bias"], 1, pad)


def masked(x, lengths, axis):
    """x (batch, ...) with zeros past each sample's length along the axis."""
    steps = torch.arange(x.shape[axis], device=x.device)
    shape = [x.shape[0]] + [1] * (x.dim() - 1)
    shape[axis] = x.shape[axis]
    return x * (steps < lengths[:, None]).reshape(shape).to(x.dtype)


def dropout(x, rate, mode):
    """Zeroes a share of x where the mode has dropout."""
    return nn.functional.dropout(x, rate) if mode.has_dropout and rate else x


def attention(query, key, value, heads, bias, rate, mode):
    """Attention of heads side by side, (batch, time, numbers), scaled by 1 / sqrt(numbers of a head).

    bias (batch, 1, 1, time of key) is added to the scores; rate is the dropout of their softmax.
    """
    query, key, value = (by_head(x, heads) for x in (query, key, value))
    if mode.is_fused:
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, bias.to(query.dtype),
                                                           rate if mode.has_dropout else 0.0)
    else:
        scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.transpose(-1, -2)) + bias
        mixed = torch.matmul(dropout(nn.functional.softmax(scores, -1), rate, mode), value)
    return mixed.transpose(1, 2).flatten(2)


def by_head(x, heads):
    """(batch, heads, time, numbers of a head)."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def cross_entropy(logits, labels, weights, smoothing=0.0):
    """The mean of -log p(label) by weights: logits (n, classes), labels and weights (n,).

    A share smoothing of each is the mean of -log p over all classes instead.
    """
    log_p = nn.functional.log_softmax(logits.float() if logits.dtype == torch.bfloat16 else logits, -1)
    losses = nn.functional.nll_loss(log_p, labels, reduction="none")
    if smoothing:
        losses = (1 - smoothing) * losses - smoothing * log_p.mean(-1)
    return (losses * weights).sum() / weights.sum()
