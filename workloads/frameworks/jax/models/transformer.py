"""The layer of spec/models/transformer.py in JAX; the same functions as in the other frameworks' transformer.py.

x is (batch, time, numbers); queries, keys and values are (batch, heads, time, numbers of a head). How they are brought
together is a function of the three, mix: all that differs between a whole pass, a prompt and a token after it.
"""
import functools
import math

import jax
import jax.numpy as jnp
from jax import lax

from workloads.frameworks.jax.models.blocks import by_head, dense, layer_norm, matmul
from workloads.spec.models.transformer import PARTS


def layer(weights, name, x, form, mode, mix):
    """Steps 1 to 3."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, form, mode, mix))
    return mode.keep(name, x + fed_forward(weights, name, x, form, mode))


def computed_once(x, mode):
    """x, a sum over all layers before, which a program that trains computes once.

    Else XLA on a CPU computes it again in each operation of the norm and of its gradient: to train a ViT of 12 layers
    took 1.29 times as long (jaxlib 0.10.2).
    """
    return lax.optimization_barrier(x) if mode.is_training and jax.default_backend() == "cpu" else x


def attended(weights, name, x, form, mode, mix):
    """What attention adds to x."""
    x = layer_norm(weights, name + ".norm", computed_once(x, mode), form.epsilon)
    mixed = mix(*projected(weights, name, x, form, mode))
    return dense(weights, name + ".output", mixed.transpose(0, 2, 1, 3).reshape(x.shape), mode)


def fed_forward(weights, name, x, form, mode):
    """What the feed-forward part adds to x."""
    x = layer_norm(weights, name + ".norm", computed_once(x, mode), form.epsilon)
    return dense(weights, name + ".outer", gelu(dense(weights, name + ".inner", x, mode), form.gelu), mode)


def projected(weights, name, x, form, mode):
    """Queries, keys and values of x."""
    if form.is_packed:
        return unpacked(dense(weights, name + ".qkv", x, mode), form.heads)
    return [by_head(dense(weights, name + "." + part, x, mode), form.heads) for part in PARTS]


def unpacked(x, heads):
    """Queries, keys and values of x (batch, time, 3 times the numbers)."""
    return x.reshape(x.shape[0], x.shape[1], 3, heads, -1).transpose(2, 0, 3, 1, 4)


@jax.named_scope("gelu")
def gelu(x, formula):
    """x times the normal distribution's share below x, by erf or by tanh."""
    return jax.nn.gelu(x, approximate=formula == "tanh")


@jax.named_scope("attention")
def attention(query, key, value, mode, seen=None, is_causal=False):
    """Values mixed by each query's shares of the keys that it sees: all, those before it, or where seen is true.

    Where there are fewer heads of keys than of queries, each serves as many queries, side by side.
    """
    if mode.attention != "plain":
        return _fused(mode.cast(query, key, value), mode.attention, seen, is_causal)
    if is_causal:
        seen = jnp.tril(jnp.ones((query.shape[2],) * 2, bool))
    scores = matmul(_grouped(query, key) / math.sqrt(query.shape[-1]), key.transpose(0, 1, 3, 2), mode)
    scores = scores.reshape(query.shape[:3] + key.shape[2:3])
    scores = scores.astype(jnp.promote_types(scores.dtype, jnp.float32))      # amp's shares are computed wide
    if seen is not None:
        scores = jnp.where(seen, scores, -jnp.inf)
    return matmul(_grouped(jax.nn.softmax(scores, -1), value), value, mode).reshape(query.shape)


def _grouped(x, key):
    """The rows of all heads of x that a head of the key serves, one after the other."""
    return x.reshape(key.shape[:2] + (-1, x.shape[-1]))


def _fused(parts, implementation, seen, is_causal):
    """By JAX's one function, which takes query, key and value as (batch, time, heads, numbers of a head)."""
    mask = None if seen is None else seen[None, None, None]
    mixed = jax.nn.dot_product_attention(*(each.transpose(0, 2, 1, 3) for each in parts), mask=mask,
                                         is_causal=is_causal, implementation=implementation)
    return mixed.transpose(0, 2, 1, 3)


def causal(mode):
    """The mix in which each token sees itself and those before it."""
    def mix(query, key, value):
        return attention(query, key, value, mode, is_causal=True)
    return mix


class Cache:
    """The keys and values of every layer, (batch, heads, length, numbers of a head).

    Arrays are never changed: what a program writes stands in arrays when its function returns. A program has one shape
    for all positions, so a token's query sees the whole arrays, those after it left out.
    """

    def __init__(self, arrays):
        self.arrays = list(arrays)

    def prompt(self, index, mode):
        """The mix of a layer's first tokens, which are kept."""
        def mix(query, key, value):
            self._keep(index, 0, key, value)
            return causal(mode)(query, key, value)
        return mix

    def token(self, index, position, mode):
        """The mix of the one token at the position, which is kept."""
        def mix(query, key, value):
            keys, values = self._keep(index, position, key, value)
            return attention(query, keys, values, mode, jnp.arange(keys.shape[2]) <= position)
        return mix

    def _keep(self, index, position, *new):
        write = functools.partial(lax.dynamic_update_slice_in_dim, start_index=position, axis=2)
        self.arrays[index] = tuple(write(kept, each.astype(kept.dtype))
                                   for kept, each in zip(self.arrays[index], new))
        return self.arrays[index]


def cleared(layers, shape, dtype):
    """The arrays of a Cache that has kept nothing."""
    return [tuple(jnp.zeros(shape, dtype) for _ in range(2)) for _ in range(layers)]
