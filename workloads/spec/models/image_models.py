"""Image models as tables of layers, each with the source of its numbers. The last layer has the classes' units.

A variant is part of the name: resnet50 is v1.5, with the stride in a block's 3x3 convolution; resnet50_v1 has it in the
first 1x1. The CIFAR forms of ResNet begin with a 3x3 convolution of stride 1 and have no pooling after it.
"""
from workloads.spec.layers import (
    Act,
    Branch,
    Conv,
    Dense,
    Dropout,
    Encoder,
    First,
    Flatten,
    GlobalPool,
    LayerNorm,
    Norm,
    Pool,
    Residual,
    SqueezeExcite,
    Tokens,
)


def _conv(filters, kernel, stride=1, pad=0, act="relu"):
    """A convolution with bias and its activation, as models before batch normalisation have it."""
    return (Conv(filters, (kernel, kernel), stride, (pad, pad), bias=True), Act(act))


def conv_norm(filters, kernel, stride=1, groups=1, act="relu"):
    """A convolution, normalised, and activated unless act is None; padded to keep the size at stride 1."""
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    pad = (kernel[0] // 2, kernel[1] // 2)
    return _normed(Conv(filters, kernel, stride, pad, groups), act)


def _normed(conv, act="relu"):
    return (conv, Norm()) + ((Act(act),) if act else ())


def _dense(units):
    return (Dense(units), Act(), Dropout(0.5))


# LeCun et al. 1998, as krisilias trains it: tanh, mean pooling, 32 pixels, three channels
LENET5 = (
    *_conv(6, 5, act="tanh"), Pool("mean", 2, 2),
    *_conv(16, 5, act="tanh"), Pool("mean", 2, 2),
    Flatten(), Dense(120), Act("tanh"), Dense(84), Act("tanh"), Dense(10),
)

# Krizhevsky et al. 2012 on one device: the paper's widths, without groups and local response normalisation
ALEXNET = (
    *_conv(96, 11, stride=4, pad=2), Pool("max", 3, 2),
    *_conv(256, 5, pad=2), Pool("max", 3, 2),
    *_conv(384, 3, pad=1), *_conv(384, 3, pad=1), *_conv(256, 3, pad=1), Pool("max", 3, 2),
    Flatten(), *_dense(4096), *_dense(4096), Dense(1000),
)

# Simonyan and Zisserman 2015, table 1, column D
_POOL = Pool("max", 2, 2)
VGG16 = (
    *_conv(64, 3, pad=1), *_conv(64, 3, pad=1), _POOL,
    *_conv(128, 3, pad=1), *_conv(128, 3, pad=1), _POOL,
    *_conv(256, 3, pad=1), *_conv(256, 3, pad=1), *_conv(256, 3, pad=1), _POOL,
    *_conv(512, 3, pad=1), *_conv(512, 3, pad=1), *_conv(512, 3, pad=1), _POOL,
    *_conv(512, 3, pad=1), *_conv(512, 3, pad=1), *_conv(512, 3, pad=1), _POOL,
    Flatten(), *_dense(4096), *_dense(4096), Dense(1000),
)


# He et al. 2016, table 1; the stems and heads of every ResNet
_STEM = (*conv_norm(64, 7, stride=2), Pool("max", 3, 2, pad=1))
_CIFAR_STEM = conv_norm(64, 3)
_HEAD = (GlobalPool(), Flatten(), Dense(1000))


def _basic(width: int, stride, is_first: bool):
    body = (*conv_norm(width, 3, stride), *conv_norm(width, 3, act=None))
    shortcut = conv_norm(width, 1, stride, act=None) if stride > 1 else ()
    return Residual(body, shortcut), Act()


def _bottleneck(width: int, stride, is_first: bool, v1=False):
    first, second = (stride, 1) if v1 else (1, stride)
    body = (*conv_norm(width, 1, first), *conv_norm(width, 3, second), *conv_norm(4 * width, 1, act=None))
    shortcut = conv_norm(4 * width, 1, stride, act=None) if is_first else ()
    return Residual(body, shortcut), Act()


def _bottleneck_v1(width: int, stride, is_first: bool):
    return _bottleneck(width, stride, is_first, v1=True)


def _stages(block, depths):
    """Four stages of residual blocks: the width doubles and, but for the first, the size halves."""
    layers = ()
    for stage, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if stage and not index else 1
            layers += block(64 * 2 ** stage, stride, not index)
    return layers


RESNET18 = (*_STEM, *_stages(_basic, (2, 2, 2, 2)), *_HEAD)
RESNET50 = (*_STEM, *_stages(_bottleneck, (3, 4, 6, 3)), *_HEAD)
RESNET50_V1 = (*_STEM, *_stages(_bottleneck_v1, (3, 4, 6, 3)), *_HEAD)
RESNET152 = (*_STEM, *_stages(_bottleneck, (3, 8, 36, 3)), *_HEAD)
RESNET18_CIFAR = (*_CIFAR_STEM, *_stages(_basic, (2, 2, 2, 2)), *_HEAD)
RESNET50_CIFAR = (*_CIFAR_STEM, *_stages(_bottleneck, (3, 4, 6, 3)), *_HEAD)


# Szegedy et al. 2016, without the auxiliary head; the branches' widths as the published weights have them
def _valid(filters, kernel, stride=1):
    return _normed(Conv(filters, (kernel, kernel), stride))


def _pooled(filters):
    return (Pool("mean", 3, 1, pad=1), *conv_norm(filters, 1))


def _inception_a(pooled):
    return Branch((conv_norm(64, 1), (*conv_norm(48, 1), *conv_norm(64, 5)),
                   (*conv_norm(64, 1), *conv_norm(96, 3), *conv_norm(96, 3)), _pooled(pooled)))


_INCEPTION_B = Branch((_valid(384, 3, 2), (*conv_norm(64, 1), *conv_norm(96, 3), *_valid(96, 3, 2)),
                       (Pool("max", 3, 2),)))


def _inception_c(width: int):
    row, column = (1, 7), (7, 1)
    return Branch((conv_norm(192, 1),
                   (*conv_norm(width, 1), *conv_norm(width, row), *conv_norm(192, column)),
                   (*conv_norm(width, 1), *conv_norm(width, column), *conv_norm(width, row),
                    *conv_norm(width, column), *conv_norm(192, row)),
                   _pooled(192)))


_INCEPTION_D = Branch(((*conv_norm(192, 1), *_valid(320, 3, 2)),
                       (*conv_norm(192, 1), *conv_norm(192, (1, 7)), *conv_norm(192, (7, 1)), *_valid(192, 3, 2)),
                       (Pool("max", 3, 2),)))
_SPLIT = Branch((conv_norm(384, (1, 3)), conv_norm(384, (3, 1))))
_INCEPTION_E = Branch((conv_norm(320, 1), (*conv_norm(384, 1), _SPLIT),
                       (*conv_norm(448, 1), *conv_norm(384, 3), _SPLIT), _pooled(192)))
INCEPTION_V3 = (
    *_valid(32, 3, 2), *_valid(32, 3), *conv_norm(64, 3), Pool("max", 3, 2),
    *_valid(80, 1), *_valid(192, 3), Pool("max", 3, 2),
    _inception_a(32), _inception_a(64), _inception_a(64), _INCEPTION_B,
    _inception_c(128), _inception_c(160), _inception_c(160), _inception_c(192), _INCEPTION_D,
    _INCEPTION_E, _INCEPTION_E, GlobalPool(), Dropout(0.5), Flatten(), Dense(1000),
)


def _inverted(inputs, filters, expansion, kernel, stride, act, squeeze=False):
    """An inverted residual block: 1x1 up, depthwise, 1x1 down without activation; residual where the shape stays."""
    width = inputs * expansion
    body = conv_norm(width, 1, act=act) if expansion > 1 else ()
    body += conv_norm(width, kernel, stride, groups=width, act=act)
    body += (SqueezeExcite(max(1, inputs // 4)),) if squeeze else ()
    body += conv_norm(filters, 1, act=None)
    return (Residual(body),) if stride == 1 and inputs == filters else body


def _inverted_stages(inputs, rows, act, squeeze=False):
    layers = ()
    for expansion, kernel, stride, filters, repeats in rows:
        for index in range(repeats):
            layers += _inverted(inputs, filters, expansion, kernel, 1 if index else stride, act, squeeze)
            inputs = filters
    return layers


# Sandler et al. 2018, table 2: expansion, kernel, stride, filters, repeats
_MOBILENET_ROWS = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 3, 2, 32, 3), (6, 3, 2, 64, 4), (6, 3, 1, 96, 3),
                   (6, 3, 2, 160, 3), (6, 3, 1, 320, 1))
MOBILENET_V2 = (
    *conv_norm(32, 3, 2, act="relu6"), *_inverted_stages(32, _MOBILENET_ROWS, "relu6"),
    *conv_norm(1280, 1, act="relu6"), GlobalPool(), Dropout(0.2), Flatten(), Dense(1000),
)

# Tan and Le 2019: B0's rows at width 1.4 (rounded to multiples of 8) and depth 1.8 (rounded up); no stochastic depth
_EFFICIENTNET_ROWS = ((1, 3, 1, 24, 2), (6, 3, 2, 32, 4), (6, 5, 2, 56, 4), (6, 3, 2, 112, 6), (6, 5, 1, 160, 6),
                      (6, 5, 2, 272, 8), (6, 3, 1, 448, 2))
EFFICIENTNET_B4 = (
    *conv_norm(48, 3, 2, act="swish"), *_inverted_stages(48, _EFFICIENTNET_ROWS, "swish", squeeze=True),
    *conv_norm(1792, 1, act="swish"), GlobalPool(), Dropout(0.4), Flatten(), Dense(1000),
)


def _vision_transformer(patch, width: int, depth, heads: int):
    """Patches by a convolution, pre-norm layers four times as wide inside, and the first token's numbers classified.

    Without dropout, and with epsilon 1e-6, as the public implementations have it (torchvision, timm). Queries, keys and
    values are three products, as in the authors' code, transformers and KerasHub; torchvision's and timm's pack them.
    """
    patches = Conv(width, (patch, patch), patch, bias=True)
    return (patches, Tokens(), *(depth * (Encoder(heads, 4 * width),)), LayerNorm(), First(), Dense(1000))


# Dosovitskiy et al. 2021, table 1: ViT-Base with patches of 16 pixels
VIT_B16 = _vision_transformer(16, 768, 12, 12)
# Touvron et al. 2021 (DeiT), table 1: the tiny one, here with patches of 4 pixels for images of 32
VIT_CIFAR = _vision_transformer(4, 192, 12, 3)
