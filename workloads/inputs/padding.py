"""Arrays of many lengths in one, with zeros behind each. Python 3.6 and later, numpy only."""
import numpy as np

_BUCKETS = 4          # lengths that batches have: few, as compilers make a program for each, and not all of them long


def bucketed(length: int, most):
    """The length rounded up to a multiple of a quarter of most, or to most itself."""
    width = -(-most // _BUCKETS)
    rounded = -(-length // width) * width
    return most if length <= most < rounded else rounded


def padded(arrays, numbers, most=0):
    """The arrays, each (length,) + rest, as one (count, longest) + rest of such numbers.

    With most, about the length of the longest that there is, longest is rounded up to one of a few lengths.
    """
    longest = max(map(len, arrays))
    whole = np.zeros((len(arrays), bucketed(longest, most) if most else longest) + arrays[0].shape[1:], numbers)
    for row, array in enumerate(arrays):
        whole[row, :len(array)] = array
    return whole


def mask(arrays, numbers, most=0):
    """(count, longest): 1 where an array has a value, 0 where there is padding."""
    return padded([np.ones(len(array)) for array in arrays], numbers, most)


def counts(arrays):
    """int64 (count,): how long each is."""
    return np.array([len(array) for array in arrays], np.int64)
