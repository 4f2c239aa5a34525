"""BERT (spec/models/bert.py) in TensorFlow. TensorFlow 1.15 and 2.x."""
import tensorflow as tf

from workloads.frameworks.tensorflow.models.blocks import (
    attention,
    cross_entropy,
    dense,
    dropout,
    embedding,
    gelu,
    layer_norm,
    linear,
)
from workloads.spec.models.bert import DROPOUT, EPSILON, PADDING_BIAS


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of the masked positions (batch * masked, tokens known)."""
    x = mode.keep("embeddings", embeddings(weights, batch, mode))
    bias = ((1 - batch["mask"]) * PADDING_BIAS)[:, None, None, :]
    for index in range(sizes.layers):
        name = "layers.%d" % index
        x = mode.keep(name + ".attention", attended(weights, name + ".attention", x, sizes.heads, bias, mode))
        x = mode.keep(name, fed_forward(weights, name, x, mode))
    return predictions(weights, x, tf.reshape(batch["positions"], [-1]))


def loss(logits, batch, sizes):
    """Step 5."""
    return cross_entropy(logits, tf.reshape(batch["labels"], [-1]), tf.reshape(batch["weights"], [-1]))


def embeddings(weights, batch, mode):
    """Step 1: (batch, time, numbers)."""
    positions = tf.cast(weights["embeddings.positions.weight"][:tf.shape(batch["ids"])[1]], weights.computed)
    x = (embedding(weights, "embeddings.tokens", batch["ids"]) + positions
         + embedding(weights, "embeddings.types", batch["types"]))
    return dropout(layer_norm(weights, "embeddings.norm", x, EPSILON), DROPOUT, mode)


def attended(weights, name, x, heads, bias, mode):
    """Step 2."""
    query, key, value = (dense(weights, name + part, x) for part in (".query", ".key", ".value"))
    mixed = dense(weights, name + ".output", attention(query, key, value, heads, bias, DROPOUT, mode))
    return layer_norm(weights, name + ".norm", x + dropout(mixed, DROPOUT, mode), EPSILON)


def fed_forward(weights, name, x, mode):
    """Step 3."""
    out = dense(weights, name + ".outer", gelu(dense(weights, name + ".inner", x)))
    return layer_norm(weights, name + ".norm", x + dropout(out, DROPOUT, mode), EPSILON)


def predictions(weights, x, positions):
    """Step 4."""
    x = tf.gather(tf.reshape(x, (-1, int(x.shape[-1]))), positions)
    x = layer_norm(weights, "head.norm", gelu(dense(weights, "head.transform", x)), EPSILON)
    return linear(weights, "embeddings.tokens", x) + tf.cast(weights["head.bias"], x.dtype)
