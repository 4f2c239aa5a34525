"""The layer of spec/models/transformer.py in PyTorch; the same functions as in the other frameworks' transformer.py.

x is (batch, time, numbers); queries, keys and values are (batch, heads, time, numbers of a head). How they are brought
together is a function of the three, mix: all that differs between a whole pass, a prompt and a token after it.
"""
import functools
import math

import torch
from torch import nn

from workloads.frameworks.pytorch.models.blocks import by_head, dense, layer_norm
from workloads.spec.models.transformer import PARTS


def layer(weights, name, x, form, mode, mix):
    """Steps 1 to 3."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, form, mix))
    return mode.keep(name, x + fed_forward(weights, name, x, form))


def attended(weights, name, x, form, mix):
    """What attention adds to x."""
    x = layer_norm(weights, name + ".norm", x, form.epsilon)
    mixed = mix(*projected(weights, name, x, form))
    return dense(weights, name + ".output", mixed.transpose(1, 2).flatten(2))


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
    batch, time, width = x.shape
    return x.reshape(batch, time, 3, heads, width // 3 // heads).permute(2, 0, 3, 1, 4).unbind(0)


def gelu(x, formula):
    """x times the normal distribution's share below x, by erf or by tanh."""
    if formula == "erf":
        return nn.functional.gelu(x)
    if _HAS_TANH:
        return nn.functional.gelu(x, approximate="tanh")
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _has_tanh():
    try:
        nn.functional.gelu(torch.zeros(1), approximate="tanh")
    except TypeError:                # before 1.12
        return False
    return True


_HAS_TANH = _has_tanh()


def attention(query, key, value, is_fused, seen=None, is_causal=False):
    """Values mixed by each query's shares of the keys that it sees: all, those before it, or where seen is true.

    Where there are fewer heads of keys than of queries, each serves as many queries, side by side.
    """
    if is_fused:
        more = {"enable_gqa": True} if key.shape[1] != query.shape[1] else {}
        return nn.functional.scaled_dot_product_attention(query, key, value, seen, is_causal=is_causal, **more)
    scores = torch.matmul(_grouped(query, key) / math.sqrt(query.shape[-1]), key.transpose(-1, -2))
    scores = scores.reshape(query.shape[:3] + key.shape[2:3])
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.uint8, device=scores.device).tril() > 0
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    return torch.matmul(_grouped(nn.functional.softmax(scores, -1), value), value).reshape(query.shape)


def _grouped(x, key):
    """The rows of all heads of x that a head of the key serves, one after the other."""
    return x.reshape(key.shape[:2] + (-1, x.shape[-1]))


def causal(mode):
    """The mix in which each token sees itself and those before it."""
    return functools.partial(attention, is_fused=mode.is_fused, is_causal=True)


class Cache:
    """The keys and values of every layer, (batch, heads, length, numbers of a head), allocated once.

    A position is an int, and then what was written is read alone; or a tensor, as a compiled program wants it, which
    then reads the whole arrays with a mask.
    """

    def __init__(self, layers, shape, dtype, device):
        self._layers = [tuple(torch.zeros(shape, dtype=dtype, device=device) for _ in range(2)) for _ in range(layers)]

    def prompt(self, index, mode):
        """The mix of a layer's first tokens, which are kept."""
        def mix(query, key, value):
            for kept, new in zip(self._layers[index], (key, value)):
                kept[:, :, :new.shape[2]] = new
            return causal(mode)(query, key, value)
        return mix

    def token(self, index, position, mode):
        """The mix of the one token at the position, which is kept."""
        def mix(query, key, value):
            keys, values = self._layers[index]
            if isinstance(position, int):
                keys[:, :, position:position + 1] = key
                values[:, :, position:position + 1] = value
                return attention(query, keys[:, :, :position + 1], values[:, :, :position + 1], mode.is_fused)
            keys.index_copy_(2, position.reshape(1), key.to(keys.dtype))
            values.index_copy_(2, position.reshape(1), value.to(values.dtype))
            seen = torch.arange(keys.shape[2], device=keys.device) <= position
            return attention(query, keys, values, mode.is_fused, seen.reshape(1, 1, 1, -1))
        return mix


def cross_entropy(logits, labels):
    """The mean of -log p(label): logits (n, classes), labels (n,)."""
    return nn.functional.cross_entropy(logits.float() if logits.dtype == torch.bfloat16 else logits, labels)
