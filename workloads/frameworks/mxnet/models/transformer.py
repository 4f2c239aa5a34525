"""The layer of spec/models/transformer.py in MXNet; the same functions as in the other frameworks' transformer.py.

x is (batch, time, numbers); queries, keys and values are (batch * heads, time, numbers of a head), which batch_dot
takes. How they are brought together is a function of the three, mix: all that differs between a whole pass, a prompt
and a token after it. MXNet 1.7 and 1.9.
"""
import functools
import math

import mxnet as mx

from workloads.frameworks.mxnet.graphs import ops
from workloads.frameworks.mxnet.models import blocks
from workloads.frameworks.mxnet.models.blocks import by_head, dense, layer_norm, of_heads
from workloads.spec.models.transformer import PARTS


def layer(weights, name, x, form, mode, mix):
    """Steps 1 to 3."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, form, mix))
    return mode.keep(name, x + fed_forward(weights, name, x, form))


def attended(weights, name, x, form, mix):
    """What attention adds to x."""
    x = layer_norm(weights, name + ".norm", x, form.epsilon)
    return dense(weights, name + ".output", of_heads(mix(*projected(weights, name, x, form)), form.heads))


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
    """Queries, keys and values of x (batch, time, 3 times the numbers); of one time step nothing is moved."""
    if x.shape[1] == 1:
        return [by_head(part, heads) for part in ops.split(x, 3, axis=2)]
    split = x.reshape((0, 0, 3, heads, -1)).transpose((2, 0, 3, 1, 4)).reshape((0, -3, 0, 0))
    return ops.split(split, 3, axis=0, squeeze_axis=True)


def gelu(x, formula):
    """x times the normal distribution's share below x, by erf or by tanh.

    (1 + tanh y) / 2 is sigmoid(2 y): as Activation oneDNN computes it, in place of the C library number by number.
    """
    if formula == "erf":
        return blocks.gelu(x)
    slope = math.sqrt(8 / math.pi)
    return x * ops.Activation(x * (slope * 0.044715 * ops.square(x) + slope), act_type="sigmoid")


def attention(query, key, value, bias=None):
    """Values mixed by each query's shares of the keys; a bias of -1e10 leaves nothing of a key.

    Where there are fewer heads of keys than of queries, each serves as many queries, side by side.
    """
    scores = ops.batch_dot(_grouped(query, key) / math.sqrt(query.shape[-1]), key, transpose_b=True)
    scores = _grouped(scores, query)
    shares = ops.softmax(scores if bias is None else scores + bias)
    return _grouped(ops.batch_dot(_grouped(shares, value), value), query)


def _grouped(x, key):
    """The rows of x by as many heads as the key has: one of fewer serves those of several, one after the other."""
    return x if x.shape[0] == key.shape[0] else x.reshape((key.shape[0], -1, x.shape[-1]))


def causal(x):
    """The mix in which each token of x sees itself and those before it."""
    steps = mx.nd.arange(x.shape[1], ctx=x.context, dtype=x.dtype)
    later = ops.broadcast_greater(steps.expand_dims(0), steps.expand_dims(1))
    return functools.partial(attention, bias=(later * -1e10).expand_dims(0))


class Cache:
    """The keys and values of every layer, (batch * heads, length, numbers of a head), allocated once.

    What was written is read alone.
    """

    def __init__(self, layers, shape, dtype, device):
        self._layers = [tuple(mx.nd.zeros(shape, device, dtype) for _ in range(2)) for _ in range(layers)]

    def prompt(self, index, mix):
        """The mix of a layer's first tokens, which are kept."""
        def kept(query, key, value):
            self._keep(index, 0, key, value)
            return mix(query, key, value)
        return kept

    def token(self, index, position):
        """The mix of the one token at the position, which is kept."""
        def mix(query, key, value):
            self._keep(index, position, key, value)
            return attention(query, *(ops.slice_axis(kept, axis=1, begin=0, end=position + 1)
                                      for kept in self._layers[index]))
        return mix

    def _keep(self, index, position, *new):
        for kept, each in zip(self._layers[index], new):
            kept[:, position:position + each.shape[1]] = each


class GivenCache:
    """The same for a graph, which writes to no array: the layers' arrays are given, and new ones are there in the end.

    A graph has one shape for all positions, so a token's query sees the whole arrays, those after it left out.
    """

    def __init__(self, layers):
        """layers: [keys of the first, its values, keys of the second, ...]"""
        self.layers = list(layers)
        self._places: tuple = ()              # what every layer's token needs to know of the position

    def prompt(self, index, mix):
        """The mix of a layer's first tokens, which are kept."""
        def kept(query, key, value):
            for place, new in enumerate((key, value), 2 * index):
                rest = ops.slice_axis(self.layers[place], axis=1, begin=new.shape[1], end=None)
                self.layers[place] = ops.concat(new, rest, dim=1)
            return mix(query, key, value)
        return kept

    def token(self, index, position):
        """The mix of the one token at the position (1,), which is kept."""
        self._places = self._places or self._placed(position)
        here, elsewhere, later = self._places

        def mix(query, key, value):
            for place, new in enumerate((key, value), 2 * index):
                self.layers[place] = self.layers[place] * elsewhere + new * here
            return attention(query, self.layers[2 * index], self.layers[2 * index + 1], bias=later)
        return mix

    def _placed(self, position):
        """1 where the token is kept, 1 where it is not, and the bias that leaves out what comes after it."""
        kept = self.layers[0]
        steps = mx.nd.arange(kept.shape[1], ctx=kept.context, dtype=kept.dtype)
        here = ops.broadcast_equal(position, steps).reshape((1, -1, 1))
        return here, 1 - here, ops.broadcast_lesser(position, steps).reshape((1, 1, -1)) * -1e10


def cross_entropy(logits, labels):
    """The mean of -log p(label): logits (n, classes), labels (n,)."""
    return -ops.pick(ops.log_softmax(logits), labels).mean()
