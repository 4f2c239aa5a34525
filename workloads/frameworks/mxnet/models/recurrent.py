"""LSTM layers in MXNet, by the cell's switch lstm. MXNet 1.7 and 1.9.

    native          the operator RNN, a whole sequence: cuDNN on a GPU, oneDNN or MXNet's own loop on a CPU. It takes
                    one vector, which is packed in each call, as gluon.rnn.LSTM does
    cudnn           RNN on a vector that is kept as such, so that no step packs it
    cell            a Python loop around plain operators, as gluon.rnn.LSTMCell

MXNet has no operator of one LSTM step, and no Keras.
"""
import mxnet as mx

from workloads.inputs.lstm_vector import VECTOR, units

nd = mx.nd


def lstm(weights, name, x, mode, lengths=None, is_reversed=False, time_major=False):
    """h of every step, in the order of x, of the LSTM called name over x (batch, time, numbers), from zeros.

    lengths (batch,): outputs past a sample's own end are zero, and a reversed layer begins at that end.
    """
    x = x if time_major else x.swapaxes(0, 1)
    if is_reversed:
        x = turned(x, lengths)
    out = (_unrolled if mode.lstm == "cell" else _whole)(weights, name, x, mode)
    if lengths is not None:
        out = nd.SequenceMask(out, lengths.astype(out.dtype), use_sequence_length=True)
    if is_reversed:
        out = turned(out, lengths)
    return out if time_major else out.swapaxes(0, 1)


def lstm_step(weights, name, x, state, mode):
    """(h, c) after one step of the LSTM called name; x (batch, numbers), state (h, c), each (batch, hidden)."""
    h, c = state
    gates = _product(weights, name + ".input.weight", x, weights[name + ".bias"])
    gates = gates + _product(weights, name + ".recurrent.weight", h)
    i, f, g, o = nd.SliceChannel(gates, 4, axis=1)
    c = nd.sigmoid(f) * c + nd.sigmoid(i) * nd.tanh(g)
    return nd.sigmoid(o) * nd.tanh(c), c


def turned(x, lengths):
    """x (time, batch, numbers) in reverse order of time, each sample within its own length."""
    if lengths is None:
        return nd.SequenceReverse(x)
    return nd.SequenceReverse(x, lengths.astype(x.dtype), use_sequence_length=True)


def _product(weights, name, x, *bias):
    """x times the transposed array of that name, plus a bias where one is given."""
    weight = weights[name]
    return nd.FullyConnected(x, weight, *bias, num_hidden=weight.shape[0], no_bias=not bias)


def _whole(weights, name, x, mode):
    """h of every step by RNN, which takes one vector: both weights, then two biases, of which the second is zero."""
    if name + VECTOR in weights:
        flat = weights[name + VECTOR]
        hidden = units(flat.size, x.shape[2])
    else:
        bias = weights[name + ".bias"]
        hidden = weights[name + ".recurrent.weight"].shape[1]
        parts = [weights[name + ".input.weight"], weights[name + ".recurrent.weight"], bias, nd.zeros_like(bias)]
        flat = nd.concat(*[part.reshape((-1,)) for part in parts], dim=0)
    state = nd.zeros((1, x.shape[1], hidden), x.context, x.dtype)
    return nd.RNN(x, flat, state, state, state_size=hidden, num_layers=1, mode="lstm")


def _unrolled(weights, name, x, mode):
    """h of every step by a loop in Python."""
    zeros = nd.zeros((x.shape[1], weights[name + ".recurrent.weight"].shape[1]), x.context, x.dtype)
    state, outs = (zeros, zeros), []
    for now in x:
        state = lstm_step(weights, name, now, state, mode)
        outs.append(state[0])
    return nd.stack(*outs)
