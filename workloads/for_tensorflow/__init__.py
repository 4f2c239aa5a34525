"""The adapter of TensorFlow 1.15 and 2.x: the same functions and methods as every framework's, in the same order."""
import numpy as np
import tensorflow as tf

from workloads.for_tensorflow import device
from workloads.spec import layers

if tf.executing_eagerly():
    from workloads.for_tensorflow.steps import Workload
else:
    from workloads.for_tensorflow.session import Workload

__all__ = ("NAME", "Workload", "facts", "is_oom", "unbiased_variance")
NAME = "tensorflow"


def facts(cell):
    """What only TensorFlow knows of this process."""
    return device.facts(cell)


def unbiased_variance(cell):
    """Whether running variances get n / (n - 1) times the batch's: seen on four values in the cell's precision.

    Fused kernels do (float32 and amp in Keras 2), the plain operations do not (float64, Keras 3).
    """
    table = (layers.Norm(decay=0.0), layers.Flatten(), layers.Dense(cell.classes))
    toy = Workload(table, cell._replace(batch=1, image=2, measure="check", init="framework"))
    images = np.arange(0, 240, 20, dtype=np.uint8).reshape(1, 3, 2, 2)
    found = toy.check(images, np.zeros(1, np.int64))["weight"]["0.variance"]
    biased = (images / 127.5).var(axis=(0, 2, 3))
    return bool((found > 1.15 * biased).all())


def is_oom(error):
    """Whether an exception says that memory ran out."""
    return isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError)) or "OOM when allocating" in str(error)
