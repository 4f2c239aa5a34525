"""Llama (workloads/spec/models/llama.py) in JAX."""
import jax
import jax.numpy as jnp
from jax import lax

from workloads.frameworks.forward_pass import rotations
from workloads.frameworks.jax.models.blocks import by_head, embedding, linear
from workloads.frameworks.jax.models.transformer import causal, computed_once
from workloads.frameworks.jax.steps import cross_entropy
from workloads.spec.models.llama import EPSILON


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of every position (batch * time, tokens known)."""
    x = mode.keep("embeddings", embedding(weights, "embeddings.tokens", batch["ids"]))
    turns = _turns(sizes, x)[:, :x.shape[1]]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, causal(mode))
    return predictions(weights, x.reshape(-1, sizes.width), mode)


def loss(logits, batch, sizes):
    """Step 5."""
    return cross_entropy(logits, batch["labels"].reshape(-1))


def layer(weights, name, x, sizes, mode, turns, mix):
    """Steps 2 and 3; turns: (2, time, half of a head's numbers)."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, sizes, mode, turns, mix))
    return mode.keep(name, x + fed_forward(weights, name, x, mode))


def attended(weights, name, x, sizes, mode, turns, mix):
    """What attention adds to x."""
    x = rms_norm(weights, name + ".norm", computed_once(x, mode))
    query, key, value = (by_head(linear(weights, name + "." + part, x, mode), heads) for part, heads in (
        ("query", sizes.heads), ("key", sizes.key_heads), ("value", sizes.key_heads)))
    mixed = mix(turned(query, turns), turned(key, turns), value)
    return linear(weights, name + ".output", mixed.transpose(0, 2, 1, 3).reshape(x.shape), mode)


def fed_forward(weights, name, x, mode):
    """What the feed-forward part adds to x."""
    x = rms_norm(weights, name + ".norm", computed_once(x, mode))
    gate, up = (linear(weights, name + part, x, mode) for part in (".gate", ".up"))
    return linear(weights, name + ".down", jax.nn.silu(gate) * up, mode)


@jax.named_scope("norm")
def rms_norm(weights, name, x):
    """x over the root of its mean square, times name.gamma."""
    gamma = weights[name + ".gamma"]
    wide = x.astype(gamma.dtype)
    return wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + EPSILON) * gamma


@jax.named_scope("rotary")
def turned(x, turns):
    """x (batch, heads, time, numbers of a head), each pair of numbers turned by its angle."""
    cosine, sine = turns.astype(x.dtype)
    first, second = jnp.split(x, 2, -1)
    return jnp.concatenate((first * cosine - second * sine, second * cosine + first * sine), -1)


def predictions(weights, x, mode):
    """Step 4 at the positions x (n, numbers)."""
    return linear(weights, "head", mode.keep("norm", rms_norm(weights, "norm", x)), mode)


def prefill(weights, ids, cache, sizes, mode):
    """Logits (batch, tokens known) after a prompt (batch, time), whose keys and values the cache keeps."""
    x = embedding(weights, "embeddings.tokens", ids)
    turns = _turns(sizes, x)[:, :x.shape[1]]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, cache.prompt(index, mode))
    return predictions(weights, x[:, -1], mode)


def decode(weights, tokens, position, cache, sizes, mode):
    """Logits (batch, tokens known) after the tokens (batch,) at the position, which the cache keeps."""
    x = embedding(weights, "embeddings.tokens", tokens)[:, None]
    turns = lax.dynamic_slice_in_dim(_turns(sizes, x), position, 1, 1)
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, cache.token(index, position, mode))
    return predictions(weights, x[:, 0], mode)


def _turns(sizes, like):
    """Cosine and sine of each position's angles, in the type of the weights."""
    return jnp.asarray(rotations(sizes), like.dtype)
