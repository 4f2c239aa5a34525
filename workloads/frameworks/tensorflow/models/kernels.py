"""TensorFlow's operations for an LSTM: of one step and of a whole sequence. TensorFlow 1.15 and 2.x.

kernel (in + hidden, 4 hidden), bias (4 hidden,), gates in the order i, g, f, o; state is (h, c), each (batch, hidden).
"""
import numpy as np
import tensorflow as tf

raw = tf.raw_ops
# no forget bias of their own, no clipping of the cell's state, no peepholes
_PLAIN = {"forget_bias": 0.0, "cell_clip": -1.0, "use_peephole": False}


def cell(x, state, kernel, bias):
    """(h, c) after one step by plain operations."""
    h, c = state
    i, g, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel) + bias, 4, 1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def block_cell(x, state, kernel, bias):
    """(h, c) after one step by LSTMBlockCell, whose gradient TensorFlow 2 has a kernel for, but no rule."""
    h, c = _block_cell(x, state[0], state[1], kernel, bias)
    return h, c


@tf.custom_gradient
def _block_cell(x, h_before, c_before, kernel, bias):
    none = tf.zeros_like(bias[:tf.shape(h_before)[1]])           # the peepholes' weights
    peepholes = {"wci": none, "wcf": none, "wco": none}
    i, c, f, o, ci, co, h = raw.LSTMBlockCell(x=x, cs_prev=c_before, h_prev=h_before, w=kernel, b=bias, **peepholes,
                                              **_PLAIN)

    def backward(h_gradient, c_gradient):
        c_before_gradient, gates, _, _, _ = raw.LSTMBlockCellGrad(
            x=x, cs_prev=c_before, h_prev=h_before, w=kernel, b=bias, i=i, cs=c, f=f, o=o, ci=ci, co=co,
            cs_grad=c_gradient, h_grad=h_gradient, use_peephole=False, **peepholes)
        both = tf.matmul(gates, kernel, transpose_b=True)
        inputs = tf.shape(x)[1]
        kernel_gradient = tf.matmul(tf.concat([x, h_before], 1), gates, transpose_a=True)
        return both[:, :inputs], both[:, inputs:], c_before_gradient, kernel_gradient, tf.reduce_sum(gates, 0)

    return (h, c), backward


def block_lstm(x, zeros, kernel, bias):
    """h of every step of x (time, batch, in) by BlockLSTM."""
    none = tf.zeros_like(bias[:tf.shape(zeros)[1]])
    return raw.BlockLSTM(seq_len_max=tf.cast(tf.shape(x)[0], tf.int64), x=x, cs_prev=zeros, h_prev=zeros, w=kernel,
                         b=bias, wci=none, wcf=none, wco=none, **_PLAIN)[6]


CUDNN = "CudnnRNNV2"        # the operation that cudnn_lstm calls: it searches for the fastest algorithm first


def cudnn_lstm(x, zeros, vector, is_training):
    """h of every step of x (time, batch, in) by CudnnRNNV2; vector is cudnn_vector's.

    Without is_training cuDNN keeps nothing for a backward pass. Keras leaves it on in inference, too.
    """
    state = tf.expand_dims(zeros, 0)
    return raw.CudnnRNNV2(input=x, input_h=state, input_c=state, params=_still(vector, 4 * zeros.shape[1]),
                          rnn_mode="lstm", is_training=is_training)[0]


def cudnn_vector(input_weight, recurrent_weight, bias):
    """Canonical arrays as cuDNN's one vector: both weights, the bias, and a second bias of zeros; gates i, f, g, o."""
    return np.concatenate([array.ravel() for array in (input_weight, recurrent_weight, bias, np.zeros_like(bias))])


def cudnn_arrays(vector, inputs, hidden):
    """The canonical arrays of such a vector."""
    ends = np.cumsum([4 * hidden * inputs, 4 * hidden * hidden, 4 * hidden])
    input_weight, recurrent_weight, bias = np.split(vector, ends)[:3]
    return [input_weight.reshape(4 * hidden, inputs), recurrent_weight.reshape(4 * hidden, hidden), bias]


def _still(vector, count):
    """The vector, whose last count numbers have no gradient: one bias is trained, as in the other frameworks."""
    count = getattr(count, "value", count)             # TensorFlow 1 wraps it

    @tf.custom_gradient
    def same(vector):
        def backward(gradient):
            last = tf.range(tf.size(gradient) - count, tf.size(gradient))
            # in the gradient's own memory, since nobody else reads it
            return tf.tensor_scatter_nd_update(gradient, last[:, None], tf.zeros((count,), gradient.dtype))

        return tf.identity(vector), backward

    return same(vector)
