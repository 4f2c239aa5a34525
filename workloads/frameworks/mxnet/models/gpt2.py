"""GPT-2 (workloads/spec/models/gpt2.py) in MXNet. MXNet 1.7 and 1.9."""
from workloads.frameworks.mxnet.graphs import ops
from workloads.frameworks.mxnet.models.blocks import embedding, layer_norm, linear
from workloads.frameworks.mxnet.models.transformer import causal, cross_entropy, layer
from workloads.spec.models.gpt2 import form


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of every position (batch * time, tokens known)."""
    x = mode.keep("embeddings", embeddings(weights, batch["ids"]))
    mix = causal(x)
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, mix)
    return predictions(weights, x.reshape((-3, 0)), sizes, mode)


def loss(logits, batch, sizes):
    """Step 4."""
    return cross_entropy(logits, batch["labels"].reshape((-1,)))


def embeddings(weights, ids):
    """Step 1: (batch, time, numbers)."""
    positions = ops.slice_axis(weights["embeddings.positions.weight"], axis=0, begin=0, end=ids.shape[1])
    return embedding(weights, "embeddings.tokens", ids) + positions


def predictions(weights, x, sizes, mode):
    """Step 3 at the positions x (n, numbers)."""
    x = mode.keep("norm", layer_norm(weights, "norm", x, form(sizes).epsilon))
    return linear(weights, "embeddings.tokens", x)


def prefill(weights, ids, cache, sizes, mode):
    """Step 5: logits (batch, tokens known) after a prompt (batch, time), whose keys and values the cache keeps."""
    x = embeddings(weights, ids)
    mix = causal(x)
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, cache.prompt(index, mix))
    return predictions(weights, x[:, -1], sizes, mode)


def decode(weights, tokens, position, cache, sizes, mode):
    """Step 5: logits (batch, tokens known) after the tokens (batch,) at the position, which the cache keeps.

    The position is an int; or an array (1,), as a graph takes it.
    """
    if isinstance(position, int):
        placed = weights["embeddings.positions.weight"][position]
    else:
        placed = embedding(weights, "embeddings.positions", position)
    x = (embedding(weights, "embeddings.tokens", tokens) + placed).expand_dims(1)
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, cache.token(index, position))
    return predictions(weights, x[:, 0], sizes, mode)
