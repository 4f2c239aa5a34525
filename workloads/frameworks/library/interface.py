"""The C interface of a bare LSTM library (docker/lstm-onednn/lstm.h) in Python. Python 3.6 and later."""
import ctypes
import sys

import numpy as np

from workloads.spec import library as libraries


class Sizes(ctypes.Structure):
    """LstmSizes."""

    _fields_ = [(name, ctypes.c_int)
                for name in ("hidden", "inputs", "batch", "length", "trains", "has_input_product")]


class LibraryError(RuntimeError):
    """A call that the library refused, in its words."""


NAME = libraries.installed(sys.prefix)
_library = ctypes.CDLL(libraries.path(NAME, sys.prefix)) if NAME else None


def library():
    """The library's own name and version: "oneDNN 2.6.3"."""
    _library.lstm_library.restype = ctypes.c_char_p
    return _library.lstm_library().decode()


def version():
    """The version alone."""
    return library().split()[-1]


def threads():
    """How many threads OpenMP has for the library, None where it loaded none."""
    counted = getattr(_library, "omp_get_max_threads", None)
    return counted() if counted else None


class Layer:
    """One LSTM layer of the library."""

    def __init__(self, hidden, inputs, batch, length, trains, has_input_product):
        """Raises LibraryError."""
        self._shapes = (4 * hidden, inputs), (4 * hidden, hidden), (4 * hidden,)
        self._out = (length, batch, hidden)
        self._layer = ctypes.c_void_p()
        sizes = Sizes(hidden, inputs, batch, length, int(trains), int(has_input_product))
        _call("lstm_create", ctypes.byref(sizes), ctypes.byref(self._layer))
        self._loss, self._number = ctypes.c_float(), ctypes.c_long()

    def __del__(self):
        if self._layer:
            _library.lstm_destroy(self._layer)

    def kernel(self):
        """What the library says that it runs."""
        name = ctypes.c_char_p()
        _call("lstm_kernel", self._layer, ctypes.byref(name))
        return name.value.decode()

    def load(self, arrays):
        """Take input weight, recurrent weight and bias, in canonical layouts."""
        arrays = [np.ascontiguousarray(array, np.float32) for array in arrays]
        _call("lstm_load", self._layer, *map(_pointer, arrays))

    def weights(self):
        """Those arrays as they are now."""
        return self._arrays("lstm_weights")

    def gradients(self):
        """Their gradients, after backward."""
        return self._arrays("lstm_gradients")

    def _arrays(self, call):
        arrays = [np.empty(shape, np.float32) for shape in self._shapes]
        _call(call, self._layer, *map(_pointer, arrays))
        return arrays

    def place(self, x):
        """x (length, batch, inputs) of float32 is what comes in from now on."""
        self._x = x                    # the library keeps only where it is
        _call("lstm_place", self._layer, _pointer(x))

    def forward(self):
        """Compute h of every step."""
        _call("lstm_forward", self._layer)

    def output(self):
        """h (length, batch, hidden) of the last forward."""
        out = np.empty(self._out, np.float32)
        _call("lstm_output", self._layer, _pointer(out))
        return out

    def loss(self):
        """The number of half the mean square of h, which backward begins with; kept_loss gives it."""
        _call("lstm_loss", self._layer, ctypes.byref(self._number))
        return self._number.value

    def kept_loss(self, number):
        """The loss of that number, of the last million."""
        _call("lstm_kept_loss", self._layer, ctypes.c_long(number), ctypes.byref(self._loss))
        return self._loss.value

    def wait(self):
        """Return when all that was called is done: a GPU's calls only issue it."""
        _call("lstm_wait", self._layer)

    def backward(self):
        """Compute the gradients."""
        _call("lstm_backward", self._layer)

    def update(self, rate, decay, momentum):
        """Update the weights by the gradients."""
        _call("lstm_update", self._layer, *map(ctypes.c_float, (rate, decay, momentum)))


def _pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def _call(name, *arguments):
    if getattr(_library, name)(*arguments):
        _library.lstm_error.restype = ctypes.c_char_p
        raise LibraryError(_library.lstm_error().decode())
