"""When each phase of a step ended, stamped inside its graph. TensorFlow 1.15 and 2.x, CPU.

Without the waiting that Stamps brings, a stamp is taken when the graph happens to come to it: backward would take 0 s.
"""
import numpy as np
import tensorflow as tf

NAMES = ("forward", "backward", "update")
PARALLEL_NAMES = ("forward", "backward", "communication", "update")


class Stamps:
    """Stamps of the clock in a graph, each after what came before it and before what comes after."""

    def __init__(self, first=None):
        """first: a stamp that was taken already."""
        self._times = [] if first is None else [first]

    def after(self, tensors):
        """The same tensors, held back until all of them are there and the clock is read."""
        self.end(tensors)
        with self.held():
            return [tf.identity(tensor) for tensor in tensors]

    def end(self, awaited):
        """Read the clock once these tensors or operations are done."""
        with tf.control_dependencies(awaited):
            self._times.append(tf.timestamp())

    def held(self):
        """A context whose operations wait for the last stamp."""
        return tf.control_dependencies([self._times[-1]])

    def times(self):
        """All of them in one tensor, in seconds of the system's clock."""
        return tf.stack(self._times)


def seconds(times):
    """The seconds of each phase between the stamps of a step, by name."""
    passed = np.diff(np.asarray(times))
    return dict(zip(NAMES if len(passed) == len(NAMES) else PARALLEL_NAMES, passed.tolist()))
