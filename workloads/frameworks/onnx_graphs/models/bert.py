"""BERT (spec/models/bert.py) as an ONNX graph, in evaluation mode: dropout is left out."""
import numpy as np

from workloads.frameworks.onnx_graphs.models.blocks import attention, dense, gelu, layer_norm
from workloads.spec.models.bert import EPSILON, PADDING_BIAS

INPUTS = ("ids", "types", "mask", "positions")         # of a batch


def forward(graph, batch, sizes):
    """The logits of the masked positions (batch * masked, tokens known); batch has the names of INPUTS."""
    x = graph.keep("embeddings", embeddings(graph, batch))
    padding = graph.add("Mul", graph.add("Sub", np.float32(1), batch["mask"]), np.float32(PADDING_BIAS))
    bias = graph.add("Unsqueeze", padding, [1, 2])
    for index in range(sizes.layers):
        name = "layers.%d" % index
        x = graph.keep(name + ".attention", attended(graph, name + ".attention", x, sizes, bias))
        x = graph.keep(name, fed_forward(graph, name, x))
    return predictions(graph, x, batch["positions"], sizes.width)


def embeddings(graph, batch):
    """Step 1."""
    length = graph.add("Shape", batch["ids"], start=1, end=2)
    positions = graph.add("Slice", graph.weight("embeddings.positions.weight"), [0], length, [0])
    tokens, types = (graph.add("Gather", graph.weight("embeddings.%s.weight" % name), batch[ids])
                     for name, ids in (("tokens", "ids"), ("types", "types")))
    x = graph.add("Add", graph.add("Add", tokens, positions), types)
    return layer_norm(graph, "embeddings.norm", x, EPSILON)


def attended(graph, name, x, sizes, bias):
    """Step 2."""
    query, key, value = (dense(graph, name + part, x) for part in (".query", ".key", ".value"))
    mixed = dense(graph, name + ".output", attention(graph, query, key, value, sizes.heads, sizes.width, bias))
    return layer_norm(graph, name + ".norm", graph.add("Add", x, mixed), EPSILON)


def fed_forward(graph, name, x):
    """Step 3."""
    out = dense(graph, name + ".outer", gelu(graph, dense(graph, name + ".inner", x)))
    return layer_norm(graph, name + ".norm", graph.add("Add", x, out), EPSILON)


def predictions(graph, x, positions, width):
    """Step 4."""
    x = graph.add("Gather", graph.add("Reshape", x, [-1, width]), graph.add("Reshape", positions, [-1]))
    x = layer_norm(graph, "head.norm", gelu(graph, dense(graph, "head.transform", x)), EPSILON)
    return graph.add("Gemm", x, graph.weight("embeddings.tokens.weight"), graph.weight("head.bias"), transB=1)
