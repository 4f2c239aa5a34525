"""The transformer layer that normalises before each part ("pre-norm"), as GPT-2 and ViT have it.

    1. a = norm(x); query, key and value are three products of a, or where it is packed the three parts of one, qkv a;
       each is split into heads
    2. x = x + output(softmax(query key' / sqrt(numbers a head)) value), where a mask may leave out keys
    3. x = x + outer(gelu(inner norm(x)))

Python 3.6 and later, standard library only.
"""
from typing import NamedTuple

PARTS = ("query", "key", "value")          # of step 1, where they are three products


class Sizes(NamedTuple):
    """Layers, numbers a token, attention heads, numbers within the feed-forward part, tokens known, most positions."""

    layers: int
    width: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    length: int                # tokens of the longest sequence


class Form(NamedTuple):
    """What differs between models: attention's heads, gelu's formula, normalisation's epsilon, products of step 1."""

    heads: int
    gelu: str            # tanh or erf
    epsilon: float
    is_packed: bool = False      # one product for query, key and value


def arrays(width: int, inner: int, is_packed: bool = False):
    """(name within the layer, shape) of each array in order of computation; a name ends in its Parameter's kind."""
    three = sum((dense("attention." + part, width, width) for part in PARTS), ())
    return (norm("attention.norm", width) + (dense("attention.qkv", width, 3 * width) if is_packed else three)
            + dense("attention.output", width, width) + norm("norm", width)
            + dense("inner", width, inner) + dense("outer", inner, width))


def dense(name: str, inputs, outputs):
    """(name, shape) of a dense layer's arrays."""
    return ((name + ".weight", (outputs, inputs)), (name + ".bias", (outputs,)))


def norm(name: str, width: int):
    """(name, shape) of a layer normalisation's arrays."""
    return ((name + ".gamma", (width,)), (name + ".beta", (width,)))


def kind(name: str):
    """The Parameter's kind of an array of that name."""
    return name.rsplit(".", 1)[-1]


def multiply_adds(width: int, inner: int, tokens: int, pairs):
    """Of a layer's products for so many tokens, and so many pairs of a query and a key that it may see."""
    return tokens * (4 * width * width + 2 * width * inner) + 2 * pairs * width


def causal_pairs(first: int, end: int):
    """How many pairs there are of a query from position first on, before the end, and a key at or before it."""
    return (end * (end + 1) - first * (first + 1)) // 2
