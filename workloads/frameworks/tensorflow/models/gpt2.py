"""GPT-2 (workloads/spec/models/gpt2.py) in TensorFlow. TensorFlow 1.15 and 2.x."""
import tensorflow as tf

from workloads.frameworks.tensorflow.models.blocks import embedding, layer_norm, linear
from workloads.frameworks.tensorflow.models.transformer import causal, cross_entropy, layer
from workloads.spec.models.gpt2 import form


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of every position (batch * time, tokens known)."""
    x = mode.keep("embeddings", embeddings(weights, batch["ids"]))
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, causal)
    return predictions(weights, tf.reshape(x, (-1, sizes.width)), sizes, mode)


def loss(logits, batch, sizes):
    """Step 4."""
    return cross_entropy(logits, tf.reshape(batch["labels"], [-1]))


def embeddings(weights, ids):
    """Step 1: (batch, time, numbers)."""
    positions = weights["embeddings.positions.weight"][:tf.shape(ids)[1]]
    return embedding(weights, "embeddings.tokens", ids) + tf.cast(positions, weights.computed)


def predictions(weights, x, sizes, mode):
    """Step 3 at the positions x (n, numbers)."""
    x = mode.keep("norm", layer_norm(weights, "norm", x, form(sizes).epsilon))
    return linear(weights, "embeddings.tokens", x)


def prefill(weights, ids, cache, sizes, mode):
    """Step 5: logits (batch, tokens known) after a prompt (batch, time), whose keys and values the cache keeps."""
    x = embeddings(weights, ids)
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, cache.prompt(index))
    return predictions(weights, x[:, -1], sizes, mode)


def decode(weights, tokens, position, cache, sizes, mode):
    """Step 5: logits (batch, tokens known) after the tokens (batch,) at the position, which the cache keeps."""
    # gathered: XLA would compile a slice anew for each position, since its bounds must be constants
    x = embedding(weights, "embeddings.tokens", tokens) + embedding(weights, "embeddings.positions", position)
    x = x[:, None]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, cache.token(index, position))
    return predictions(weights, x[:, 0], sizes, mode)
