"""The seeded initial weights that every framework loads. Python 3.6 and later, numpy only."""
import zlib

import numpy as np

_CONSTANT = {"bias": 0.0, "beta": 0.0, "mean": 0.0, "gamma": 1.0, "variance": 1.0}


def seeded(parameters, seed, dtype="float32"):
    """The arrays of a table's parameters by name: weights normal with variance 2 / fan-in (He et al. 2015, eq. 10).

    The numbers come from the name and the seed alone, so that a layer's weights do not depend on its neighbours;
    RandomState's streams are frozen, so that every numpy version draws the same ones.
    """
    return {parameter.name: _array(parameter, seed).astype(dtype) for parameter in parameters}


def _array(parameter, seed):
    if parameter.kind in _CONSTANT:
        return np.full(parameter.shape, _CONSTANT[parameter.kind])
    fan_in = np.prod(parameter.shape[1:])
    random = np.random.RandomState([seed, zlib.crc32(parameter.name.encode())])
    return random.standard_normal(parameter.shape) * np.sqrt(2.0 / fan_in)
