"""An LSTM layer's arrays as the one vector that fused operations take. Python 3.6 and later, numpy only.

Input weight, recurrent weight, bias, and a second bias of zeros, which is no parameter; gates in the order i, f, g, o.
"""
from typing import NamedTuple

import numpy as np

VECTOR = ".vector"               # of a layer's packed array, after its name
_KINDS = (".input.weight", ".recurrent.weight", ".bias")


class Packed(NamedTuple):
    """An LSTM layer whose canonical arrays are one vector: both weights, the bias, and a second bias of zeros."""

    name: str
    inputs: int
    hidden: int

    @property
    def key(self):
        """What the vector is found by."""
        return self.name + VECTOR

    @property
    def names(self):
        """Those of the canonical arrays."""
        return [self.name + kind for kind in _KINDS]

    @property
    def still(self):
        """How many of the vector's last numbers are no parameter's: the second bias."""
        return 4 * self.hidden

    @property
    def size(self):
        """How many numbers the vector has."""
        return 4 * self.hidden * (self.inputs + self.hidden + 2)

    def vector(self, arrays):
        """The vector of canonical arrays by name."""
        own = [np.asarray(arrays[name]) for name in self.names]
        return np.concatenate([array.ravel() for array in own] + [np.zeros_like(own[-1])])

    def arrays(self, vector):
        """The canonical arrays by name of a vector."""
        ends = np.cumsum([4 * self.hidden * self.inputs, 4 * self.hidden * self.hidden, 4 * self.hidden])
        parts = np.split(vector, ends)[:3]
        shapes = (4 * self.hidden, self.inputs), (4 * self.hidden, self.hidden), (4 * self.hidden,)
        return {name: part.reshape(shape) for name, part, shape in zip(self.names, parts, shapes)}


def packed(parameters, stepped):
    """The Packed layers among a model's parameters; what begins with a name of stepped takes single steps."""
    shapes = {parameter.name: parameter.shape for parameter in parameters}
    names = [name[:-len(_KINDS[1])] for name in shapes if name.endswith(_KINDS[1])]
    return [Packed(name, shapes[name + _KINDS[0]][1], shapes[name + _KINDS[1]][1]) for name in names
            if not name.startswith(stepped)]


def units(size, inputs):
    """The units h of a layer whose vector has so many numbers: 4 h (inputs + h + 2) of them."""
    return round((((inputs + 2) ** 2 + size) ** 0.5 - (inputs + 2)) / 2)
