"""The process's settings before the first operation, and what is observed of them. TensorFlow 1.15 and 2.x."""
import numpy as np
import tensorflow as tf

from workloads.errors import Unsupported

keras = tf.keras
INTER_OP_THREADS = 1      # a step is one chain of operations; a second thread only takes turns with the first's


def prepare(cell):
    """Set threads, device and arithmetic for a cell. Raises Unsupported where the stack has not what it asks."""
    threading = tf.config.threading
    threading.set_intra_op_parallelism_threads(cell.cpus)
    threading.set_inter_op_parallelism_threads(INTER_OP_THREADS)
    gpus = tf.config.experimental.list_physical_devices("GPU")
    if cell.device == "gpu" and not gpus:
        raise Unsupported("TensorFlow %s sees no GPU here" % tf.__version__)
    if cell.device == "cpu" and gpus:
        tf.config.experimental.set_visible_devices([], "GPU")
    if cell.precision == "tf32" and cell.device == "cpu":
        raise Unsupported("TF32 is a GPU's arithmetic: a CPU has none")
    _set_tf32(cell.precision == "tf32")
    if cell.onednn != "default" and has_onednn() != (cell.onednn == "on"):
        raise Unsupported("oneDNN cannot be %s here: TF_ENABLE_ONEDNN_OPTS is read at import, and builds before 2.5 "
                          "have no oneDNN" % cell.onednn)


def _set_tf32(is_on):
    """Allow TF32 or not. Raises Unsupported where it is asked for and there is no such switch."""
    if hasattr(tf.config.experimental, "enable_tensor_float_32_execution"):
        tf.config.experimental.enable_tensor_float_32_execution(is_on)
    elif is_on:
        raise Unsupported("TensorFlow %s has no switch for TF32" % tf.__version__)


def session_config():
    """The same thread counts for a session of TensorFlow 1."""
    threading = tf.config.threading
    return tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=threading.get_intra_op_parallelism_threads(),
        inter_op_parallelism_threads=threading.get_inter_op_parallelism_threads())


def has_onednn():
    """Whether a convolution's graph is rewritten to oneDNN's operations here.

    Seen in the graph that ran: IsMklEnabled() is false in 2.5 also where TF_ENABLE_ONEDNN_OPTS=1 is in force.
    """
    seen = tf.compat.v1.RunMetadata()
    with tf.Graph().as_default(), tf.compat.v1.Session(config=session_config()) as session:
        images = tf.compat.v1.placeholder("float32", (1, 4, 4, 2))
        kernel = tf.compat.v1.placeholder("float32", (3, 3, 2, 2))
        session.run(tf.nn.conv2d(images, kernel, strides=1, padding="SAME"),
                    {images: np.zeros((1, 4, 4, 2)), kernel: np.zeros((3, 3, 2, 2))}, run_metadata=seen,
                    options=tf.compat.v1.RunOptions(output_partition_graphs=True))
    return any(node.op.startswith("_Mkl") for graph in seen.partition_graphs for node in graph.node)


def no_kernel(cell, layout, error):
    """The Unsupported for a step that TensorFlow refused to run on this device."""
    lines = [line for line in str(error).split("\n") if line.strip() and not line.startswith("Graph execution error")]
    return Unsupported("no %s kernel for layout %s, precision %s: %s"
                       % (cell.device, layout, cell.precision, lines[0][:160]))


def dtypes(cell):
    """The Keras dtype of the layers (a policy for amp) and the numpy dtype of images, weights and loss.

    Raises Unsupported where Keras has no mixed precision policy.
    """
    if cell.precision != "amp":
        dtype = "float64" if cell.precision == "float64" else "float32"
        keras.backend.set_floatx(dtype)
        return dtype, dtype
    keras.backend.set_floatx("float32")
    policies = getattr(keras, "mixed_precision", None)
    policies = policies if hasattr(policies, "Policy") else getattr(policies, "experimental", None)     # before 2.4
    if policies is None:
        raise Unsupported("Keras of TensorFlow %s has no mixed precision policy" % tf.__version__)
    return policies.Policy("mixed_bfloat16"), "float32"


def facts(cell):
    """What only TensorFlow knows of this process."""
    prepare(cell)
    build = [tf.version.GIT_VERSION, "compiler " + tf.version.COMPILER_VERSION]
    build += ["keras " + keras.__version__] if hasattr(keras, "__version__") else []
    return {"framework": "tensorflow", "version": tf.__version__, "device": cell.device,
            "threads": tf.config.threading.get_intra_op_parallelism_threads(),
            "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads(),
            "onednn": has_onednn(), "build": ", ".join(build)}
