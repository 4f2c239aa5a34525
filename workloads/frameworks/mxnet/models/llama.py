"""Llama (workloads/spec/models/llama.py) in MXNet. MXNet 1.7 and 1.9."""
import functools

import mxnet as mx

from workloads.frameworks.forward_pass import rotations
from workloads.frameworks.mxnet.graphs import ops
from workloads.frameworks.mxnet.models.blocks import by_head, embedding, linear, of_heads
from workloads.frameworks.mxnet.models.transformer import causal, cross_entropy
from workloads.spec.models.llama import EPSILON


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of every position (batch * time, tokens known)."""
    x = mode.keep("embeddings", embedding(weights, "embeddings.tokens", batch["ids"]))
    mix, turns = causal(x), [each[:, :x.shape[1]] for each in _turns(sizes, x)]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, mix)
    return predictions(weights, x.reshape((-3, 0)), mode)


def loss(logits, batch, sizes):
    """Step 5."""
    return cross_entropy(logits, batch["labels"].reshape((-1,)))


def layer(weights, name, x, sizes, mode, turns, mix):
    """Steps 2 and 3; turns: cosine and sine, (1, time, half of a head's numbers)."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, sizes, turns, mix))
    return mode.keep(name, x + fed_forward(weights, name, x))


def attended(weights, name, x, sizes, turns, mix):
    """What attention adds to x."""
    x = rms_norm(weights, name + ".norm", x)
    query, key, value = (by_head(linear(weights, name + "." + part, x), heads) for part, heads in (
        ("query", sizes.heads), ("key", sizes.key_heads), ("value", sizes.key_heads)))
    mixed = mix(turned(query, turns), turned(key, turns), value)
    return linear(weights, name + ".output", of_heads(mixed, sizes.heads))


def fed_forward(weights, name, x):
    """What the feed-forward part adds to x."""
    x = rms_norm(weights, name + ".norm", x)
    gate = linear(weights, name + ".gate", x)
    return linear(weights, name + ".down", gate * ops.sigmoid(gate) * linear(weights, name + ".up", x))


def rms_norm(weights, name, x):
    """x over the root of its mean square, times name.gamma."""
    scale = ops.rsqrt(ops.mean(x * x, axis=-1, keepdims=True) + EPSILON)
    return ops.broadcast_mul(ops.broadcast_mul(x, scale), weights[name + ".gamma"].reshape((1, 1, -1))
                             if len(x.shape) == 3 else weights[name + ".gamma"].reshape((1, -1)))


def turned(x, turns):
    """x (batch * heads, time, numbers of a head), each pair of numbers turned by its angle."""
    cosine, sine = turns
    first, second = ops.split(x, 2, axis=2)
    return ops.concat(ops.broadcast_mul(first, cosine) - ops.broadcast_mul(second, sine),
                      ops.broadcast_mul(second, cosine) + ops.broadcast_mul(first, sine), dim=2)


def predictions(weights, x, mode):
    """Step 4 at the positions x (n, numbers)."""
    return linear(weights, "head", mode.keep("norm", rms_norm(weights, "norm", x)))


def prefill(weights, ids, cache, sizes, mode):
    """Logits (batch, tokens known) after a prompt (batch, time), whose keys and values the cache keeps."""
    x = embedding(weights, "embeddings.tokens", ids)
    mix, turns = causal(x), [each[:, :x.shape[1]] for each in _turns(sizes, x)]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, cache.prompt(index, mix))
    return predictions(weights, x[:, -1], mode)


def decode(weights, tokens, position, cache, sizes, mode):
    """Logits (batch, tokens known) after the tokens (batch,) at the position, which the cache keeps.

    The position is an int; or an array (1,), as a graph takes it.
    """
    x = embedding(weights, "embeddings.tokens", tokens).expand_dims(1)
    turns = [_at(each, position) for each in _turns(sizes, x)]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, cache.token(index, position))
    return predictions(weights, x[:, 0], mode)


def _at(turns, position):
    """(1, 1, half of a head's numbers) at the position."""
    return turns[:, position:position + 1] if isinstance(position, int) else ops.take(turns, position, axis=1)


def _turns(sizes, like):
    """Cosine and sine of each position's angles, (1, positions, half of a head's numbers), in the weights' type."""
    return _kept_turns(sizes, like.dtype, like.context)


@functools.lru_cache(maxsize=None)
def _kept_turns(sizes, dtype, device):
    return [mx.nd.array(each[None], device, dtype) for each in rotations(sizes)]
