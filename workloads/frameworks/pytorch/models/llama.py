"""Llama (workloads/spec/models/llama.py) in PyTorch."""
import torch
from torch import nn

from workloads.frameworks.pytorch.models.blocks import by_head, embedding, linear
from workloads.frameworks.pytorch.models.transformer import causal, cross_entropy
from workloads.spec.models.llama import EPSILON


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of every position (batch * time, tokens known). The weights have "turns" besides: rotations(sizes)."""
    x = mode.keep("embeddings", embedding(weights, "embeddings.tokens", batch["ids"]))
    turns = weights["turns"][:, :x.shape[1]]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, causal(mode))
    return predictions(weights, x.flatten(0, 1), mode)


def loss(logits, batch, sizes):
    """Step 5."""
    return cross_entropy(logits, batch["labels"].flatten())


def layer(weights, name, x, sizes, mode, turns, mix):
    """Steps 2 and 3; turns: (2, time, half of a head's numbers)."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, sizes, turns, mix))
    return mode.keep(name, x + fed_forward(weights, name, x))


def attended(weights, name, x, sizes, turns, mix):
    """What attention adds to x."""
    x = rms_norm(weights, name + ".norm", x)
    query, key, value = (by_head(linear(weights, name + "." + part, x), heads) for part, heads in (
        ("query", sizes.heads), ("key", sizes.key_heads), ("value", sizes.key_heads)))
    mixed = mix(turned(query, turns), turned(key, turns), value)
    return linear(weights, name + ".output", mixed.transpose(1, 2).flatten(2))


def fed_forward(weights, name, x):
    """What the feed-forward part adds to x."""
    x = rms_norm(weights, name + ".norm", x)
    return linear(weights, name + ".down", silu(linear(weights, name + ".gate", x)) * linear(weights, name + ".up", x))


def rms_norm(weights, name, x):
    """x over the root of its mean square, times name.gamma."""
    gamma = weights[name + ".gamma"]
    if hasattr(nn.functional, "rms_norm"):           # from 2.4 on
        return nn.functional.rms_norm(x, x.shape[-1:], gamma, EPSILON)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * gamma


def silu(x):
    """x times its logistic share."""
    return nn.functional.silu(x) if hasattr(nn.functional, "silu") else x * torch.sigmoid(x)       # from 1.7 on


def turned(x, turns):
    """x (batch, heads, time, numbers of a head), each pair of numbers turned by its angle."""
    cosine, sine = turns
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


def predictions(weights, x, mode):
    """Step 4 at the positions x (n, numbers)."""
    return linear(weights, "head", mode.keep("norm", rms_norm(weights, "norm", x)))


def prefill(weights, ids, cache, sizes, mode):
    """Logits (batch, tokens known) after a prompt (batch, time), whose keys and values the cache keeps."""
    x = embedding(weights, "embeddings.tokens", ids)
    turns = weights["turns"][:, :x.shape[1]]
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, cache.prompt(index, mode))
    return predictions(weights, x[:, -1], mode)


def decode(weights, tokens, position, cache, sizes, mode):
    """Logits (batch, tokens known) after the tokens (batch,) at the position, which the cache keeps.

    The position is an int, or a tensor, whose value a compiled program must not ask for.
    """
    x = embedding(weights, "embeddings.tokens", tokens)[:, None]
    every = weights["turns"]
    turns = every[:, position:position + 1] if isinstance(position, int) else every.index_select(1, position.reshape(1))
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, sizes, mode, turns, cache.token(index, position, mode))
    return predictions(weights, x[:, 0], mode)

