"""Synchronous training on many GPUs of one process: MirroredStrategy. TensorFlow 2.4 and later.

Without GPUs, on as many logical CPUs, for tests.
"""
import numpy as np
import tensorflow as tf

from workloads.frameworks.tensorflow import optimizers
from workloads.frameworks.tensorflow.parallel import allreduce
from workloads.process.errors import Unsupported


class Workload(allreduce.Workload):
    """One replica of the model a device; a batch is cut into their parts, and each gradient is their mean."""

    def __init__(self, table, cell, cluster):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        if not hasattr(tf.config, "set_logical_device_configuration"):
            raise Unsupported("TensorFlow %s has no logical devices: they came with 2.4" % tf.__version__)
        if cell.device == "cpu":
            cpu, = tf.config.list_physical_devices("CPU")
            tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * cell.gpus)
        super(Workload, self).__init__(table, cell, cluster)
        if optimizers.IS_KERAS_3:                   # its first step would make momentum's variables inside of a branch
            with self._strategy.scope():
                self.optimizer.build(self._trained())
        self._workers = cell.gpus
        self.mode = "MirroredStrategy over %s" % ("NCCL" if cell.device == "gpu" else "logical CPUs")

    def _strategy_of(self, cell):
        return tf.distribute.MirroredStrategy(devices(cell))

    def train_phases(self, batches, count, watch):
        """Raises Unsupported."""
        raise Unsupported("phases are stamped on one device of a process")

    def _placed(self, images, labels):
        """Equal parts of both, each on its device."""
        return [self._strategy.experimental_distribute_values_from_function(
            lambda context, parts=parts: tf.constant(parts[context.replica_id_in_sync_group]))
            for parts in (np.array_split(array, self._workers) for array in (images, labels))]

    def _one_update(self, images, labels):
        """The mean loss before the update."""
        losses = self._strategy.run(self._shared_update, (images, labels))
        return self._strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

    def _checked_update(self, images, labels):
        """The loss and the gradients, which are the same on every device."""
        loss, gradients = self._strategy.run(self._shared_check, (images, labels))
        return self._first(loss), [self._first(gradient) for gradient in gradients]

    def _first(self, value):
        return self._strategy.experimental_local_results(value)[0]


def devices(cell):
    """TensorFlow's names of the devices that take a part of each batch."""
    return ["%s:%d" % (cell.device.upper(), index) for index in range(cell.gpus)]
