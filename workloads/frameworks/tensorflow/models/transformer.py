"""The layer of spec/models/transformer.py in TensorFlow; the same functions as in the other frameworks.

x is (batch, time, numbers); queries, keys and values are (batch, heads, time, numbers of a head). How they are brought
together is a function of the three, mix: all that differs between a whole pass, a prompt and a token after it.
TensorFlow 1.15 and 2.x.
"""
import math
from operator import methodcaller

import tensorflow as tf

from workloads.frameworks.tensorflow.models.blocks import by_head, dense, layer_norm, softmax, wide
from workloads.spec.models.transformer import PARTS


def layer(weights, name, x, form, mode, mix):
    """Steps 1 to 3."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, form, mix))
    return mode.keep(name, x + fed_forward(weights, name, x, form))


def attended(weights, name, x, form, mix):
    """What attention adds to x."""
    shape = tf.shape(x)
    x = layer_norm(weights, name + ".norm", x, form.epsilon)
    mixed = mix(*projected(weights, name, x, form))
    return dense(weights, name + ".output", tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), shape))


def fed_forward(weights, name, x, form):
    """What the feed-forward part adds to x."""
    x = layer_norm(weights, name + ".norm", x, form.epsilon)
    return dense(weights, name + ".outer", gelu(dense(weights, name + ".inner", x), form.gelu))


def projected(weights, name, x, form):
    """Queries, keys and values of x."""
    if form.is_packed:
        return unpacked(dense(weights, name + ".qkv", x), form.heads)
    return [by_head(dense(weights, name + "." + part, x), form.heads) for part in PARTS]


def unpacked(x, heads):
    """Queries, keys and values of x (batch, time, 3 times the numbers)."""
    batch, time = tf.shape(x)[0], tf.shape(x)[1]
    split = tf.reshape(x, (batch, time, 3, heads, int(x.shape[-1]) // 3 // heads))
    return tf.unstack(tf.transpose(split, (2, 0, 3, 1, 4)), 3)


def gelu(x, formula):
    """x times the normal distribution's share below x, by erf or tanh; tf.nn has it from 2.4 on, by these."""
    if formula == "erf":
        return 0.5 * x * (1 + tf.math.erf(x / math.sqrt(2)))
    return 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def attention(query, key, value, bias=None):
    """Values mixed by each query's shares of the keys; a bias of minus infinity leaves a key out.

    Where there are fewer heads of keys than of queries, each serves as many queries, side by side.
    """
    query = query / math.sqrt(int(query.shape[-1]))
    if query.shape[1] == key.shape[1]:
        scores = tf.matmul(query, key, transpose_b=True)
        return tf.matmul(softmax(scores, bias), value)
    shape = tf.shape(query)
    scores = tf.reshape(tf.matmul(_grouped(query, key), key, transpose_b=True),
                        tf.concat([shape[:3], tf.shape(key)[2:3]], 0))
    return tf.reshape(tf.matmul(_grouped(softmax(scores, bias), value), value), shape)


def _grouped(x, key):
    """The rows of all heads of x that a head of the key serves, one after the other."""
    return tf.reshape(x, tf.concat([tf.shape(key)[:2], [-1], tf.shape(x)[3:]], 0))


def causal(query, key, value):
    """Attention of each token over itself and those before it."""
    square = wide(tf.ones([tf.shape(query)[2]] * 2, query.dtype))
    before = tf.linalg.band_part(square, -1, 0)
    return attention(query, key, value, _left_out(before > 0, square))


def _left_out(seen, ones):
    """0 where seen is true, minus infinity elsewhere; ones has the shape of seen."""
    return tf.where(seen, tf.zeros_like(ones), -math.inf * ones)


class Cache:
    """The keys and values of every layer, (batch, heads, length, numbers of a head), in variables.

    A function has one shape for all positions, so a token's query sees the whole arrays, those after it left out.
    """

    def __init__(self, layers, shape, dtype, is_xla):
        """is_xla: compiled by XLA, which cannot assign a slice whose place it does not know, and copies nothing."""
        self._keep, self._read = (_keep_by_xla, methodcaller("read_value")) if is_xla else (_keep, _read)
        self._layers = [tuple(tf.Variable(tf.zeros(shape, dtype), trainable=False) for _ in range(2))
                        for _ in range(layers)]

    def prompt(self, index):
        """The mix of a layer's first tokens, which are kept."""
        def mix(query, key, value):
            for kept, new in zip(self._layers[index], (key, value)):
                self._keep(kept, 0, new)
            return causal(query, key, value)
        return mix

    def token(self, index, position):
        """The mix of the one token at the position, which is kept."""
        def mix(query, key, value):
            kept = self._layers[index]
            for each, new in zip(kept, (key, value)):
                self._keep(each, position, new)
            seen = tf.range(kept[0].shape[2]) <= position
            bias = _left_out(seen, wide(tf.ones(seen.shape, query.dtype)))
            return attention(query, self._read(kept[0]), self._read(kept[1]), bias)
        return mix


def _keep(kept, position, new):
    """Write to the variable in place, from the position on: kept[:, :, position:...].assign would first read it all."""
    end = tf.stack([0, 0, position + new.shape[2]])
    tf.raw_ops.ResourceStridedSliceAssign(ref=kept.handle, begin=tf.stack([0, 0, position]), end=end,
                                          strides=tf.ones_like(end), value=new, begin_mask=3, end_mask=3)


def _keep_by_xla(kept, position, new):
    """The same by an operation that XLA has in place of that one."""
    from tensorflow.compiler.tf2xla.python import xla  # no public name is of it; Keras takes it from there, too
    kept.assign(xla.dynamic_update_slice(kept.read_value(), new, tf.stack([0, 0, position, 0])))


def _read(kept):
    """The variable's value, without the copy that a variable gives of itself once a part of it was written alone."""
    return kept.read_value_no_copy() if hasattr(kept, "read_value_no_copy") else kept.read_value()


def cross_entropy(logits, labels):
    """The mean of -log p(label): logits (n, classes), labels (n,)."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=wide(logits)))
