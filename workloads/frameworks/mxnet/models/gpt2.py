"""GPT-2 (workloads/spec/models/gpt2.py) in MXNet, without generation: no cache of keys and values is written here."""
import math

import mxnet as mx

from workloads.frameworks.mxnet.models.blocks import attention, cross_entropy, dense, embedding, layer_norm, linear
from workloads.spec.models.gpt2 import form


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits of every position (batch * time, tokens known)."""
    x = mode.keep("embeddings", embeddings(weights, batch["ids"]))
    bias = left_out(x)
    for index in range(sizes.layers):
        x = layer(weights, "layers.%d" % index, x, form(sizes), bias, mode)
    return predictions(weights, x.reshape((-3, 0)), sizes, mode)


def loss(logits, batch, sizes):
    """Step 4."""
    labels = batch["labels"].reshape((-1,))
    return cross_entropy(logits, labels, mx.nd.ones_like(labels).astype(logits.dtype))


def embeddings(weights, ids):
    """Step 1: (batch, time, numbers)."""
    positions = mx.nd.slice_axis(weights["embeddings.positions.weight"], axis=0, begin=0, end=ids.shape[1])
    return embedding(weights, "embeddings.tokens", ids) + positions


def predictions(weights, x, sizes, mode):
    """Step 3 at the positions x (n, numbers)."""
    x = mode.keep("norm", layer_norm(weights, "norm", x, form(sizes).epsilon))
    return linear(weights, "embeddings.tokens", x)


def layer(weights, name, x, form, bias, mode):
    """Steps 1 to 3 of workloads/spec/models/transformer.py."""
    x = mode.keep(name + ".attention", x + attended(weights, name + ".attention", x, form, bias, mode))
    return mode.keep(name, x + fed_forward(weights, name, x, form))


def attended(weights, name, x, form, bias, mode):
    """What attention adds to x."""
    x = layer_norm(weights, name + ".norm", x, form.epsilon)
    query, key, value = mx.nd.split(dense(weights, name + ".qkv", x), 3, axis=2)
    return dense(weights, name + ".output", attention(query, key, value, form.heads, bias, 0.0, mode))


def fed_forward(weights, name, x, form):
    """What the feed-forward part adds to x."""
    x = layer_norm(weights, name + ".norm", x, form.epsilon)
    return dense(weights, name + ".outer", gelu(dense(weights, name + ".inner", x)))


def gelu(x):
    """x times the normal distribution's share below x, by tanh."""
    return 0.5 * x * (1 + mx.nd.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def left_out(x):
    """(1, 1, time, time): 0 where a query may see a key, a score that leaves nothing of it elsewhere."""
    steps = mx.nd.arange(x.shape[1], ctx=x.context, dtype=x.dtype)
    later = mx.nd.broadcast_greater(steps.expand_dims(0), steps.expand_dims(1))
    return (later * -1e10).reshape((1, 1, x.shape[1], x.shape[1]))
