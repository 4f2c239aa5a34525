"""LSTM layers in TensorFlow, by the cell's switch lstm. TensorFlow 1.15 and 2.x.

    native          keras.layers.LSTM as a user gets it: cuDNN on a GPU, Keras' loop on a CPU
    keras1, keras2  Keras' loop around an LSTMCell of implementation 1 (a product for each gate) or 2 (one for all)
    cell            tf.while_loop around plain operations, as LSTMCell of TensorFlow 1
    block           tf.while_loop around LSTMBlockCell, one operation a step
    cudnn           CudnnRNNV2 on a GPU, on cuDNN's own vector of weights; on a CPU BlockLSTM, TensorFlow's own
                    operation for a whole sequence

A layer's arrays lie as its kind wants them, as they would with anyone who uses it: transposing them each step would
cost as much as a short sequence.
"""
from typing import Any, Callable, NamedTuple

import numpy as np
import tensorflow as tf

from workloads.frameworks.tensorflow import settings
from workloads.frameworks.tensorflow.models import kernels
from workloads.frameworks.tensorflow.models.blocks import Mode
from workloads.process.errors import Unsupported
from workloads.spec.models import lstm_kernels

keras = tf.keras
_FUSED = ("CudnnRNN", "BlockLSTM", "LSTMBlockCell")


class Stored(NamedTuple):
    """A variable with the canonical arrays that it holds, and the ways between."""

    variable: Any
    names: tuple
    native: Callable          # of the canonical arrays, in order of names: the variable's array
    canonical: Callable       # of that: the canonical arrays
    still: int = 0            # how many of its numbers are no parameter's and never change


def variable(shape, dtype, is_trainable=True):
    """A variable of zeros, which load fills."""
    return tf.compat.v1.Variable(tf.zeros(shape, dtype), trainable=is_trainable, use_resource=True)


def lstm(weights, name, x, mode, lengths=None, is_reversed=False, time_major=False):
    """h of every step, in the order of x, of the LSTM called name over x (batch, time, numbers), from zeros.

    lengths (batch,): outputs past a sample's own end are zero, and a reversed layer begins at that end.
    """
    layer, axis = weights[name], 0 if time_major else 1
    if is_reversed:
        x = turned(x, lengths, axis)
    out = layer.whole(x if time_major == layer.is_time_major else tf.transpose(x, (1, 0, 2)), mode)
    out = out if time_major == layer.is_time_major else tf.transpose(out, (1, 0, 2))
    if lengths is not None:
        mask = tf.sequence_mask(lengths, tf.shape(x)[axis], out.dtype)
        out = out * tf.expand_dims(tf.transpose(mask) if time_major else mask, 2)
    return turned(out, lengths, axis) if is_reversed else out


def lstm_step(weights, name, x, state, mode):
    """(h, c) after one step of the LSTM called name; x (batch, numbers), state (h, c), each (batch, hidden)."""
    return weights[name].step(x, state, mode)


def kernel_of(operations):
    """What runs an LSTM, by the names of the operations that ran, as a fact; "not seen" where none are known."""
    fused = sorted({name.split("/")[-1] for name in operations if name.split("/")[-1].startswith(_FUSED)})
    return ", ".join(fused) or ("plain operations in a loop" if operations else "not seen")


def turned(x, lengths, axis):
    """x in reverse order of time, each sample within its own length."""
    if lengths is None:
        return tf.reverse(x, [axis])
    return tf.reverse_sequence(x, lengths, seq_axis=axis, batch_axis=1 - axis)


def unrolled(step, inputs, state, dtypes=None):
    """The outputs of step over the time of inputs, stacked: (time, batch, ...).

    inputs: a tensor (time, batch, ...) or a tuple of them; step(inputs of one time, state) gives (out, state), where
    out is a tensor of the first input's dtype, or as dtypes nests.
    """
    flat = tf.nest.flatten(inputs)
    time = tf.shape(flat[0])[0]
    dtypes = flat[0].dtype if dtypes is None else dtypes
    rows = [tf.TensorArray(x.dtype, time, element_shape=x.shape[1:]).unstack(x) for x in flat]
    outs = [tf.TensorArray(dtype, time) for dtype in tf.nest.flatten(dtypes)]

    def body(now, state, outs):
        out, state = step(tf.nest.pack_sequence_as(inputs, [row.read(now) for row in rows]), state)
        return now + 1, state, [array.write(now, x) for array, x in zip(outs, tf.nest.flatten(out))]

    _, _, outs = tf.while_loop(lambda now, *_: now < time, body, (tf.constant(0), state, outs),
                               maximum_iterations=_static(flat[0].shape[0]))
    return tf.nest.pack_sequence_as(dtypes, [array.stack() for array in outs])


def _static(size):
    """A dimension as an int, None where it is not known: TensorFlow 1 wraps it."""
    return getattr(size, "value", size)


def layer(name, inputs, hidden, cell, dtype, is_stepped=False):
    """The LSTM layer of a cell's kind: an object with stored, is_time_major, whole(x, mode), step(x, state, mode).

    dtype: a Keras dtype or policy; is_stepped: it is only asked for single steps. Raises Unsupported.
    """
    reason = lstm_kernels.missing("tensorflow", cell.device, cell.lstm)
    if reason:
        raise Unsupported(reason)
    if cell.lstm in ("native", "keras1", "keras2"):
        built = _Keras(name, inputs, hidden, cell.lstm, dtype)
        if cell.precision == "amp" or cell.loop == "xla":
            _try_gradients(built, cell)
        return built
    if cell.precision == "amp":
        raise Unsupported("TensorFlow's mixed precision is a policy of Keras' layers: lstm native, keras1 or keras2")
    if cell.precision == "float64" and cell.lstm != "cell":
        raise Unsupported("TensorFlow's fused LSTM operations have no float64 kernels: lstm native or cell")
    if cell.loop == "xla" and cell.lstm != "cell":
        raise Unsupported("TensorFlow's fused LSTM operations have no XLA form: lstm native or cell")
    if cell.lstm == "cudnn" and cell.device == "gpu" and not is_stepped:
        return _Cudnn(name, inputs, hidden, dtype)
    return _Joint(name, inputs, hidden, cell, dtype)


def _try_gradients(built, cell):
    """Raise Unsupported where a Keras layer cannot run as the cell says.

    In 2.5 its cuDNN form, which is traced on a CPU too, forbids bfloat16; in 2.4 XLA takes no variable into a loop.
    """
    def gradients():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(built.run_once())
        return tape.gradient(loss, [stored.variable for stored in built.stored])

    switches = settings.xla_switch() if cell.loop == "xla" else {}
    try:
        tf.function(gradients, autograph=False, **switches)()
    except (TypeError, tf.errors.OpError) as error:
        raise Unsupported("Keras' LSTM of TensorFlow %s cannot run with precision %s, loop %s here: %s" % (
            tf.__version__, cell.precision, cell.loop, str(error).strip().split("\n")[-1][:160])) from None


class _Layer:
    """What both kinds of layers share."""

    called = None  # type: Any   # the operation that it calls, where the profiler may see another name
    inputs = numbers = whole = None          # type: Any

    def run_once(self):
        """h of two steps of zeros: what shows which kernel runs."""
        return self.whole(tf.zeros((2, 2, self.inputs), self.numbers), Mode(None, is_training=False))


class _Keras(_Layer):
    """A layer of Keras; its arrays are (in, 4 hidden), the gates in the canonical order."""

    is_time_major = False

    def __init__(self, name, inputs, hidden, kind, dtype):
        arguments = {"name": name.replace(".", "_"), "dtype": dtype}
        if kind == "native":
            # TensorFlow 1's default is hard_sigmoid
            self._layer = keras.layers.LSTM(hidden, return_sequences=True, recurrent_activation="sigmoid", **arguments)
        else:
            cell = keras.layers.LSTMCell(hidden, recurrent_activation="sigmoid", implementation=int(kind[-1]),
                                         dtype=dtype)
            self._layer = keras.layers.RNN(cell, return_sequences=True, **arguments)
        self._layer.build((None, None, inputs))
        self.inputs, self.numbers = inputs, self._layer.weights[0].dtype
        self.stored = [Stored(variable, (name + "." + kind,), _transposed, lambda array: [_transposed(array)])
                       for variable, kind in zip(self._layer.weights, ("input.weight", "recurrent.weight", "bias"))]

    def whole(self, x, mode):
        """h of every step, (batch, time, hidden), in x's dtype."""
        return tf.cast(self._layer(x, training=mode.is_training), x.dtype)

    def step(self, x, state, mode):
        """(h, c) after one step."""
        _, (h, c) = self._layer.cell(x, list(state), training=mode.is_training)
        return h, c


def _transposed(array):
    return np.ascontiguousarray(array.T)


class _Joint(_Layer):
    """One kernel for input and state, (in + hidden, 4 hidden), its gates in the fused operations' order: i, g, f, o."""

    is_time_major = True

    def __init__(self, name, inputs, hidden, cell, dtype):
        self.inputs, self._hidden, self._kind = inputs, hidden, cell.lstm
        kernel, bias = variable((inputs + hidden, 4 * hidden), dtype), variable((4 * hidden,), dtype)
        self._variables, self.numbers = (kernel, bias), dtype
        both = (name + ".input.weight", name + ".recurrent.weight")
        self.stored = [
            Stored(kernel, both, lambda w, r: _swapped(np.concatenate([w, r], 1)).T,
                   lambda array: np.split(_swapped(array.T), [inputs], 1)),
            Stored(bias, (name + ".bias",), _swapped, lambda array: [_swapped(array)])]

    def whole(self, x, mode):
        """h of every step, (time, batch, hidden)."""
        kernel, bias = map(tf.convert_to_tensor, self._variables)         # read once, before the loop
        zeros = tf.zeros((tf.shape(x)[1], self._hidden), x.dtype)
        if self._kind == "cudnn":
            return kernels.block_lstm(x, zeros, kernel, bias)

        def step(now, state):
            state = self._stepped(now, state, kernel, bias)
            return state[0], state

        return unrolled(step, x, (zeros, zeros))

    def step(self, x, state, mode):
        """(h, c) after one step; that of cudnn is block's, since a whole sequence's kernel has none."""
        return self._stepped(x, state, *map(tf.convert_to_tensor, self._variables))

    def _stepped(self, x, state, kernel, bias):
        return (kernels.cell if self._kind == "cell" else kernels.block_cell)(x, state, kernel, bias)


class _Cudnn(_Layer):
    """cuDNN's own vector of all arrays, so that no step packs it. Keras packs its own in each call, as its users do."""

    is_time_major, called = True, kernels.CUDNN

    def __init__(self, name, inputs, hidden, dtype):
        self.inputs, self._hidden, self.numbers = inputs, hidden, dtype
        self._vector = variable((4 * hidden * (inputs + hidden + 2),), dtype)
        names = tuple(name + "." + kind for kind in ("input.weight", "recurrent.weight", "bias"))
        self.stored = [Stored(self._vector, names, kernels.cudnn_vector,
                              lambda array: kernels.cudnn_arrays(array, inputs, hidden), still=4 * hidden)]

    def whole(self, x, mode):
        """h of every step, (time, batch, hidden)."""
        zeros = tf.zeros((tf.shape(x)[1], self._hidden), x.dtype)
        return kernels.cudnn_lstm(x, zeros, tf.convert_to_tensor(self._vector), mode.is_training)


def _swapped(array):
    """The array with its four blocks of rows in the order 0, 2, 1, 3: from i, f, g, o to i, g, f, o, and back."""
    first, second, third, fourth = np.split(array, 4)
    return np.concatenate([first, third, second, fourth])
