"""What the sequence models are made of, in TensorFlow; the same functions as in the other frameworks' blocks.py.

Weights are found by canonical name in a dict; x is (batch, time, numbers) unless a function says otherwise.
TensorFlow 1.15 and 2.x.
"""
import tensorflow as tf


class Mode:
    """How a forward pass is made: by which LSTM, training or not, with dropout or not; what it keeps for a check."""

    def __init__(self, lstm, is_training, has_dropout=None, kept=None):
        """kept: a dict that gets what a model keeps, in order of computation; None keeps nothing."""
        self.lstm, self.is_training, self.kept = lstm, is_training, kept
        self.has_dropout = is_training if has_dropout is None else has_dropout
        self.moved = []             # the operations that move running statistics, which TensorFlow 1 must be asked for

    def keep(self, name, tensor):
        """The tensor, kept under that name where somebody asked."""
        if self.kept is not None:
            self.kept[name] = tensor
        return tensor

    def move(self, variable, value):
        """Have a running statistic take the value."""
        self.moved.append(variable.assign(value))


def dense(weights, name, x):
    """x times name.weight (out, in) plus name.bias."""
    return product(x, weights[name + ".weight"]) + weights[name + ".bias"]


def product(x, weight):
    """x (..., in) times the transposed weight (out, in), as one product of two matrices."""
    rows = tf.matmul(tf.reshape(x, (-1, int(weight.shape[1]))), weight, transpose_b=True)
    return tf.reshape(rows, tf.concat([tf.shape(x)[:-1], tf.shape(weight)[:1]], 0)) if len(x.shape) != 2 else rows


def dropout(x, rate, mode):
    """Zeroes a share of x where the mode has dropout."""
    return tf.nn.dropout(x, rate=rate) if mode.has_dropout and rate else x
