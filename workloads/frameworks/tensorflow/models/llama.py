"""Llama (workloads/spec/models/llama.py) in TensorFlow. TensorFlow 1.15 and 2.x."""
import tensorflow as tf

from workloads.frameworks.forward_pass import rotations
from workloads.frameworks.tensorflow.models.blocks import by_head, embedding, linear, wide
from workloads.frameworks.tensorflow.models.transformer import causal, cross_entropy
from workloads.spec.models.llama import EPSILON


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of every position (batch * time, tokens known)."""
    x = mode.keep("embeddings", embedding(weights, "embeddings.tokens", batch["ids"]))
    turns = _turns(sizes, x)[:, :tf.shape(x)[1]]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, causal)
    return predictions(weights, tf.reshape(x, (-1, sizes.width)), mode)


def loss(logits, batch, sizes):
    """Step 5."""
    return cross_entropy(logits, tf.reshape(batch["labels"], [-1]))


def layer(weights, name, x, sizes, mode, turns, mix):
    """Steps 2 and 3; turns: (2, time, half of a head's numbers)."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, sizes, turns, mix))
    return mode.keep(name, x + fed_forward(weights, name, x))


def attended(weights, name, x, sizes, turns, mix):
    """What attention adds to x."""
    shape = tf.shape(x)
    x = rms_norm(weights, name + ".norm", x)
    query, key, value = (by_head(linear(weights, name + "." + part, x), heads) for part, heads in (
        ("query", sizes.heads), ("key", sizes.key_heads), ("value", sizes.key_heads)))
    mixed = mix(turned(query, turns), turned(key, turns), value)
    return linear(weights, name + ".output", tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), shape))


def fed_forward(weights, name, x):
    """What the feed-forward part adds to x."""
    x = rms_norm(weights, name + ".norm", x)
    gate = linear(weights, name + ".gate", x)
    return linear(weights, name + ".down", tf.nn.swish(gate) * linear(weights, name + ".up", x))


def rms_norm(weights, name, x):
    """x over the root of its mean square, times name.gamma."""
    given, x = x.dtype, wide(x)
    x = x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + EPSILON) * weights[name + ".gamma"]
    return tf.cast(x, given)


def turned(x, turns):
    """x (batch, heads, time, numbers of a head), each pair of numbers turned by its angle."""
    cosine, sine = turns[0], turns[1]
    first, second = tf.split(x, 2, -1)
    return tf.concat((first * cosine - second * sine, second * cosine + first * sine), -1)


def predictions(weights, x, mode):
    """Step 4 at the positions x (n, numbers)."""
    return linear(weights, "head", mode.keep("norm", rms_norm(weights, "norm", x)))


def prefill(weights, ids, cache, sizes, mode):
    """Logits (batch, tokens known) after a prompt (batch, time), whose keys and values the cache keeps."""
    x = embedding(weights, "embeddings.tokens", ids)
    turns = _turns(sizes, x)[:, :tf.shape(x)[1]]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, cache.prompt(index))
    return predictions(weights, x[:, -1], mode)


def decode(weights, tokens, position, cache, sizes, mode):
    """Logits (batch, tokens known) after the tokens (batch,) at the position, which the cache keeps."""
    x = embedding(weights, "embeddings.tokens", tokens)[:, None]
    # gathered: XLA would compile a slice anew for each position, since its bounds must be constants
    turns = tf.gather(_turns(sizes, x), tf.reshape(position, [1]), axis=1)
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, cache.token(index, position))
    return predictions(weights, x[:, 0], mode)


def _turns(sizes, like):
    """Cosine and sine of each position's angles, in the type of like."""
    return tf.constant(rotations(sizes), like.dtype)
