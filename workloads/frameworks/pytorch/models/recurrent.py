"""LSTM layers in PyTorch, by the cell's switch lstm. PyTorch 1.4 and later.

    native, cudnn   torch.lstm, as nn.LSTM calls it: cuDNN on a GPU; on a CPU oneDNN or PyTorch's own loop, as it likes
    block           torch.lstm_cell in a Python loop, as nn.LSTMCell calls it: fused on a GPU, plain operations on a CPU
    cell            plain operations in a Python loop

Keras' forms are Keras'.
"""
import torch
from torch import nn

TRAINED = (".input.weight", ".recurrent.weight", ".bias")      # of a layer, as cuDNN orders them
ZERO = ".recurrent.bias"         # the second bias that PyTorch wants: a constant zero, where a layer has one of its own

# of a whole sequence, of a step
_FUSED = ("_cudnn_rnn", "mkldnn_rnn_layer", "mkldnn_rnn", "_thnn_fused_lstm_cell")


def lstm(weights, name, x, mode, lengths=None, is_reversed=False, time_major=False):
    """h of every step, in x's order, of the LSTM called name over x (batch, time, numbers), from zeros.

    time_major: x and h are (time, batch, numbers). With lengths, h past a sample's end is zero, and a reversed layer
    begins at the sample's own end.
    """
    if not time_major:
        return lstm(weights, name, x.transpose(0, 1), mode, lengths, is_reversed, True).transpose(0, 1)
    order = _reversal(x, lengths) if is_reversed else None
    x = x if order is None else _ordered(x, order)
    h = (_whole if mode.lstm in ("native", "cudnn") else _unrolled)(weights, name, x, mode)
    h = h if order is None else _ordered(h, order)
    if lengths is None:
        return h
    return h * (_steps(x) < lengths[None]).to(h.dtype)[..., None]


def lstm_step(weights, name, x, state, mode):
    """(h, c) after one step of the LSTM called name; x (batch, numbers), state (h, c), each (batch, hidden).

    That of cudnn is block's: the whole sequence's kernel has none.
    """
    return (_cell if mode.lstm == "cell" else _block)(x, state, _arrays(weights, name))


def kernel_of(operations):
    """What runs an LSTM, by the names of the operations that ran, as a fact."""
    names = {name.replace("aten::", "") for name in operations}
    return ", ".join(sorted(names & set(_FUSED))) or "plain operations"


def packed(input_weight, recurrent_weight):
    """Zeros like a layer's arrays, with a bias and a second one without gradient; on a GPU views of one buffer.

    The buffer is nn.LSTM's own, in whichever order this version's cuDNN wants: input weight, recurrent weight, both
    biases. An optimizer updates the views in place.
    """
    layer = nn.LSTM(input_weight.shape[1], recurrent_weight.shape[1]).to(input_weight.device, input_weight.dtype)
    layer.flatten_parameters()
    arrays = [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0]
    with torch.no_grad():
        for array in arrays:
            array.zero_()
    arrays[-1].requires_grad_(False)
    return arrays


def memory_of(weights, name, is_cast):
    """Whether the layer's arrays are one piece of memory, as a fact; {} where nothing was packed.

    is_cast: whether autocast is on, which gives the layer other arrays than these in each call.
    """
    if name + ZERO not in weights:
        return {}
    if is_cast:
        return {"lstm_weights": "cast in each call"}
    own = _arrays(weights, name)
    is_one = len({getattr(array, "untyped_storage", array.storage)().data_ptr() for array in own}) == 1
    return {"lstm_weights": "one buffer" if is_one else "copied in each call"}


def _arrays(weights, name):
    """Input and recurrent weights and two biases."""
    bias = weights[name + ".bias"]
    zero = weights[name + ZERO] if name + ZERO in weights else torch.zeros_like(bias)
    return [weights[name + ".input.weight"], weights[name + ".recurrent.weight"], bias, zero]


def _whole(weights, name, x, mode):
    """h of every step by one operation."""
    flat = _arrays(weights, name)
    zeros = x.new_zeros(1, x.shape[1], flat[1].shape[1])
    return torch.lstm(x, (zeros, zeros), flat, True, 1, 0.0, mode.is_training, False, False)[0]


def _unrolled(weights, name, x, mode):
    """h of every step by a loop in Python."""
    flat = _arrays(weights, name)
    zeros = x.new_zeros(x.shape[1], flat[1].shape[1])
    step, state, outs = _cell if mode.lstm == "cell" else _block, (zeros, zeros), []
    for now in x.unbind(0):
        state = step(now, state, flat)
        outs.append(state[0])
    return torch.stack(outs)


def _block(x, state, arrays):
    return torch.lstm_cell(x, state, *arrays)


def _cell(x, state, arrays):
    h, c = state
    gates = torch.nn.functional.linear(x, arrays[0], arrays[2]) + torch.nn.functional.linear(h, arrays[1])
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def _steps(x):
    return torch.arange(x.shape[0], device=x.device)[:, None]


def _reversal(x, lengths):
    """(time, batch): the step of x that comes at each step of its reversal."""
    if lengths is None:
        return (x.shape[0] - 1 - _steps(x)).expand(-1, x.shape[1])
    steps = _steps(x)
    return torch.where(steps < lengths[None], lengths[None] - 1 - steps, steps.expand(-1, x.shape[1]))


def _ordered(x, order):
    """x, whose step at each step is that of the order: whole rows, where gather takes number by number (7 times)."""
    rows = order * x.shape[1] + torch.arange(x.shape[1], device=x.device)
    return x.reshape(-1, x.shape[-1]).index_select(0, rows.reshape(-1)).view(x.shape)
