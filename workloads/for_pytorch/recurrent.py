"""LSTM layers in PyTorch, by the cell's switch lstm. PyTorch 1.4 and later."""
import torch

_LSTM = "cudnn"               # what native becomes


def lstm(weights, name, x, mode, lengths=None, is_reversed=False, time_major=False):
    """h of every step, in x's order, of the LSTM called name over x (batch, time, numbers), from zeros.

    time_major: x and h are (time, batch, numbers). With lengths, h past a sample's end is zero, and a reversed layer
    begins at the sample's own end.
    """
    if not time_major:
        return lstm(weights, name, x.transpose(0, 1), mode, lengths, is_reversed, True).transpose(0, 1)
    order = _reversal(x, lengths) if is_reversed else None
    size = weights[name + ".recurrent.weight"].shape[1]
    zeros = x.new_zeros(1, x.shape[1], size)
    # PyTorch has two biases; the second is a constant zero
    flat = [weights[name + ".input.weight"], weights[name + ".recurrent.weight"], weights[name + ".bias"],
            torch.zeros_like(weights[name + ".bias"])]
    x = x if order is None else _ordered(x, order)
    h = torch.lstm(x, (zeros, zeros), flat, True, 1, 0.0, mode.is_training, False, False)[0]
    h = h if order is None else _ordered(h, order)
    if lengths is None:
        return h
    return h * (_steps(x) < lengths[None]).to(h.dtype)[..., None]


def _steps(x):
    return torch.arange(x.shape[0], device=x.device)[:, None]


def _reversal(x, lengths):
    """(time, batch): the step of x that comes at each step of its reversal."""
    if lengths is None:
        return (x.shape[0] - 1 - _steps(x)).expand(-1, x.shape[1])
    steps = _steps(x)
    return torch.where(steps < lengths[None], lengths[None] - 1 - steps, steps.expand(-1, x.shape[1]))


def _ordered(x, order):
    return x.gather(0, order[..., None].expand(-1, -1, x.shape[-1]))


def lstm_step(weights, name, x, state, mode):
    """(h, c) after one step of the LSTM called name over x (batch, numbers), from the state (h, c)."""
    bias = weights[name + ".bias"]
    return torch.lstm_cell(x, state, weights[name + ".input.weight"], weights[name + ".recurrent.weight"], bias,
                           torch.zeros_like(bias))
