"""Synchronous training on many GPUs of one process, whose weights lie on the host: CentralStorageStrategy.

TensorFlow's parameter server of one node, from 2.4 on with Keras 2. Without GPUs, on logical CPUs, for tests.
"""
import tensorflow as tf

from workloads.frameworks.tensorflow import optimizers
from workloads.frameworks.tensorflow.parallel import mirrored
from workloads.process.errors import Unsupported


class Workload(mirrored.Workload):
    """A replica of the computation a device; the host adds up their gradients and updates the one set of weights."""

    _of_gradients = {}          # the optimizer hands them to the host

    def __init__(self, table, cell, cluster):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        if optimizers.IS_KERAS_3:
            raise Unsupported("Keras 3 has no CentralStorageStrategy: its batch normalisation cannot update weights "
                              "on the host; parallel = allreduce trains on many GPUs")
        super(Workload, self).__init__(table, cell, cluster)
        self.optimizer.decayed /= self._workers           # each device's gradient has its share of the decay
        self.mode = "CentralStorageStrategy, weights on the host"

    def _strategy_of(self, cell):
        return tf.distribute.experimental.CentralStorageStrategy(mirrored.devices(cell), "CPU:0")

    def _exchanged(self, gradients, stamps=None):
        """As they are."""
        return gradients
