"""The seeded initial weights that every framework loads. Python 3.6 and later, numpy only."""
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_CONSTANT = {"bias": 0.0, "beta": 0.0, "mean": 0.0, "gamma": 1.0, "variance": 1.0}
_AT_ONCE = 2                 # arrays in the making take eight bytes a number, which a run's peak of memory would show


def seeded(parameters, seed: int, dtype="float32"):
    """The arrays of a table's parameters by name: weights normal with variance 2 / fan-in (He et al. 2015, eq. 10).

    The numbers come from the name and the seed alone, so that a layer's weights do not depend on its neighbours;
    RandomState's streams are frozen, so that every numpy version draws the same ones. Each array has a stream of its
    own, so they are drawn side by side: numpy lets other threads go on meanwhile.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        arrays = pool.map(lambda parameter: _array(parameter, seed).astype(dtype), parameters)
        return {parameter.name: array for parameter, array in zip(parameters, arrays)}


def with_vectors(arrays, seed: int):
    """The arrays, by name, with constant ones drawn around their value: a forward pass shows no missing bias of 0."""
    return {name: array if np.ptp(array) else (array + _random(name, seed).uniform(-0.1, 0.1, array.shape)).astype(
        array.dtype) for name, array in arrays.items()}


def _array(parameter, seed: int):
    if parameter.kind in _CONSTANT:
        return np.full(parameter.shape, _CONSTANT[parameter.kind])
    fan_in = np.prod(parameter.shape[1:])
    draws = _random(parameter.name, seed).standard_normal(parameter.shape)
    draws *= np.sqrt(2.0 / fan_in)
    return draws


def _random(name: str, seed: int):
    return np.random.RandomState([seed, zlib.crc32(name.encode())])


_AROUND_ONE = ("weight", "gamma", "scale", "variance", "var", "running_var", "moving_variance")     # vectors
_SPREAD = 0.1


def of_own_model(arrays, seed: int):
    """Weights of a user's own model by name: seeded, from names and shapes alone, in the arrays' types.

    A matrix or kernel is normal with variance 2 / (inputs + outputs) (Glorot and Bengio 2010, eq. 12). A vector is
    normal around 0, or around 1 where its name is that of a normalisation's scale or variance, with deviation 0.1: none
    is constant, so that a missing one shows.
    """
    return {name: _of_own(name, array.shape, seed).astype(array.dtype) for name, array in arrays.items()}


def _of_own(name: str, shape, seed: int):
    draws = _random(name, seed).standard_normal(shape)
    if len(shape) > 1:
        first, last = shape[0] * shape[1], shape[-2] * shape[-1]         # channels: PyTorch's kernels', or the others'
        window = np.prod(shape) / float(max(1, first, last))
        return draws * np.sqrt(2.0 / max(1, window * sum(shape[:2] if first >= last else shape[-2:])))
    last = name.replace("/", ".").rsplit(".", 1)[-1]
    return draws * _SPREAD + (1.0 if last in _AROUND_ONE else 0.0)
