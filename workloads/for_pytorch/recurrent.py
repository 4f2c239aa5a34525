"""LSTM layers in PyTorch, by the cell's switch lstm. PyTorch 1.4 and later."""
import torch

_LSTM = "cudnn"               # what native becomes


def lstm(weights, name, x, mode):
    """h of every step, (time, batch, hidden), of the LSTM called name over x (time, batch, numbers), from zeros."""
    size = weights[name + ".recurrent.weight"].shape[1]
    zeros = x.new_zeros(1, x.shape[1], size)
    # PyTorch has two biases; the second is a constant zero
    flat = [weights[name + ".input.weight"], weights[name + ".recurrent.weight"], weights[name + ".bias"],
            torch.zeros_like(weights[name + ".bias"])]
    return torch.lstm(x, (zeros, zeros), flat, True, 1, 0.0, mode.is_training, False, False)[0]
