"""What the sequence models are made of, in PyTorch; the same functions as in the other frameworks' blocks.py.

Weights are found by canonical name in a dict; x is (batch, time, numbers) unless a function says otherwise.
"""
from torch import nn


class Mode:
    """How a forward pass is made: by which LSTM, training or not, with dropout or not; what it keeps for a check."""

    def __init__(self, lstm, is_training, has_dropout=None, kept=None):
        """kept: a dict that gets what a model keeps, in order of computation; None keeps nothing."""
        self.lstm, self.is_training, self.kept = lstm, is_training, kept
        self.has_dropout = is_training if has_dropout is None else has_dropout

    def keep(self, name, tensor):
        """The tensor, kept under that name where somebody asked."""
        if self.kept is not None:
            self.kept[name] = tensor
        return tensor


def dense(weights, name, x):
    """x times name.weight (out, in) plus name.bias."""
    return nn.functional.linear(x, weights[name + ".weight"], weights[name + ".bias"])


def dropout(x, rate, mode):
    """Zeroes a share of x where the mode has dropout."""
    return nn.functional.dropout(x, rate) if mode.has_dropout and rate else x
