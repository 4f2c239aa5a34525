"""Sequences of many lengths in one array, as the host prepared them. Python 3.6 and later, numpy only.

NAME.npy holds the values of all, (total,) or (total, columns); NAME.offsets.npy, int64 (n + 1,), where each begins.
"""
import os
import warnings
from tokenize import TokenError

import numpy as np

from workloads.process.errors import DataError
from workloads.spec.data import prepared


class Ragged:
    """n arrays behind one another; the values stay on the disk until they are asked for."""

    def __init__(self, values: dict, offsets):
        self._values, self._offsets = values, offsets

    def __len__(self):
        return len(self._offsets) - 1

    def __getitem__(self, index: int):
        """A copy of one array: (length,) or (length, columns)."""
        if not -len(self) <= index < len(self):
            raise IndexError("sequence %d of %d" % (index, len(self)))
        first, end = self._offsets[index % len(self):index % len(self) + 2]
        return np.array(self._values[first:end])

    @property
    def lengths(self):
        """int64 (n,)."""
        return np.diff(self._offsets)


def facts(folder: str, name: str):
    """The facts.json of the data set of that name in a folder, whose files are whole. Raises DataError."""
    try:
        return prepared.facts(folder, name)
    except prepared.FactsError as error:
        raise DataError(str(error)) from error


def ragged(folder: str, name: str):
    """The Ragged of an array, such as ragged("/data", "frames"). Raises DataError naming the file that is not whole."""
    values_path = os.path.join(folder, name + ".npy")
    offsets_path = os.path.join(folder, name + ".offsets.npy")
    values, offsets = _array(values_path), _array(offsets_path)
    if values.ndim not in (1, 2):
        raise DataError("%s: found %d dimensions, expected 1 or 2" % (values_path, values.ndim))
    if offsets.ndim != 1 or offsets.dtype != np.int64 or len(offsets) < 2:
        raise DataError("%s: found %s %s, expected int64 (n + 1,) with n of at least 1"
                        % (offsets_path, offsets.dtype, offsets.shape))
    if offsets[0] != 0 or (np.diff(offsets) < 0).any():
        raise DataError("%s: expected offsets that begin with 0 and never fall" % offsets_path)
    if offsets[-1] != len(values):
        raise DataError("%s: found offsets up to %d, expected %d, the length of %s"
                        % (offsets_path, offsets[-1], len(values), values_path))
    return Ragged(values, offsets)


def _array(path: str):
    """On the disk, whatever size its header says."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            return np.load(path, mmap_mode="r", allow_pickle=False)
    # cut short, no array, a pickle, a broken header or one that is nearly Python
    except (OSError, ValueError, TypeError, EOFError, SyntaxError, OverflowError, RecursionError, MemoryError,
            TokenError, UserWarning) as error:
        raise DataError("%s: not a whole array: %s" % (path, error)) from error
