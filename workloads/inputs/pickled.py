"""CIFAR's pickles without pickle's powers: of what one names only stand-ins of ours are made. Python 3.6, numpy.

A published batch is a dict of bytes: an array of uint8, a list of labels, names. pickle._Unpickler is pickle's own
reader written in Python: slower than the one in C (0.05 s a batch), but a number in a file does not make it reserve
memory, as the C one does for a memo's place.
"""
import os
import pickle
import struct
from io import BytesIO

import numpy as np

from workloads.process.errors import DataError

MOST_BYTES = 2 ** 29             # three times CIFAR-100's training batch
_KINDS = ("u1", "i1", "i4", "i8", "b")


class _Array:
    """Stands for numpy.ndarray: what was pickled of it becomes bytes and a shape, checked."""

    def __init__(self, *_):
        self.array = np.zeros(0, np.uint8)

    def __setstate__(self, state) -> None:
        _, shape, kind, is_fortran, content = state
        if not isinstance(kind, _Kind) or not isinstance(content, bytes):
            raise ValueError("found an array of no plain numbers")
        values = np.frombuffer(content, np.dtype(kind.name))
        self.array = values.reshape(shape, order="F" if is_fortran else "C")


class _Kind:
    """Stands for numpy.dtype."""

    def __init__(self, name: str, *_):
        self.name = _text(name)
        if self.name not in _KINDS:
            raise ValueError("found numbers of kind %.20s, expected one of %s" % (self.name, ", ".join(_KINDS)))

    def __setstate__(self, state) -> None:
        if _text(state[1]) not in ("<", "|"):
            raise ValueError("found another order of bytes than the lowest first")


def _text(word: str):
    """Python 2 wrote words as bytes."""
    return word.decode("latin1") if isinstance(word, bytes) else word


def _encoded(text: str, coding):
    """Stands for _codecs.encode: how Python 3 writes bytes for Python 2."""
    if coding != "latin1":
        raise ValueError("found a coding other than latin1")
    return text.encode(coding)


_STAND_INS = {("numpy", "_reconstruct"): _Array, ("numpy", "ndarray"): _Array, ("numpy", "dtype"): _Kind,
              ("_codecs", "encode"): _encoded}
# what a broken or made pickle makes the reader raise
_BROKEN = (EOFError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError, MemoryError,
           AssertionError, struct.error, pickle.UnpicklingError)


class _Plain(pickle._Unpickler):
    # without bytearrays, which are reserved before they are read; nothing that was published has one
    dispatch = {code: load for code, load in pickle._Unpickler.dispatch.items() if code != 0x96}

    def find_class(self, module, name: str):
        try:
            return _STAND_INS[module.split(".")[0], name]
        except KeyError:
            raise DataError("found %.60s.%.60s in a pickle, expected numpy arrays only" % (module, name)) from None


def batch(path: str, labels):
    """(images uint8 (n, 3072), labels int64 (n,)) of a batch; labels is the name of its list. Raises DataError."""
    size = os.path.getsize(path)
    if size > MOST_BYTES:
        raise DataError("%s: found %d bytes, expected at most %d" % (path, size, MOST_BYTES))
    with open(path, "rb") as file:
        content = file.read()
    try:
        pickled = _Plain(BytesIO(content), encoding="bytes").load()
        return _images(pickled[b"data"]), _labels(pickled[labels])
    except DataError as error:
        raise DataError("%s: %s" % (path, error)) from error
    except _BROKEN as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError("%s: not a batch of images: %s" % (path, reason)) from error


def _images(stored):
    if not isinstance(stored, _Array) or stored.array.dtype != np.uint8 or stored.array.ndim != 2:
        raise ValueError("found no (n, 3072) array of uint8 under data")
    return stored.array


def _labels(numbers):
    if isinstance(numbers, _Array) and numbers.array.ndim == 1:
        return numbers.array.astype(np.int64)
    if not isinstance(numbers, list) or not all(type(each) is int and 0 <= each < 2 ** 31 for each in numbers):
        raise ValueError("found no list of class numbers")
    return np.array(numbers, np.int64)
