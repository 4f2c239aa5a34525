"""TensorFlow's operations for an LSTM: of one step and of a whole sequence. TensorFlow 1.15 and 2.x.

kernel (in + hidden, 4 hidden), bias (4 hidden,), gates in the order i, g, f, o; state is (h, c), each (batch, hidden).
"""
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


def cudnn_lstm(x, zeros, kernel, bias):
    """h of every step of x (time, batch, in) by CudnnRNN.

    It takes one vector: input weights (4 hidden, in), recurrent ones, two biases; the gates in the order i, f, g, o.
    """
    inputs = tf.shape(x)[2]
    rows, bias = (_in_cudnn_s_order(tf.transpose(kernel)), _in_cudnn_s_order(bias))
    parts = [rows[:, :inputs], rows[:, inputs:], bias, tf.zeros_like(bias)]
    params = tf.concat([tf.reshape(part, (-1,)) for part in parts], 0)
    state = tf.expand_dims(zeros, 0)
    return raw.CudnnRNNV2(input=x, input_h=state, input_c=state, params=params, rnn_mode="lstm")[0]


def _in_cudnn_s_order(rows):
    i, g, f, o = tf.split(rows, 4, 0)
    return tf.concat([i, f, g, o], 0)
