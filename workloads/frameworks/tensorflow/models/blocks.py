"""What the sequence models are made of, in TensorFlow; the same functions as in the other frameworks' blocks.py.

Weights are found by canonical name in Weights; x is (batch, time, numbers) unless a function says otherwise. A layer
computes in x's type, as Keras' layers do by their policies, and takes its weights in it; norms and softmax are in
float32 at least. TensorFlow 1.15 and 2.x.
"""
import math

import tensorflow as tf

from workloads.frameworks.forward_pass import Mode as PlainMode


class Mode(PlainMode):
    """With the operations that move running statistics, which TensorFlow 1 must be asked for."""

    def __init__(self, lstm, is_training, has_dropout=None, kept=None):
        """kept: as everywhere."""
        super().__init__(lstm, is_training, has_dropout, kept)
        self.moved = []

    def move(self, variable, value):
        """Have a running statistic take the value."""
        self.moved.append(variable.assign(value))


class Weights(dict):
    """Variables by canonical name.

    computed: the type in which layers compute, to which embeddings are cast. turned: the weights that lie as (in, out).
    """

    computed, turned = tf.float32, frozenset()


def wide(x):
    """x in float32, where its type is a shorter one."""
    return tf.cast(x, tf.float32) if x.dtype in (tf.bfloat16, tf.float16) else x


def dense(weights, name, x):
    """x times name.weight (out, in) plus name.bias."""
    return linear(weights, name, x) + tf.cast(weights[name + ".bias"], x.dtype)


def linear(weights, name, x):
    """x (..., in) times name.weight (out, in), as one product of two matrices."""
    is_turned = name + ".weight" in weights.turned
    weight = tf.cast(weights[name + ".weight"], x.dtype)
    inputs, outputs = weight.shape if is_turned else weight.shape[::-1]
    rows = tf.matmul(tf.reshape(x, (-1, int(inputs))), weight, transpose_b=not is_turned)
    return tf.reshape(rows, tf.concat([tf.shape(x)[:-1], [outputs]], 0)) if len(x.shape) != 2 else rows


def batch_norm(weights, name, x, epsilon, decay, mode):
    """x with mean 0 and variance 1 over all axes but the last, times name.gamma plus name.beta.

    Running statistics keep decay of their old value; the running variance is the biased one, of n values.
    """
    gamma, beta, mean, variance = (weights[name + "." + kind] for kind in ("gamma", "beta", "mean", "variance"))
    if not mode.is_training:
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon)
    if x.dtype == tf.float64:                # the fused operation has none
        seen_mean, seen_variance = tf.nn.moments(x, list(range(len(x.shape) - 1)))
        normed = tf.nn.batch_normalization(x, seen_mean, seen_variance, beta, gamma, epsilon)
    else:
        rows = tf.reshape(x, (-1, 1, 1, int(x.shape[-1])))
        normed, seen_mean, seen_variance = tf.compat.v1.nn.fused_batch_norm(rows, gamma, beta, epsilon=epsilon)
        count = tf.cast(tf.shape(rows)[0], x.dtype)
        seen_variance *= (count - 1) / count            # the fused operation gives n / (n - 1) times the batch's
        normed = tf.reshape(normed, tf.shape(x))
    normed.set_shape(x.shape)
    mode.move(mean, decay * mean + (1 - decay) * tf.stop_gradient(seen_mean))
    mode.move(variance, decay * variance + (1 - decay) * tf.stop_gradient(seen_variance))
    return normed


def conv2d(weights, name, x, stride, pad):
    """The convolution of x (batch, height, width, in) with name.weight (out, in, height, width), plus name.bias."""
    x = tf.pad(x, [[0, 0], [pad[0], pad[0]], [pad[1], pad[1]], [0, 0]])
    kernel = tf.transpose(weights[name + ".weight"], (2, 3, 1, 0))
    return tf.nn.conv2d(x, kernel, strides=list(stride), padding="VALID") + weights[name + ".bias"]


def conv1d(weights, name, x, pad):
    """The convolution of x (batch, time, in) with name.weight (out, in, taps), plus name.bias."""
    kernel = tf.transpose(weights[name + ".weight"], (2, 1, 0))
    return tf.nn.conv1d(tf.pad(x, [[0, 0], [pad, pad], [0, 0]]), kernel, 1, "VALID") + weights[name + ".bias"]


def masked(x, lengths):
    """x (batch, time, ...) with zeros past each sample's length."""
    mask = tf.sequence_mask(lengths, tf.shape(x)[1], x.dtype)
    return x * tf.reshape(mask, tf.concat([tf.shape(mask), tf.ones(len(x.shape) - 2, tf.int32)], 0))


def dropout(x, rate, mode):
    """Zeroes a share of x where the mode has dropout."""
    return tf.nn.dropout(x, rate=rate) if mode.has_dropout and rate else x


def embedding(weights, name, ids):
    """The row of name.weight (ids, numbers) for each id: one dimension more than ids."""
    return tf.cast(tf.gather(weights[name + ".weight"], ids), weights.computed)


def layer_norm(weights, name, x, epsilon):
    """x with mean 0 and variance 1 over its last dimension, times name.gamma plus name.beta."""
    given, x = x.dtype, wide(x)
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    beta, gamma = wide(weights[name + ".beta"]), wide(weights[name + ".gamma"])
    return tf.cast(tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon), given)


def gelu(x):
    """x times the normal distribution's share below x, by erf; tf.nn has it from 2.4 on, as these operations."""
    return 0.5 * x * (1 + tf.math.erf(x / math.sqrt(2)))


def attention(query, key, value, heads, bias, rate, mode):
    """Attention of heads side by side, (batch, time, numbers), scaled by 1 / sqrt(numbers of a head).

    bias (batch, 1, 1, time of key) is added to the scores; rate is the dropout of their softmax.
    """
    shape, scale = tf.shape(query), math.sqrt(int(query.shape[-1]) // heads)
    query, key, value = (by_head(x, heads) for x in (query, key, value))
    shares = softmax(tf.matmul(query / scale, key, transpose_b=True), bias)
    mixed = tf.matmul(dropout(shares, rate, mode), value)
    return tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), shape)


def softmax(scores, bias=None):
    """The shares of scores and their bias, if there is one, over the last dimension."""
    given, scores = scores.dtype, wide(scores)
    return tf.cast(tf.nn.softmax(scores if bias is None else scores + bias), given)


def by_head(x, heads):
    """(batch, heads, time, numbers of a head)."""
    batch, time = tf.shape(x)[0], tf.shape(x)[1]
    return tf.transpose(tf.reshape(x, (batch, time, heads, int(x.shape[-1]) // heads)), (0, 2, 1, 3))


def cross_entropy(logits, labels, weights, smoothing=0.0):
    """The mean of -log p(label) by weights: logits (n, classes), labels and weights (n,).

    A share smoothing of each is the mean of -log p over all classes instead.
    """
    logits = wide(logits)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    if smoothing:
        of_all = tf.reduce_logsumexp(logits, -1) - tf.reduce_mean(logits, -1)
        losses = (1 - smoothing) * losses + smoothing * of_all
    return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
