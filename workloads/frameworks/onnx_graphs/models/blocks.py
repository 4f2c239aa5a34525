"""What the transformers are made of, in ONNX's operations; names as in the frameworks' blocks.py and transformer.py.

x is (batch, time, numbers) unless a function says otherwise.
"""
import math

import numpy as np


def dense(graph, name, x):
    """x times name.weight (out, in) plus name.bias."""
    product = graph.add("MatMul", x, graph.transposed(name + ".weight"))
    return graph.add("Add", product, graph.weight(name + ".bias"))


def layer_norm(graph, name, x, epsilon):
    """x with mean 0 and variance 1 over its last axis, times name.gamma plus name.beta."""
    return graph.add("LayerNormalization", x, graph.weight(name + ".gamma"), graph.weight(name + ".beta"),
                     epsilon=epsilon)


def gelu(graph, x, formula="erf"):
    """x times the normal distribution's share below x, by erf or by tanh."""
    return graph.add("Gelu", x, approximate="none" if formula == "erf" else "tanh")


def attention(graph, query, key, value, heads, width, bias=None):
    """Values mixed by each query's shares of the keys; bias, (batch, 1, 1, time of key), is added to the scores."""
    query, value = (_by_head(graph, x, heads, (0, 2, 1, 3)) for x in (query, value))
    query = graph.add("Div", query, np.float32(math.sqrt(width // heads)))
    scores = graph.add("MatMul", query, _by_head(graph, key, heads, (0, 2, 3, 1)))
    scores = graph.add("Add", scores, bias) if bias else scores
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    return graph.add("Reshape", graph.add("Transpose", mixed, perm=(0, 2, 1, 3)), [0, 0, width])


def _by_head(graph, x, heads, order):
    """x (batch, time, heads, numbers of a head) in an order of these axes."""
    return graph.add("Transpose", graph.add("Reshape", x, [0, 0, heads, -1]), perm=order)
