"""Image models in gluon: a table of layers as a HybridBlock of native layers. MXNet 1.7 and 1.9.

Every block's prefix is its path in the table, so a parameter's name is its canonical one ("3.body.1.gamma") but for the
running statistics. Input sizes come from the table: nothing waits for a first batch to learn its shape.
"""
import mxnet as mx
from mxnet.gluon import nn

from workloads.frameworks.forward_pass import Mode
from workloads.frameworks.mxnet.graphs import Graph, Traced, ops
from workloads.frameworks.mxnet.models import transformer
from workloads.frameworks.mxnet.models.blocks import layer_norm
from workloads.spec import layers
from workloads.spec.models.transformer import Form


def build(table, shape):
    """The HybridSequential of a table on input (N,) + shape, and every place's block by its path."""
    blocks = {}
    return sequence(table, shape, "", blocks), blocks


def sequence(table, shape, path, blocks):
    """The layers of a table one after the other; an empty table gives back its input."""
    net = nn.HybridSequential(prefix=path + ".")
    for index, layer in enumerate(table):
        here = layers.join(path, index)
        blocks[here] = _LAYERS[type(layer)](layer, shape, here, blocks)
        net.add(blocks[here])
        shape = layers.shape_after((layer,), shape)
    return net


def conv(layer, shape, path, blocks):
    """A convolution with explicit padding in pixels."""
    return nn.Conv2D(layer.filters, layer.kernel, layer.stride, layer.pad, groups=layer.groups, use_bias=layer.bias,
                     in_channels=shape[0], prefix=path + ".")


def norm(layer, shape, path, blocks):
    """A batch normalisation; gluon's momentum is the old mean's weight, as decay is."""
    return nn.BatchNorm(momentum=layer.decay, epsilon=layer.epsilon, in_channels=shape[0], prefix=path + ".")


def act(layer, shape, path, blocks):
    """The element-wise function by its name."""
    return activation(layer.kind, path)


def activation(kind, path):
    """gluon's own layer where it has one; its Swish multiplies by beta = 1 first, which costs a pass more."""
    if kind == "relu6":
        return nn.HybridLambda(lambda F, x: F.clip(x, 0, 6), prefix=path + ".")
    if kind == "swish":
        return nn.HybridLambda(lambda F, x: F.elemwise_mul(x, F.sigmoid(x)), prefix=path + ".")
    return nn.Activation(kind, prefix=path + ".")


def pool(layer, shape, path, blocks):
    """The greatest or the mean of each window; a mean counts padded pixels as zeros."""
    size = (layer.size, layer.size)
    if layer.kind == "max":
        return nn.MaxPool2D(size, layer.stride, layer.pad, prefix=path + ".")
    return nn.AvgPool2D(size, layer.stride, layer.pad, count_include_pad=True, prefix=path + ".")


def global_pool(layer, shape, path, blocks):
    """The mean over height and width, which become 1."""
    return nn.GlobalAvgPool2D(prefix=path + ".")


def residual(layer, shape, path, blocks):
    """The body's output plus the shortcut's."""
    return Residual(*(sequence(part, shape, layers.join(path, name), blocks)
                      for name, part in (("body", layer.body), ("shortcut", layer.shortcut))), prefix=path + ".")


class Residual(nn.HybridBlock):
    """body(x) + shortcut(x)."""

    def __init__(self, body, shortcut, **names):
        super().__init__(**names)
        self.body, self.shortcut = body, shortcut

    def hybrid_forward(self, F, x):
        """elemwise_add, not +, which broadcasts in eager mode."""
        return F.elemwise_add(self.body(x), self.shortcut(x))


def branch(layer, shape, path, blocks):
    """The branches' outputs side by side in the channels."""
    return Branch([sequence(part, shape, layers.join(path, index), blocks)
                   for index, part in enumerate(layer.branches)], prefix=path + ".")


class Branch(nn.HybridBlock):
    """The concatenation of what each branch makes of x."""

    def __init__(self, branches, **names):
        super().__init__(**names)
        self.branches = branches
        for inner in branches:
            self.register_child(inner)

    def hybrid_forward(self, F, x):
        """(N, sum of channels, height, width)."""
        return F.concat(*[inner(x) for inner in self.branches], dim=1)


def squeeze_excite(layer, shape, path, blocks):
    """x times a weight for each channel, computed from the channels' means."""
    return SqueezeExcite(layer, shape[0], path, prefix=path + ".")


class SqueezeExcite(nn.HybridBlock):
    """x times sigmoid(expand(act(squeeze(mean of x)))), both 1x1 convolutions with bias."""

    def __init__(self, layer, channels, path, **names):
        super().__init__(**names)
        self.mean = nn.GlobalAvgPool2D()
        self.squeeze = nn.Conv2D(layer.squeezed, 1, in_channels=channels, prefix=path + ".squeeze.")
        self.act = activation(layer.act, path + ".act")
        self.expand = nn.Conv2D(channels, 1, in_channels=layer.squeezed, prefix=path + ".expand.")

    def hybrid_forward(self, F, x):
        """(N, channels, height, width), as x."""
        return F.broadcast_mul(x, F.sigmoid(self.expand(self.act(self.squeeze(self.mean(x))))))


def flatten(layer, shape, path, blocks):
    """Channels first, then rows, then columns."""
    return nn.Flatten(prefix=path + ".")


def dropout(layer, shape, path, blocks):
    """Zeroes a share of the values while recording for gradients."""
    return nn.Dropout(layer.rate, prefix=path + ".")


def dense(layer, shape, path, blocks):
    """A fully connected layer; its weight is (out, in)."""
    return nn.Dense(layer.units, in_units=shape[0], prefix=path + ".")


def by_operation(kind):
    """The way to make a layer that is a block of the kind."""
    return lambda layer, shape, path, blocks: kind(layer, shape, prefix=path + ".")


_KEPT_NOWHERE = Mode("native", is_training=False)


class Weighted(nn.HybridBlock):
    """A layer as operations on arrays, like the sequence models': in gluon's graph, on what stands for them."""

    def __init__(self, layer, shape, **names):
        """shape: of a sample of the input."""
        super().__init__(**names)
        self._layer, self._shape = layer, shape
        for name, own in layers.arrays(layer, shape):
            setattr(self, name, self.params.get(name, shape=own))

    def hybrid_forward(self, F, x, **weights):
        """What the layer gives."""
        if F is mx.nd:
            return self.given({"." + name: array for name, array in weights.items()}, x)
        graph, samples = Graph(), 2              # of one sample, arrays would have the shape of what is added to each
        own = {name: getattr(self, name) for name in weights}
        numbers = next((parameter.dtype for parameter in own.values()), "float32")
        standing = {"." + name: Traced(graph, symbol, mx.nd.zeros(own[name].shape, dtype=numbers))
                    for name, symbol in weights.items()}
        return self.given(standing, Traced(graph, x, mx.nd.zeros((samples,) + self._shape, dtype=numbers))).symbol

    def given(self, weights, x):
        """The same of arrays, or of what stands for them in a graph; the weights' names begin with a dot."""
        raise NotImplementedError


class Tokens(Weighted):
    """Pixels as tokens, (N, 1 + pixels, channels), row after row behind the learned first one, with positions."""

    def given(self, weights, x):
        """The tokens of x (N, channels, height, width)."""
        pixels = x.reshape((0, 0, -1)).transpose((0, 2, 1))
        first = ops.broadcast_like(weights[".first.weight"].expand_dims(0), pixels, lhs_axes=(0,), rhs_axes=(0,))
        return ops.concat(first, pixels, dim=1) + weights[".positions.weight"].expand_dims(0)


class Encoder(Weighted):
    """The steps of workloads/spec/models/transformer.py; every token sees all."""

    def given(self, weights, x):
        """(N, tokens, numbers), as x."""
        form = Form(self._layer.heads, self._layer.gelu, self._layer.epsilon)
        return transformer.layer(weights, "", x, form, _KEPT_NOWHERE, transformer.attention)


class LayerNorm(Weighted):
    """Each token with mean 0 and variance 1."""

    def given(self, weights, x):
        """(N, tokens, numbers), as x."""
        return layer_norm(weights, "", x, self._layer.epsilon)


class First(Weighted):
    """The first token."""

    def given(self, weights, x):
        """(N, numbers) of x (N, tokens, numbers)."""
        return ops.slice_axis(x, axis=1, begin=0, end=1).reshape((0, -1))


_LAYERS = {layers.Conv: conv, layers.Norm: norm, layers.Act: act, layers.Pool: pool, layers.GlobalPool: global_pool,
           layers.Residual: residual, layers.Branch: branch, layers.SqueezeExcite: squeeze_excite,
           layers.Flatten: flatten, layers.Dropout: dropout, layers.Dense: dense,
           layers.Tokens: by_operation(Tokens), layers.Encoder: by_operation(Encoder),
           layers.LayerNorm: by_operation(LayerNorm), layers.First: by_operation(First)}
