"""The layer types of image models, and what follows from a table of them: shapes, parameters, FLOPs.

A table is a tuple of layers; shapes are (channels, height, width), (tokens, numbers) from Tokens to First, or (units,)
after Flatten or First. Padding is explicit pixels on both sides. Dispatch on a layer's type, never on equality or
truth: two NamedTuples of different types can be equal, and an empty one is falsy. Python 3.6 and later, standard
library only.
"""
from typing import NamedTuple, Tuple

from workloads.spec.models import transformer

Shape = Tuple[int, ...]


class Conv(NamedTuple):
    """Convolution (cross-correlation) with kernel (height, width)."""

    filters: int
    kernel: Tuple[int, int]
    stride: int = 1
    pad: Tuple[int, int] = (0, 0)
    groups: int = 1
    bias: bool = False


class Norm(NamedTuple):
    """Batch normalisation over every axis but the channels; decay is the old mean's weight in the running one."""

    epsilon: float = 1e-5
    decay: float = 0.9


class Act(NamedTuple):
    """An element-wise activation: relu, relu6, tanh, swish or sigmoid."""

    kind: str = "relu"


class Pool(NamedTuple):
    """Pooling, kind max or mean; padded pixels are minus infinity for max, and count as zeros for mean."""

    kind: str
    size: int
    stride: int
    pad: int = 0


class GlobalPool(NamedTuple):
    """The mean over height and width, which become 1."""

    kind: str = "mean"


class Residual(NamedTuple):
    """body(x) + shortcut(x); an empty shortcut is x itself."""

    body: tuple
    shortcut: tuple = ()


class Branch(NamedTuple):
    """The branches' outputs, concatenated along the channels."""

    branches: tuple


class SqueezeExcite(NamedTuple):
    """x times sigmoid(expand(act(squeeze(mean of x)))), both 1x1 convolutions with bias."""

    squeezed: int
    act: str = "swish"


class Flatten(NamedTuple):
    """Channels first in every framework: (c, h, w) becomes (c * h * w,)."""


class Dropout(NamedTuple):
    """Zeroes a share of the values while training."""

    rate: float


class Dense(NamedTuple):
    """A fully connected layer with bias."""

    units: int


class Tokens(NamedTuple):
    """Each pixel as a token of as many numbers as it has channels, behind a learned first one; positions are added."""


class Encoder(NamedTuple):
    """spec.transformer's layer, in which every token sees all."""

    heads: int
    inner: int
    gelu: str = "erf"
    epsilon: float = 1e-6


class LayerNorm(NamedTuple):
    """Layer normalisation over each token's numbers."""

    epsilon: float = 1e-6


class First(NamedTuple):
    """The first token."""


class Placed(NamedTuple):
    """A layer at its path in the table, with the shapes that go in and come out."""

    path: str
    layer: tuple
    shape: Shape
    out: Shape


class Parameter(NamedTuple):
    """One array of a model in canonical layout: convolutions (out, in / groups, height, width), dense (out, in)."""

    name: str
    kind: str               # weight, bias, gamma, beta; mean and variance are running statistics
    shape: Shape

    @property
    def is_trainable(self) -> bool:
        """Whether the optimizer updates it."""
        return self.kind not in ("mean", "variance")


def leaves(table, shape, path: str = ""):
    """The tuple of Placed leaves of a table in order of computation, for an input of shape, without the batch."""
    placed = []
    for index, layer in enumerate(table):
        here = join(path, index)
        placed += _inside(layer, shape, here)
        out = _out(layer, shape)
        placed.append(Placed(here, layer, shape, out))
        shape = out
    return tuple(placed)


def join(path: str, step):
    """The path of what lies at step (an index or a word) below path."""
    return "%s.%s" % (path, step) if path else str(step)


def _inside(layer, shape, path: str):
    if isinstance(layer, Residual):
        return leaves(layer.body, shape, join(path, "body")) + leaves(layer.shortcut, shape, join(path, "shortcut"))
    if isinstance(layer, Branch):
        return sum((leaves(branch, shape, join(path, i)) for i, branch in enumerate(layer.branches)), ())
    return ()


def shape_after(table, shape):
    """The shape that comes out of a table."""
    for layer in table:
        shape = _out(layer, shape)
    return shape


def _out(layer, shape):
    if isinstance(layer, Conv):
        return (layer.filters,) + tuple(_slid(size, kernel, layer.stride, pad, shape)
                                        for size, kernel, pad in zip(shape[1:], layer.kernel, layer.pad))
    if isinstance(layer, Pool):
        return (shape[0],) + tuple(_slid(size, layer.size, layer.stride, layer.pad, shape) for size in shape[1:])
    if isinstance(layer, Tokens):
        return (1 + shape[1] * shape[2], shape[0])
    if isinstance(layer, First):
        return (shape[1],)
    if isinstance(layer, GlobalPool):
        return (shape[0], 1, 1)
    if isinstance(layer, Residual):
        return _same(shape_after(layer.body, shape), shape_after(layer.shortcut, shape))
    if isinstance(layer, Branch):
        outs = [shape_after(branch, shape) for branch in layer.branches]
        return (sum(out[0] for out in outs),) + _same(*(out[1:] for out in outs))
    if isinstance(layer, Flatten):
        size = 1
        for length in shape:
            size *= length
        return (size,)
    if isinstance(layer, Dense):
        return (layer.units,)
    return shape


def _slid(size, kernel, stride, pad, shape):
    slid = (size + 2 * pad - kernel) // stride + 1
    if slid < 1:
        raise ValueError("a window of %d does not fit into %r with padding %d" % (kernel, shape, pad))
    return slid


def _same(*shapes):
    if len(set(shapes)) != 1:
        raise ValueError("shapes that must agree: %s" % (shapes,))
    return shapes[0]


def parameters(table, shape):
    """The tuple of Parameter of a table on an input of shape, running statistics included, in order of computation."""
    all_parameters = []
    for leaf in leaves(table, shape):
        for kind, size in arrays(leaf.layer, leaf.shape):
            all_parameters.append(Parameter(join(leaf.path, kind), kind.rsplit(".")[-1], size))
    return tuple(all_parameters)


def arrays(layer, shape):
    """(name within the layer, shape) of each of its arrays; a name ends in its Parameter's kind."""
    if isinstance(layer, Conv):
        weight = [("weight", (layer.filters, shape[0] // layer.groups) + tuple(layer.kernel))]
        return weight + ([("bias", (layer.filters,))] if layer.bias else [])
    if isinstance(layer, Norm):
        return [(kind, (shape[0],)) for kind in ("gamma", "beta", "mean", "variance")]
    if isinstance(layer, SqueezeExcite):
        return [("squeeze.weight", (layer.squeezed, shape[0], 1, 1)), ("squeeze.bias", (layer.squeezed,)),
                ("expand.weight", (shape[0], layer.squeezed, 1, 1)), ("expand.bias", (shape[0],))]
    if isinstance(layer, Dense):
        return [("weight", (layer.units, shape[0])), ("bias", (layer.units,))]
    if isinstance(layer, Tokens):
        tokens, numbers = _out(layer, shape)
        return [("first.weight", (1, numbers)), ("positions.weight", (tokens, numbers))]
    if isinstance(layer, Encoder):
        return list(transformer.arrays(shape[1], layer.inner))
    if isinstance(layer, LayerNorm):
        return [("gamma", (shape[1],)), ("beta", (shape[1],))]
    return []


def parameter_count(table, shape):
    """How many numbers the optimizer updates."""
    return sum(_product(parameter.shape) for parameter in parameters(table, shape) if parameter.is_trainable)


def forward_flops(table, shape):
    """FLOPs of one sample's forward pass: products of convolutions and dense layers, a multiply-add counted as 2.

    Element-wise work (activation, normalisation, pooling, bias) is left out, as in the papers that count multiply-adds.
    Training is counted as 3 times that: the gradients of inputs and of weights cost one forward pass each.
    """
    return 2 * sum(_multiply_adds(leaf) for leaf in leaves(table, shape))


def _multiply_adds(leaf):
    layer = leaf.layer
    if isinstance(layer, Conv):
        return _product(leaf.out) * (leaf.shape[0] // layer.groups) * _product(layer.kernel)
    if isinstance(layer, SqueezeExcite):
        return 2 * layer.squeezed * leaf.shape[0]
    if isinstance(layer, Dense):
        return layer.units * leaf.shape[0]
    if isinstance(layer, Encoder):
        tokens, width = leaf.shape
        return transformer.multiply_adds(width, layer.inner, tokens, tokens * tokens)
    return 0


def _product(lengths):
    product = 1
    for length in lengths:
        product *= length
    return product
