"""What the sequence models are made of, in MXNet; the same functions as in the other frameworks' blocks.py.

Weights are found by canonical name in a dict; x is (batch, time, numbers) unless a function says otherwise.
MXNet 1.7 and 1.9.
"""
import mxnet as mx


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
    weight = weights[name + ".weight"]
    return mx.nd.FullyConnected(x, weight, weights[name + ".bias"], num_hidden=weight.shape[0], flatten=False)


def dropout(x, rate, mode):
    """Zeroes a share of x where the mode has dropout."""
    return mx.nd.Dropout(x, rate, mode="always") if mode.has_dropout and rate else x
