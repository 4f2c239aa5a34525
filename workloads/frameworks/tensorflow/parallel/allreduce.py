"""Synchronous training in many places: MultiWorkerMirroredStrategy over gRPC, a ring. TensorFlow 2.4 and later."""
import numpy as np
import tensorflow as tf

from workloads.frameworks.tensorflow import images_v2, optimizers, settings
from workloads.frameworks.tensorflow.parallel import synchronous
from workloads.frameworks.tensorflow.profiling import operators
from workloads.process.errors import Unsupported
from workloads.spec.cluster import PATIENCE_SECONDS


class Workload(synchronous.Meeting, images_v2.Workload):
    """One of the workers, which take every step together."""

    _of_gradients = optimizers.EXCHANGED        # what the optimizer is told of them

    def __init__(self, table, cell, cluster):
        """Joins the others. Raises Unsupported where the stack cannot do what the cell asks."""
        settings.apply(cell)
        self._workers = cluster.workers
        self._strategy = self._strategy_of(cell)    # before any other operation of the process
        with self._strategy.scope():
            super(Workload, self).__init__(table, cell)
        self._meeting = tf.function(lambda: self._strategy.run(lambda: _summed(tf.ones(()))), autograph=False)
        self._meet()                                # the first time it can take a second; at the end nobody may leave

    def _strategy_of(self, cell):
        experimental = tf.distribute.experimental
        if not hasattr(experimental, "CommunicationOptions"):
            raise Unsupported("TensorFlow %s cannot limit how long MultiWorkerMirroredStrategy waits: that came with "
                              "2.4" % tf.__version__)
        return tf.distribute.MultiWorkerMirroredStrategy(communication_options=experimental.CommunicationOptions(
            implementation=experimental.CommunicationImplementation.RING, timeout_seconds=PATIENCE_SECONDS))

    def check(self, images, labels):
        """One update of the global batch, of which images and labels are this worker's part."""
        with self.net.without_dropout():
            loss, gradients = self._checked(*self._tensors(images, labels))
        checked = {"activation": {}, "logits": np.empty(0), "loss": float(loss),
                 "gradient": self.net.canonical_arrays(self.net.network.trainable_weights, gradients),
                 "weight": self.weights()}
        self._meet()
        return checked

    def _meet(self):
        """Wait until all workers are here."""
        self.sync(self._meeting())

    def _one_update(self, images, labels):
        """This worker's loss before the update."""
        return self._strategy.run(self._shared_update, (images, labels))

    def _shared_update(self, images, labels):
        loss, gradients = self._differentiated(images, labels)
        self._apply(self._exchanged(gradients(self._seed(loss))))
        return loss

    def _stamped_update(self, images, labels):
        return self._strategy.run(super(Workload, self)._stamped_update, (images, labels))

    def _checked_update(self, images, labels):
        return self._strategy.run(self._shared_check, (images, labels))

    def _shared_check(self, images, labels):
        """The loss and the gradients of all workers."""
        loss, gradients = self._differentiated(images, labels)
        gradients = gradients(self._seed(loss))
        self._apply(self._exchanged(gradients))
        return _summed(loss / self._workers), _summed(gradients)

    def _seed(self, loss):
        """A worker's share: the sum of the gradients is that of the mean over all."""
        return tf.ones_like(loss) / self._workers

    def _exchanged(self, gradients, stamps=None):
        """Their sums over all workers."""
        sums = _summed(gradients)
        return stamps.after(sums) if stamps else sums

    def _apply(self, gradients):
        with tf.name_scope(operators.OPTIMIZER):
            return self.optimizer.apply_gradients(zip(gradients, self._trained()), **self._of_gradients)


def _summed(tensors):
    """The sum over all workers."""
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tensors)
