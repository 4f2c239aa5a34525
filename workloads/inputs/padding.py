"""Arrays of many lengths in one, with zeros behind each. Python 3.6 and later, numpy only."""
import numpy as np


def padded(arrays, numbers):
    """The arrays, each (length,) + rest, as one (count, longest) + rest of such numbers."""
    whole = np.zeros((len(arrays), max(map(len, arrays))) + arrays[0].shape[1:], numbers)
    for row, array in enumerate(arrays):
        whole[row, :len(array)] = array
    return whole


def mask(arrays, numbers):
    """(count, longest): 1 where an array has a value, 0 where there is padding."""
    return padded([np.ones(len(array)) for array in arrays], numbers)


def counts(arrays):
    """int64 (count,): how long each is."""
    return np.array([len(array) for array in arrays], np.int64)
