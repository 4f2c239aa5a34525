"""Synchronous training on many GPUs of one process, whose weights lie on the host: a parameter server. TensorFlow 1.15.

As NVIDIA's GNMT for TensorFlow has it: a copy of the computation a device, each of which pulls the weights from the
host, which takes the mean of their gradients and updates. Without GPUs, on logical CPUs, for tests.
"""
import numpy as np
import tensorflow as tf

from workloads.frameworks.tensorflow import sequences
from workloads.process.errors import Unsupported

_HOST = "/device:CPU:0"


class Sequences(sequences.Workload):  # type: ignore[misc, valid-type]
    """A model whose batch is cut into a part a device."""

    mode = "parameter server: weights on the host"

    def __init__(self, cell):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        gpus = len(tf.config.experimental.list_physical_devices("GPU"))
        if cell.device == "gpu" and gpus < cell.gpus:
            raise Unsupported("TensorFlow sees %d GPUs here, expected %d" % (gpus, cell.gpus))
        super().__init__(cell)

    def train_phases(self, batches, count, watch):
        """Raises Unsupported."""
        raise Unsupported("phases are stamped on one device of a process")

    def check(self, batch):
        """One update of the whole batch without dropout: loss, gradients, new weights."""
        with self._entered():
            parts = {name: self._kept(array) for name, array in self._arranged(batch).items()}
            loss, gradients, moved = self._on_devices(parts, has_dropout=False)
            update = self._apply(gradients, moved)
            session = tf.keras.backend.get_session()
            loss, gradients, _ = session.run([loss, gradients, update])
        return self._seen((), (), np.empty(0), loss, gradients)

    def _build(self, cell):
        with tf.device(_HOST):
            super()._build(cell)

    def _one_update(self, batch):
        """The update, and the mean loss before it."""
        loss, gradients, moved = self._on_devices(batch)
        return [self._apply(gradients, moved), loss]

    def _on_devices(self, batch, has_dropout=True):
        """The means over the devices of losses and gradients, and what moves the first one's running statistics."""
        with tf.device(_HOST):
            parts = {name: tf.split(array, self.cell.gpus) for name, array in batch.items()}
        losses, gradients, moved = [], [], []
        for index in range(self.cell.gpus):
            with tf.device("/device:%s:%d" % (self.cell.device.upper(), index)):
                loss, moves = self._differentiable({name: part[index] for name, part in parts.items()}, has_dropout)
                losses.append(loss)
                gradients.append(self._gradients(loss))
                moved.append(moves)
        with tf.device(_HOST):
            return _mean(losses), [_mean(each) for each in zip(*gradients)], moved[0]

    def _apply(self, gradients, moved):
        with tf.device(_HOST):
            return super()._apply(gradients, moved)


def _mean(tensors):
    return tf.add_n(list(tensors)) / len(tensors)
