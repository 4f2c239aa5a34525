"""One LSTM layer over sequences of vectors (Hochreiter and Schmidhuber 1997, with forget gates; cuDNN's equations).

    1. gates = input.weight x_t + recurrent.weight h_(t-1) + bias, (4 hidden,) in the order i, f, g, o
    2. c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g);  h_t = sigmoid(o) tanh(c_t);  h_0 = c_0 = 0
    3. outputs: h of every step; loss: half the mean of their squares, which gives every step a gradient

DeepBench's tuples are (hidden, batch, time steps), inputs as wide as hidden; here cell.hidden, cell.batch and
cell.length. Python 3.6 and later, standard library only.
"""
from typing import NamedTuple

from workloads.spec.layers import Parameter

DATA = ""                 # seeded normal vectors: no data set


class Sizes(NamedTuple):
    """Units, which are the inputs' numbers too, and time steps."""

    hidden: int
    length: int


PRESETS = {"small": Sizes(64, 25), "study": Sizes(1024, 25)}


def gates(name: str, inputs, hidden: int):
    """The Parameters of an LSTM layer called name; one bias, since a second one adds nothing."""
    return (Parameter(name + ".input.weight", "weight", (4 * hidden, inputs)),
            Parameter(name + ".recurrent.weight", "weight", (4 * hidden, hidden)),
            Parameter(name + ".bias", "bias", (4 * hidden,)))


def parameters(sizes):
    """As spec.sequence_tasks says."""
    return gates("lstm", sizes.hidden, sizes.hidden)


def forward_flops(sizes):
    """As spec.sequence_tasks says: both products of every step."""
    return 2 * sizes.length * 4 * sizes.hidden * (sizes.hidden + sizes.hidden)
