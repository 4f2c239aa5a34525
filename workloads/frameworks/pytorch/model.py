"""A table as an nn.Sequential of PyTorch's own layers, named by the table's paths. PyTorch 1.4 and later."""
import torch
from torch import nn

from workloads.frameworks.pytorch.models import blocks, transformer
from workloads.spec import layers
from workloads.spec.models.transformer import PARTS

# what the two names of an array differ in
_OWN = {"gamma": "weight", "beta": "bias", "mean": "running_mean", "variance": "running_var"}


def build(table, shape):
    """The nn.Sequential of a table for input (N,) + shape; shape is (channels, height, width)."""
    built, before = [], None
    for layer in table:
        built.append(_LAYERS[type(layer)](layer, shape, before))
        shape, before = layers.shape_after((layer,), shape), layer
    return nn.Sequential(*built)


def tensors(net, parameters):
    """The net's tensors by canonical name, in order of parameters; their layouts are the canonical ones."""
    own = dict(net.named_parameters())
    own.update(net.named_buffers())
    return {parameter.name: own[_own_name(parameter)] for parameter in parameters}


def _own_name(parameter):
    head = parameter.name[:-len(parameter.kind)]
    return head + _OWN.get(parameter.kind, parameter.kind)


def conv(layer, shape, before):
    """The nn.Conv2d."""
    return nn.Conv2d(shape[0], layer.filters, layer.kernel, layer.stride, layer.pad, groups=layer.groups,
                     bias=layer.bias)


def norm(layer, shape, before):
    """The nn.BatchNorm2d; its momentum is the new mean's weight."""
    return nn.BatchNorm2d(shape[0], eps=layer.epsilon, momentum=1 - layer.decay)


def act(layer, shape, before):
    """The activation's module, in place where nothing else reads what it overwrites, neither forward nor backward."""
    if layer.kind in ("relu", "relu6"):
        kind = nn.ReLU if layer.kind == "relu" else nn.ReLU6
        return kind(inplace=isinstance(before, (layers.Conv, layers.Norm, layers.Dense, layers.Residual)))
    return {"tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "swish": getattr(nn, "SiLU", Swish)}[layer.kind]()


class Swish(nn.Module):
    """nn.SiLU for PyTorch before 1.7."""

    def forward(self, x):
        """x * sigmoid(x)."""
        return x * torch.sigmoid(x)


def pool(layer, shape, before):
    """The nn.MaxPool2d or nn.AvgPool2d."""
    if layer.kind == "max":
        return nn.MaxPool2d(layer.size, layer.stride, layer.pad)
    return nn.AvgPool2d(layer.size, layer.stride, layer.pad, count_include_pad=True)


def global_pool(layer, shape, before):
    """The nn.AdaptiveAvgPool2d to one pixel."""
    return nn.AdaptiveAvgPool2d(1)


def residual(layer, shape, before):
    """body(x) + shortcut(x)."""
    return Residual(build(layer.body, shape), build(layer.shortcut, shape))


class Residual(nn.Module):
    """The sum of two nets; an empty nn.Sequential is x itself."""

    def __init__(self, body, shortcut):
        super().__init__()
        self.body = body
        self.shortcut = shortcut

    def forward(self, x):
        """In place: a body ends in a normalisation or a convolution, whose output backward does not read."""
        out = self.body(x)
        out += self.shortcut(x)
        return out


def branch(layer, shape, before):
    """The branches' outputs, concatenated along the channels."""
    return Branch([build(inner, shape) for inner in layer.branches])


class Branch(nn.ModuleList):
    """Nets side by side on one input."""

    def forward(self, x):
        """The outputs in the order of the branches."""
        return torch.cat([net(x) for net in self], 1)


def squeeze_excite(layer, shape, before):
    """x scaled by what two 1x1 convolutions make of its channels' means."""
    return SqueezeExcite(shape[0], layer.squeezed, act(layers.Act(layer.act), shape, layers.Conv(0, (1, 1))))


class SqueezeExcite(nn.Module):
    """Pool, squeeze, activate, expand, sigmoid, scale."""

    def __init__(self, channels, squeezed, activation):
        super().__init__()
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.activation = activation
        self.expand = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        """x times a weight for each channel."""
        return torch.sigmoid(self.expand(self.activation(self.squeeze(self.mean(x))))) * x


def flatten(layer, shape, before):
    """The nn.Flatten, channels first in either memory format."""
    return nn.Flatten()


def dropout(layer, shape, before):
    """The nn.Dropout."""
    return nn.Dropout(layer.rate)


def dense(layer, shape, before):
    """The nn.Linear."""
    return nn.Linear(shape[0], layer.units)


def tokens(layer, shape, before):
    """The learned first token and positions around the pixels."""
    return Tokens(*layers.shape_after((layer,), shape))


class Tokens(nn.Module):
    """Pixels as tokens, (n, 1 + pixels, channels)."""

    def __init__(self, count, width):
        super().__init__()
        self.first, self.positions = nn.Embedding(1, width), nn.Embedding(count, width)

    def forward(self, x):
        """The pixels row after row; a view of memory that lies channels last."""
        pixels = x.flatten(2).transpose(1, 2)
        first = self.first.weight.expand(x.shape[0], 1, x.shape[1])
        return torch.cat([first.to(x.dtype), pixels], 1) + self.positions.weight


def encoder(layer, shape, before):
    """A pre-norm transformer layer in which every token sees all."""
    return Encoder(layer, shape[1])


class Encoder(nn.Module):
    """The steps of workloads/spec/models/transformer.py."""

    def __init__(self, layer, width):
        super().__init__()
        self.heads, self.gelu = layer.heads, layer.gelu
        self.is_fused = False
        self.attention = nn.ModuleDict([("norm", nn.LayerNorm(width, layer.epsilon))]
                                       + [(part, nn.Linear(width, width)) for part in PARTS + ("output",)])
        self.norm = nn.LayerNorm(width, layer.epsilon)
        self.inner, self.outer = nn.Linear(width, layer.inner), nn.Linear(layer.inner, width)

    def forward(self, x):
        """(n, tokens, numbers), as x."""
        normed = self.attention["norm"](x)
        query, key, value = (blocks.by_head(self.attention[part](normed), self.heads) for part in PARTS)
        mixed = transformer.attention(query, key, value, is_fused=self.is_fused).transpose(1, 2).flatten(2)
        x = x + self.attention["output"](mixed)
        return x + self.outer(transformer.gelu(self.inner(self.norm(x)), self.gelu))


def layer_norm(layer, shape, before):
    """The nn.LayerNorm."""
    return nn.LayerNorm(shape[1], layer.epsilon)


def first(layer, shape, before):
    """The first token's numbers."""
    return First()


class First(nn.Module):
    """(n, numbers) of (n, tokens, numbers)."""

    def forward(self, x):
        """A view."""
        return x[:, 0]


def fuse_attention(net):
    """Have the net's attention computed by PyTorch's one function for it."""
    for module in net.modules():
        if isinstance(module, Encoder):
            module.is_fused = True


_LAYERS = {layers.Conv: conv, layers.Norm: norm, layers.Act: act, layers.Pool: pool, layers.GlobalPool: global_pool,
           layers.Residual: residual, layers.Branch: branch, layers.SqueezeExcite: squeeze_excite,
           layers.Flatten: flatten, layers.Dropout: dropout, layers.Dense: dense, layers.Tokens: tokens,
           layers.Encoder: encoder, layers.LayerNorm: layer_norm, layers.First: first}
