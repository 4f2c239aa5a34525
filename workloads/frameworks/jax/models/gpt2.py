"""GPT-2 (workloads/spec/models/gpt2.py) in JAX."""
from workloads.frameworks.jax.models.blocks import embedding, layer_norm, linear
from workloads.frameworks.jax.models.transformer import causal, layer
from workloads.frameworks.jax.steps import cross_entropy
from workloads.spec.models.gpt2 import form


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of every position (batch * time, tokens known)."""
    x = mode.keep("embeddings", embeddings(weights, batch["ids"]))
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, causal(mode))
    return predictions(weights, x.reshape(-1, sizes.width), sizes, mode)


def loss(logits, batch, sizes):
    """Step 4."""
    return cross_entropy(logits, batch["labels"].reshape(-1))


def embeddings(weights, ids):
    """Step 1: (batch, time, numbers)."""
    return embedding(weights, "embeddings.tokens", ids) + weights["embeddings.positions.weight"][:ids.shape[1]]


def predictions(weights, x, sizes, mode):
    """Step 3 at the positions x (n, numbers)."""
    x = mode.keep("norm", layer_norm(weights, "norm", x, form(sizes).epsilon))
    return linear(weights, "embeddings.tokens", x, mode)


def prefill(weights, ids, cache, sizes, mode):
    """Step 5: logits (batch, tokens known) after a prompt (batch, time), whose keys and values the cache keeps."""
    x = embeddings(weights, ids)
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, cache.prompt(index, mode))
    return predictions(weights, x[:, -1], sizes, mode)


def decode(weights, tokens, position, cache, sizes, mode):
    """Step 5: logits (batch, tokens known) after the tokens (batch,) at the position, which the cache keeps."""
    x = embedding(weights, "embeddings.tokens", tokens) + weights["embeddings.positions.weight"][position]
    x = x[:, None]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), mode, cache.token(index, position, mode))
    return predictions(weights, x[:, 0], sizes, mode)
