"""Llama (Touvron et al. 2023, "LLaMA"; grouped-query attention: Ainslie et al. 2023), a decoder as most are today.

    1. x = embeddings of tokens
    2. each layer: a = rms(x) * attention.norm.gamma; query, key and value are products of a, split into heads, of which
       key and value have fewer: each serves as many query heads side by side; queries and keys are rotated by their
       positions; x = x + output(softmax(query key' / sqrt(numbers a head)) value), a token seeing itself and those
       before it
    3. a = rms(x) * norm.gamma; x = x + down(silu(gate a) * (up a))
    4. logits = head.weight (rms(x) * norm.gamma) at every position
    5. loss, prefill and decode: as GPT-2's, spec/models/gpt2.py

rms(x) is x / sqrt(mean(x^2) + epsilon). A head's number i and number i + half of them are turned as a pair, by
the angle position * 10000^(-2 i / numbers a head) (Su et al. 2021, "RoFormer"; the pairs are those of transformers'
Llama). Nothing has a bias, and no two weights are shared.

The study's sizes are TinyLlama's (Zhang et al. 2024, "TinyLlama", table 1), 1,100,048,384 parameters; epsilon 1e-5 is
that of its published configuration. The small ones keep their form: a head of 64 numbers, three queries a key.

FLOPs: products alone, attention's for the pairs that a token may see. Python 3.6 and later, standard library only.
"""
from typing import NamedTuple

from workloads.spec.layers import Parameter
from workloads.spec.models.transformer import causal_pairs, kind

DATA = "wikitext103"
EPSILON = 1e-5
BASE = 10000.0              # of the angles


class Sizes(NamedTuple):
    """As transformer.Sizes, with the heads of keys and values."""

    layers: int
    width: int
    heads: int
    key_heads: int
    inner: int
    vocabulary: int
    positions: int
    length: int                # tokens of the longest sequence, and of the cache


PRESETS = {"small": Sizes(6, 384, 6, 2, 1024, 8192, 512, 64),
           "study": Sizes(22, 2048, 32, 4, 5632, 32000, 2048, 2048)}


def parameters(sizes):
    """As spec.sequence_tasks says."""
    ends = (("embeddings.tokens.weight", (sizes.vocabulary, sizes.width)),
            ("norm.gamma", (sizes.width,)), ("head.weight", (sizes.vocabulary, sizes.width)))
    layers = tuple(("layers.%d.%s" % (index, name), shape) for index in range(sizes.layers)
                   for name, shape in _arrays(sizes))
    return tuple(Parameter(name, kind(name), shape) for name, shape in ends[:1] + layers + ends[1:])


def _arrays(sizes):
    """(name within the layer, shape) of each array in order of computation."""
    width, keys = sizes.width, _key_width(sizes)
    return (("attention.norm.gamma", (width,)), ("attention.query.weight", (width, width)),
            ("attention.key.weight", (keys, width)), ("attention.value.weight", (keys, width)),
            ("attention.output.weight", (width, width)), ("norm.gamma", (width,)),
            ("gate.weight", (sizes.inner, width)), ("up.weight", (sizes.inner, width)),
            ("down.weight", (width, sizes.inner)))


def _key_width(sizes):
    return sizes.width // sizes.heads * sizes.key_heads


def forward_flops(sizes):
    """As spec.sequence_tasks says: the head at every position."""
    return _flops(sizes, sizes.length, causal_pairs(0, sizes.length), sizes.length)


def prefill_flops(sizes, prompt: int):
    """Of a prompt of so many tokens: the head at its last position alone."""
    return _flops(sizes, prompt, causal_pairs(0, prompt), 1)


def decode_flops(sizes, prompt: int):
    """Of one token after a prompt of so many, the mean over the tokens up to the greatest length."""
    tokens = sizes.length - prompt
    return _flops(sizes, tokens, causal_pairs(prompt, sizes.length), tokens) // tokens


def _flops(sizes, tokens: int, pairs, heads: int):
    width = sizes.width
    layer = tokens * width * (2 * width + 2 * _key_width(sizes) + 3 * sizes.inner) + 2 * pairs * width
    return 2 * (sizes.layers * layer + heads * width * sizes.vocabulary)
