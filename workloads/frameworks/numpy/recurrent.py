"""The LSTM layer in numpy, written to be read: float64, forward only. Python 3.6 and later."""
import numpy as np

from workloads.frameworks.numpy.model import sigmoid


def lstm(weights, name, x, lengths=None, is_reversed=False):
    """h of every step, (batch, time, hidden), of the LSTM called name over x (batch, time, numbers), from zeros.

    lengths (batch,): outputs past a sample's own end are zero, and a reversed layer begins at that end.
    """
    lengths = np.full(len(x), x.shape[1]) if lengths is None else lengths
    out = np.zeros(x.shape[:2] + (weights[name + ".recurrent.weight"].shape[1],))
    for sample, length in enumerate(lengths):
        h = c = np.zeros((1, out.shape[2]))
        for time in reversed(range(length)) if is_reversed else range(length):
            h, c = lstm_step(weights, name, x[sample:sample + 1, time], (h, c))
            out[sample, time] = h[0]
    return out


def lstm_step(weights, name, x, state):
    """(h, c) after one step of the LSTM called name; x (batch, numbers), state (h, c), each (batch, hidden)."""
    h, c = state
    gates = x @ weights[name + ".input.weight"].T + h @ weights[name + ".recurrent.weight"].T + weights[name + ".bias"]
    i, f, g, o = np.split(gates, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c
