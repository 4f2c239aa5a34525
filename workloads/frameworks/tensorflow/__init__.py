"""TensorFlow as evenbench measures it: a session's graph in 1.15, tf.function, eager, fit and XLA in 2.x. Python 3.6.

The Workload of TensorFlow 1 is in images_v1.py, that of TensorFlow 2 in images_v2.py; both build the model of model.py.
"""
import numpy as np

from workloads.frameworks.surroundings import tensorflow as surroundings
from workloads.process import errors
from workloads.spec import layers

surroundings.load_cuda()

import tensorflow as tf  # noqa: E402  it looks for CUDA while it is imported

from workloads.frameworks.tensorflow import settings  # noqa: E402

if tf.executing_eagerly():
    from workloads.frameworks.tensorflow.images_v2 import Workload
else:
    from workloads.frameworks.tensorflow.images_v1 import Workload  # type: ignore[assignment]

__all__ = ("NAME", "Workload", "device_peak_bytes", "facts", "is_oom", "unbiased_variance")
NAME = "tensorflow"


def facts(cell):
    """What TensorFlow says of itself, once the cell's Workload is built."""
    return dict({
        "framework": NAME,
        "version": tf.__version__,
        "device": settings.device(cell),
        "threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads(),
        "onednn": settings.uses_onednn(),
        "build": _build(),
    }, **settings.gpu_facts() if cell.device == "gpu" else {})


def device_peak_bytes(cell):
    """The most that the allocator held on the first GPU; {} on a CPU, and where it does not tell."""
    return settings.device_peak_bytes() if cell.device == "gpu" else {}


def _build():
    """The source's revision, the compiler and Keras."""
    return "%s; compiler %s; Keras %s" % (tf.version.GIT_VERSION, tf.version.COMPILER_VERSION, tf.keras.__version__)


def is_oom(error):
    """Whether an exception says that memory, the host's or the device's, ran out."""
    return isinstance(error, tf.errors.ResourceExhaustedError) or errors.is_out_of_memory(error, Exception)


def unbiased_variance(cell):
    """Whether a running variance is n / (n - 1) times the batch's, seen on four values in the cell's precision.

    Fused kernels do so (Keras 2 in float32 and amp), plain operations do not (float64, Keras 3).
    """
    table = (layers.Norm(decay=0.0), layers.Flatten(), layers.Dense(cell.classes))
    toy = Workload(table, cell._replace(batch=1, image=2, measure="check", init="framework"))
    images = np.arange(0, 240, 20, dtype=np.uint8).reshape(1, 3, 2, 2)
    running = toy.check(images, np.zeros(1, np.int64))["weight"]["0.variance"]
    biased = (images / 127.5).var(axis=(0, 2, 3))
    return bool((running > 1.15 * biased).all())
