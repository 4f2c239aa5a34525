"""Synchronous training in many places, or on many GPUs of them, by Horovod. TensorFlow 1.15, in stacks that have it."""
import importlib.util
import socket
import time

import tensorflow as tf

from workloads.frameworks.tensorflow import images_v1, sequences, settings, steps_v1
from workloads.frameworks.tensorflow.parallel import synchronous
from workloads.process.errors import Unsupported
from workloads.spec.cluster import PATIENCE_SECONDS


class _Exchanging(synchronous.Meeting, steps_v1.Steps):
    """One of the workers, which take every step together; among the bases it stands before that of one alone."""

    def _join(self, cell, cluster):
        """Meet the others. Raises Unsupported where this stack cannot."""
        self._horovod = _horovod()
        host, port = cluster.address("rendezvous", 0).split(":")
        _await(host, int(port))
        self._horovod.init()
        if cell.device == "gpu":
            settings.see_one_gpu(self._horovod.local_rank())
        self.mode = "Horovod over %s" % ("NCCL" if cell.device == "gpu" else "Gloo")

    def _prepare_meeting(self):
        with self._entered():
            self._meeting = self._over_all(tf.ones(()))
        self._meet()                                # at the end of a run nobody may leave before the others

    def check(self, *batch):
        """One update of the global batch, of which this is the worker's part; activations are the part's own."""
        checked = super().check(*batch)  # type: ignore[misc]
        self._meet()
        return checked

    def _meet(self):
        """Wait until all workers are here."""
        self._session.run(self._meeting)

    def _exchanged(self, gradients, stamps=None):
        """Their means over all workers."""
        means = [self._over_all(gradient) for gradient in gradients]
        return stamps.after(means) if stamps else means

    def _over_all(self, value):
        return self._horovod.allreduce(value, op=self._horovod.Average)


class Workload(_Exchanging, images_v1.Workload):
    """A table's model on one of the workers."""

    def __init__(self, table, cell, cluster):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        self._join(cell, cluster)
        super().__init__(table, cell)
        self._prepare_meeting()


class Sequences(_Exchanging, sequences.Workload):  # type: ignore[misc, valid-type]
    """A sequence model on one of the workers."""

    def __init__(self, cell, cluster):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        self._join(cell, cluster)
        super().__init__(cell)
        self._prepare_meeting()


def _horovod():
    """Horovod's module for TensorFlow. Raises Unsupported."""
    if tf.executing_eagerly():
        raise Unsupported("Horovod trains TensorFlow 1 here: TensorFlow %s has parallel = allreduce" % tf.__version__)
    if importlib.util.find_spec("horovod") is None:
        raise Unsupported("this stack has no Horovod: tf-1.15-horovod and tf-1.15-nv have it")
    import horovod.tensorflow as horovod
    if not horovod.gloo_built():
        raise Unsupported("this stack's Horovod was built without Gloo, by which its workers meet")
    return horovod


def _await(host, port):
    """Return once somebody answers there. Raises OSError."""
    deadline = time.monotonic() + PATIENCE_SECONDS          # Horovod itself would try for 2 s
    while True:
        try:
            socket.create_connection((host, port), timeout=1.0).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
