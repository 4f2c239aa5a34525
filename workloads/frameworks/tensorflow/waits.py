"""How a step is waited for on a GPU, without copying what it made to the host. TensorFlow 2.x."""
import numpy as np
import tensorflow as tf


def _sync_devices():
    """tf.test.experimental.sync_devices, from 2.12 on; None before."""
    return getattr(getattr(tf.test, "experimental", None), "sync_devices", None)


def needs_scalar(cell):
    """Whether inference has to give a number of its own to wait for.

    A step of TensorFlow returns when all of it is issued. Reading all logits would wait too, and copy them in each
    step, 52 MB of a large LSTM's, which no other framework does.
    """
    return cell.device == "gpu" and _sync_devices() is None


def wait(handle, cell):
    """Return when the work that gave the handle is done: a loss, logits, or logits with one number to wait for.

    A loss is copied behind the work of its own GPU alone; others of the process may still update their weights.
    """
    if isinstance(handle, tuple):
        np.asarray(handle[1])
    elif cell.device == "gpu" and _sync_devices() and (getattr(handle, "ndim", 0) or cell.gpus > 1):
        _sync_devices()()
    else:
        np.asarray(handle)
        for index in range(1, cell.gpus if cell.device == "gpu" else 1):
            with tf.device("GPU:%d" % index):
                np.asarray(tf.random.uniform(()))           # computed, and copied, behind what this one was given
