"""MXNet on many GPUs of one process: a batch is cut into parts, a key-value store adds the gradients. 1.7 and 1.9.

Without GPUs, on as many CPU contexts, for tests.
"""
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

from workloads.frameworks import mxnet
from workloads.process.errors import Unsupported


class Workload(mxnet.Workload):
    """One copy of the model a device; every step is one update along the mean gradient of the whole batch."""

    mode = "KVStore device"

    def __init__(self, table, cell, store="device"):
        if cell.precision == "amp":
            raise Unsupported("amp casts in a graph of one device")
        kind = mx.gpu if cell.device == "gpu" else mx.cpu
        self._devices = [kind(index) for index in range(cell.gpus)]
        super().__init__(table, cell, store)

    def _contexts(self):
        return self._devices

    def _placed(self, images, labels):
        """Equal parts of both, each on its device."""
        whole = (array if isinstance(array, mx.nd.NDArray) else mx.nd.array(array, dtype=self._numbers)
                 for array in (images, labels))
        return tuple(gluon.utils.split_and_load(array, self._devices) for array in whole)

    def _head(self):
        share = self._share(self.cell.batch)
        return gluon.utils.split_and_load(share, self._devices)

    def _losses(self, images, labels):
        return _Parts(super(Workload, self)._losses(*part) for part in zip(images, labels))

    def _answer(self, images, labels):
        return [super(Workload, self)._answer(*part) for part in zip(images, labels)]

    def predict(self, images):
        """Raises Unsupported."""
        raise Unsupported("accuracy is measured on one device")

    def check(self, images, labels):
        """Raises Unsupported: activations and logits are of one device."""
        raise Unsupported("checks are of one device")

    def value(self, handle):
        """The mean loss as a float, or logits as an array."""
        array = np.concatenate([part.asnumpy() for part in handle])
        return float(array.mean()) if array.ndim == 1 else array


class _Parts(list):
    """The losses of each device, which go backward together."""

    def backward(self, heads):
        """Each from its head."""
        autograd.backward(self, heads)
