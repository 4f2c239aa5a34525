"""A table of layers as a Keras model of TensorFlow's own layers. TensorFlow 1.15 and 2.x, Keras 2 and 3.

Keras names cannot hold every character of a path: "3.body.1" becomes "layer_3_body_1". The model's images are NHWC or
NCHW, by the layout; what goes in and out of this module is canonical, NCHW and OIHW.
"""
import contextlib
import inspect
from typing import Any, Callable, NamedTuple

import numpy as np
import tensorflow as tf

from workloads.frameworks.tensorflow.models import blocks, transformer
from workloads.spec import layers
from workloads.spec.models.transformer import Form

keras = tf.keras
_FORMATS = {"nhwc": "channels_last", "nchw": "channels_first"}


class Array(NamedTuple):
    """A model's variable with its way from the canonical array and back."""

    variable: Any
    native: Callable
    canonical: Callable


class Net:
    """A model under construction, then what it is made of, by path in the table.

    network: the keras.Model, images -> logits. all_outputs: the same layers, images -> the list of every place's
    output, in the order of `outputs`. arrays: an Array by canonical name.
    """

    def __init__(self, table, shape, layout, dtype, turns_weights):
        """turns_weights: as settings has it, of an encoder's."""
        self.layout, self.dtype, self.turns_weights = layout, dtype, turns_weights
        self.axis = 3 if layout == "nhwc" else 1
        self.leaves = {leaf.path: leaf for leaf in layers.leaves(table, shape)}
        self.outputs, self.arrays, self.dropouts = {}, {}, []
        self.flat = {}                # path -> (c, h, w) of a vector that still lies in the layout's order
        self.unfolded = None          # that shape, for the layer that comes next
        images = keras.Input(self.native_shape(shape), dtype=_storage(dtype))
        logits = run(table, images, self)
        self.network = keras.Model(images, logits)
        self.all_outputs = keras.Model(images, list(self.outputs.values()))

    def native_shape(self, shape):
        """(c, h, w) in the layout's order."""
        return (shape[1], shape[2], shape[0]) if self.layout == "nhwc" else tuple(shape)

    def native_images(self, images):
        """Images (n, c, h, w) in the layout's order."""
        return np.ascontiguousarray(images.transpose(0, 2, 3, 1)) if self.layout == "nhwc" else images

    def canonical(self, path, output):
        """The output of a place as the table shapes it: (n, c, h, w) or (n, units)."""
        output = np.asarray(output)
        out = self.leaves[path].out
        if len(out) == 3:
            native = output.reshape((-1,) + self.native_shape(out))
            return native.transpose(0, 3, 1, 2) if self.layout == "nhwc" else native
        if path in self.flat:
            channels, height, width = self.flat[path]
            output = output.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
        return output.reshape(-1, *out)

    def parameters(self):
        """How many numbers the optimizer updates."""
        return sum(int(np.prod(variable.shape)) for variable in self.network.trainable_weights)

    def load(self, weights):
        """Take the arrays by canonical name, in one call: an assignment each takes minutes in TensorFlow 1."""
        names = self.names(self.network.weights)
        self.network.set_weights([self.arrays[name].native(weights[name]) for name in names])

    def weights(self):
        """The arrays by canonical name."""
        return self.canonical_arrays(self.network.weights, self.network.get_weights())

    def names(self, variables):
        """The canonical names of variables of the model."""
        known = {id(array.variable): name for name, array in self.arrays.items()}
        return [known[id(variable)] for variable in variables]

    def canonical_arrays(self, variables, values):
        """The values of such variables, or their gradients, by canonical name."""
        return {name: np.ascontiguousarray(self.arrays[name].canonical(np.asarray(value)))
                for name, value in zip(self.names(variables), values)}

    @contextlib.contextmanager
    def without_dropout(self):
        """While it lasts, calls of the model compute without dropout in training mode."""
        rates = [(layer, layer.rate) for layer in self.dropouts]
        for layer, _ in rates:
            layer.rate = 0.0
        try:
            yield
        finally:
            for layer, rate in rates:
                layer.rate = rate

    def common(self, path):
        """The arguments of the layer at a path that every Keras layer takes."""
        return {"name": "layer_" + path.replace(".", "_"), "dtype": self.dtype}

    def spatial(self, path):
        """The same with the layout."""
        return dict(self.common(path), data_format=_FORMATS[self.layout])

    def keep(self, path, kinds, layer, native=None, canonical=None):
        """Remember a built layer's variables as path.kind; the two ways are of the first one, the others' are plain."""
        for index, (kind, variable) in enumerate(zip(kinds, layer.weights)):
            ways = (native, canonical) if native and not index else (_same, _same)
            self.arrays[layers.join(path, kind)] = Array(variable, *ways)


def run(table, x, net, path=""):
    """What comes out of a table on x; every place's output is kept in net.outputs."""
    for index, layer in enumerate(table):
        here = layers.join(path, index)
        x = _LAYERS[type(layer)](layer, x, net, here)
        net.outputs[here] = x
        if net.unfolded:
            net.flat[here] = net.unfolded
    return x


def conv(layer, x, net, path):
    """Padding within the layer where Keras' "same" is the table's: stride 1 and kernel // 2 around an odd kernel."""
    is_same = layer.stride == 1 and all(size % 2 and pad == size // 2 for size, pad in zip(layer.kernel, layer.pad))
    if any(layer.pad) and not is_same:
        x = keras.layers.ZeroPadding2D(layer.pad, **net.spatial(path + ".pad"))(x)
    padding = "same" if is_same else "valid"
    arguments = dict(net.spatial(path), strides=layer.stride, padding=padding, use_bias=layer.bias)
    channels = net.leaves[path].shape[0]
    ways = _to_hwio, _to_oihw
    if layer.groups == 1:
        built = keras.layers.Conv2D(layer.filters, layer.kernel, **arguments)
    elif layer.groups == channels:
        built = keras.layers.DepthwiseConv2D(layer.kernel, depth_multiplier=layer.filters // channels, **arguments)
        ways = _depthwise_ways(layer, channels)
    else:
        built = _Grouped(layer, padding, net, **net.common(path))
    x = built(x)
    net.keep(path, ("weight", "bias"), built, *ways)
    return x


class _Grouped(keras.layers.Layer):  # type: ignore[name-defined]
    """A convolution of each group of channels by itself: on a CPU no version here has gradients of grouped kernels."""

    def __init__(self, layer, padding, net, **arguments):
        super(_Grouped, self).__init__(**arguments)
        self._filters, self._window, self._groups = layer.filters, tuple(layer.kernel), layer.groups
        self._strides, self._padding, self._axis = layer.stride, padding.upper(), net.axis
        self._has_bias = layer.bias

    def build(self, shape):
        """Make the kernel (height, width, in / groups, out), as Keras' own grouped convolution has it."""
        shape = self._window + (int(shape[self._axis]) // self._groups, self._filters)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer="glorot_uniform")
        if self._has_bias:
            self.bias = self.add_weight(name="bias", shape=(self._filters,), initializer="zeros")
        self.built = True

    def call(self, x):
        """The groups' outputs side by side."""
        order = "NHWC" if self._axis == 3 else "NCHW"
        parts = zip(tf.split(x, self._groups, self._axis), tf.split(self.kernel, self._groups, 3))
        x = tf.concat([tf.nn.conv2d(part, kernel, self._strides, self._padding, data_format=order)
                       for part, kernel in parts], self._axis)
        return tf.nn.bias_add(x, self.bias, order) if self._has_bias else x


def norm(layer, x, net, path):
    """Batch normalisation over the channels' axis, by the fused kernel where Keras takes it by itself."""
    kind, arguments = keras.layers.BatchNormalization, net.common(path)
    if net.dtype == "float64" and "fused" in inspect.signature(kind.__init__).parameters:
        arguments["fused"] = False         # the fused kernel has no float64, and TensorFlow 1 would take it
    built = kind(axis=net.axis, momentum=layer.decay, epsilon=layer.epsilon, **arguments)
    x = built(x)
    net.keep(path, ("gamma", "beta", "mean", "variance"), built)
    return x


def act(layer, x, net, path):
    """The element-wise function by its name."""
    return keras.layers.Activation(_ACTS[layer.kind], **net.common(path))(x)


def pool(layer, x, net, path):
    """Padding before the window: Keras' own is not counted in a mean, and lies elsewhere where the stride is not 1."""
    if layer.pad:
        x = keras.layers.Lambda(_padded(layer, net.axis), **net.common(path + ".pad"))(x)
    kind = keras.layers.MaxPooling2D if layer.kind == "max" else keras.layers.AveragePooling2D
    return kind(layer.size, layer.stride, "valid", **net.spatial(path))(x)


def _padded(layer, axis):
    """A function that pads height and width: with minus infinity for max, with zeros for mean."""
    sides = [[0, 0]] + [[layer.pad, layer.pad]] * 2
    sides.insert(axis, [0, 0])
    fill = float("-inf") if layer.kind == "max" else 0
    return lambda x: tf.pad(x, sides, constant_values=fill)


def global_pool(layer, x, net, path):
    """The mean over height and width; the reshape only restores the two axes."""
    x = keras.layers.GlobalAveragePooling2D(**net.spatial(path))(x)
    shape = net.native_shape((net.leaves[path].shape[0], 1, 1))
    return keras.layers.Reshape(shape, **net.common(path + ".axes"))(x)


def residual(layer, x, net, path):
    """The body's output plus the shortcut's."""
    body = run(layer.body, x, net, layers.join(path, "body"))
    return keras.layers.Add(**net.common(path))([body, run(layer.shortcut, x, net, layers.join(path, "shortcut"))])


def branch(layer, x, net, path):
    """The branches' outputs side by side in the channels."""
    outs = [run(inner, x, net, layers.join(path, i)) for i, inner in enumerate(layer.branches)]
    return keras.layers.Concatenate(axis=net.axis, **net.common(path))(outs)


def squeeze_excite(layer, x, net, path):
    """x times a weight for each channel, computed from the channels' means."""
    weight = global_pool(layer, x, net, path)
    weight = _pointwise(layer.squeezed, layer.act, weight, net, path + ".squeeze")
    weight = _pointwise(net.leaves[path].shape[0], "sigmoid", weight, net, path + ".expand")
    return keras.layers.Multiply(**net.common(path + ".product"))([x, weight])


def _pointwise(filters, kind, x, net, path):
    """A 1x1 convolution with bias and its activation."""
    built = keras.layers.Conv2D(filters, 1, **net.spatial(path))
    x = built(x)
    net.keep(path, ("weight", "bias"), built, _to_hwio, _to_oihw)
    return keras.layers.Activation(_ACTS[kind], **net.common(path + ".act"))(x)


def flatten(layer, x, net, path):
    """As the layout orders it, which costs nothing; the next dense layer's rows are loaded in that order."""
    shape = net.leaves[path].shape
    if net.layout == "nhwc" and len(shape) == 3:
        net.unfolded = shape
    return keras.layers.Flatten(data_format="channels_last", **net.common(path))(x)


def dropout(layer, x, net, path):
    """Off where Net.dropouts' rates are 0."""
    built = keras.layers.Dropout(layer.rate, **net.common(path))
    net.dropouts.append(built)
    return built(x)


def dense(layer, x, net, path):
    """The product with the transposed weight, its rows ordered as the vector that comes in."""
    built = keras.layers.Dense(layer.units, **net.common(path))
    x = built(x)
    net.keep(path, ("weight", "bias"), built, *_dense_ways(layer.units, net.unfolded))
    net.unfolded = None
    return x


def _same(array):
    return array


def _to_hwio(array):
    return array.transpose(2, 3, 1, 0)


def _to_oihw(array):
    return array.transpose(3, 2, 0, 1)


def _depthwise_ways(layer, channels):
    """(c * m, 1, h, w) to (h, w, c, m) and back."""
    canonical = (channels, layer.filters // channels) + tuple(layer.kernel)
    return (lambda array: array.reshape(canonical).transpose(2, 3, 0, 1),
            lambda array: array.transpose(2, 3, 0, 1).reshape((layer.filters, 1) + tuple(layer.kernel)))


def _dense_ways(units, unfolded):
    """(out, in) to (in, out) and back; in is (c, h, w) there and (h, w, c) here where a flattened image comes in."""
    if not unfolded:
        return np.transpose, np.transpose
    channels, height, width = unfolded
    return (lambda array: array.reshape(units, channels, height, width).transpose(2, 3, 1, 0).reshape(-1, units),
            lambda array: array.reshape(height, width, channels, units).transpose(3, 2, 0, 1).reshape(units, -1))


def _storage(dtype):
    """The dtype of images: a mixed policy's layers cast them by themselves."""
    return dtype if isinstance(dtype, str) else "float32"


_ACTS = {"relu": tf.nn.relu, "relu6": tf.nn.relu6, "tanh": tf.tanh, "swish": tf.nn.swish, "sigmoid": tf.sigmoid}
class _Weighted(keras.layers.Layer):  # type: ignore[name-defined]
    """A layer of ours with arrays by their names, which call finds in self.named."""

    def __init__(self, shapes, **arguments):
        """shapes: (name, shape) of each array."""
        super(_Weighted, self).__init__(**arguments)
        self._shapes = tuple(shapes)

    def build(self, shape):
        """Make the arrays; numbers of our own are loaded into them, or Keras' defaults stay."""
        for name, size in self._shapes:
            kind = name.rsplit(".", 1)[-1]
            initial = {"gamma": "ones", "weight": "glorot_uniform"}.get(kind, "zeros")
            is_wide = kind in ("gamma", "beta") and "autocast" in inspect.signature(self.add_weight).parameters
            self.add_weight(name=name.replace(".", "_"), shape=size, initializer=initial,
                            **({"autocast": False} if is_wide else {}))      # as those of Keras 3's own norms
        self.built = True

    @property
    def named(self):
        """The arrays as tensors: cast where a policy of Keras computes in another type."""
        return {name: tf.convert_to_tensor(variable) for (name, _), variable in zip(self._shapes, self.weights)}

    def kept(self, x, net, path):
        """What the layer makes of x, once its variables are told to the net."""
        x = self(x)
        net.keep(path, [name for name, _ in self._shapes], self)
        return x


class _Tokens(_Weighted):
    """Pixels as tokens, (n, 1 + pixels, channels)."""

    def __init__(self, is_last, shapes, **arguments):
        """is_last: the channels are an image's last axis."""
        super(_Tokens, self).__init__(shapes, **arguments)
        self._is_last = is_last

    def call(self, x):
        """The pixels row after row, behind the first token, with positions."""
        x, named = x if self._is_last else tf.transpose(x, (0, 2, 3, 1)), self.named
        count, width = (int(size) for size in named["positions.weight"].shape)
        first = tf.tile(named["first.weight"][None], (tf.shape(x)[0], 1, 1))
        return tf.concat([first, tf.reshape(x, (-1, count - 1, width))], 1) + named["positions.weight"]


class _Encoder(_Weighted):
    """The steps of workloads/spec/models/transformer.py."""

    def __init__(self, form, turned, shapes, **arguments):
        """turned: the arrays that lie as (in, out)."""
        super(_Encoder, self).__init__(shapes, **arguments)
        self._form, self._kept_nowhere = form, blocks.Mode("native", is_training=False)
        self._turned = frozenset("." + name for name in turned)

    def call(self, x):
        """(n, tokens, numbers), as x."""
        named = blocks.Weights(("." + name, array) for name, array in self.named.items())
        named.turned = self._turned
        return transformer.layer(named, "", x, self._form, self._kept_nowhere, transformer.attention)


class _LayerNorm(_Weighted):
    """Each token with mean 0 and variance 1, as in the sequence models: the same operations in all versions."""

    def __init__(self, epsilon, shapes, **arguments):
        super(_LayerNorm, self).__init__(shapes, **arguments)
        self._epsilon = epsilon

    def call(self, x):
        """(n, tokens, numbers), as x."""
        named = blocks.Weights(("." + name, array) for name, array in self.named.items())
        return blocks.layer_norm(named, "", x, self._epsilon)


def tokens(layer, x, net, path):
    """The learned first token and positions around the pixels."""
    return _Tokens(net.layout == "nhwc", _shapes(layer, net, path), **net.common(path)).kept(x, net, path)


def encoder(layer, x, net, path):
    """A pre-norm transformer layer in which every token sees all."""
    form, shapes = Form(layer.heads, layer.gelu, layer.epsilon), dict(_shapes(layer, net, path))
    turned = [name for name, shape in shapes.items() if net.turns_weights and len(shape) == 2]
    shapes.update((name, shapes[name][::-1]) for name in turned)
    x = _Encoder(form, turned, shapes.items(), **net.common(path)).kept(x, net, path)
    for name in (layers.join(path, name) for name in turned):
        net.arrays[name] = Array(net.arrays[name].variable, np.transpose, np.transpose)
    return x


def layer_norm(layer, x, net, path):
    """Layer normalisation."""
    return _LayerNorm(layer.epsilon, _shapes(layer, net, path), **net.common(path)).kept(x, net, path)


def first(layer, x, net, path):
    """The first token's numbers."""
    return keras.layers.Lambda(lambda x: x[:, 0], **net.common(path))(x)


def _shapes(layer, net, path):
    """(name, shape) of the layer's arrays."""
    return layers.arrays(layer, net.leaves[path].shape)


_LAYERS = {layers.Conv: conv, layers.Norm: norm, layers.Act: act, layers.Pool: pool, layers.GlobalPool: global_pool,
           layers.Residual: residual, layers.Branch: branch, layers.SqueezeExcite: squeeze_excite,
           layers.Flatten: flatten, layers.Dropout: dropout, layers.Dense: dense, layers.Tokens: tokens,
           layers.Encoder: encoder, layers.LayerNorm: layer_norm, layers.First: first}
