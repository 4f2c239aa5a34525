"""A cell's switches as TensorFlow's own settings, set for the whole process. TensorFlow 1.15 and 2.x."""
import importlib
import inspect
import os

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import kernels as registered

from workloads.frameworks.tensorflow.profiling import grappler
from workloads.process.errors import (
    Unsupported,
    refuse_convolutions,
    refuse_emulated_bfloat16,
    refuse_missing_tf32,
)
from workloads.spec import refusals, switches, tasks
from workloads.spec.measures import FORWARD

keras = tf.keras
_LOOPS = {"native": "tf.function", "graph": "tf.function", "eager": "eager", "fit": "fit", "xla": "tf.function, XLA"}


def apply(cell):
    """Set threads, device and TF32 as the cell says, and see that oneDNN is as it says. Raises Unsupported."""
    # TensorFlow 1's TF_CUDNN_DETERMINISTIC takes one algorithm for all shapes; 2's determinism only narrows the choice
    refuse_convolutions(cell, has_fixed=not tf.executing_eagerly())
    threading = tf.config.threading
    threading.set_intra_op_parallelism_threads(cell.cpus)
    threading.set_inter_op_parallelism_threads(inter_op_threads(cell))
    gpus = tf.config.experimental.list_physical_devices("GPU")
    if cell.device == "gpu" and not gpus:
        raise Unsupported("TensorFlow %s sees no GPU here" % tf.__version__)
    if cell.device == "cpu" and gpus:
        tf.config.experimental.set_visible_devices([], "GPU")
    if hasattr(tf.config.experimental, "enable_tensor_float_32_execution"):
        tf.config.experimental.enable_tensor_float_32_execution(cell.precision == "tf32")
    grappler.apply(cell)
    if cell.onednn != "default" and uses_onednn() != (cell.onednn == "on"):
        raise Unsupported("oneDNN cannot be %s here: TF_ENABLE_ONEDNN_OPTS is read at import, and builds before 2.5 "
                          "have no oneDNN" % cell.onednn)


def of_numbers():
    """What decides how operations compute, by TensorFlow's names for it, as it is set now."""
    config = tf.config
    return {"tf.config.threading": (config.threading.get_intra_op_parallelism_threads(),
                                    config.threading.get_inter_op_parallelism_threads()),
            "tf.config.optimizer": str(sorted(config.optimizer.get_experimental_options().items())),
            "tf.config.optimizer.jit": config.optimizer.get_jit(),
            "tf.config.run_functions_eagerly": config.functions_run_eagerly()}


def inter_op_threads(cell):
    """How many operations may run at once.

    As many as CPUs, TensorFlow's own default: the gradients of a product do not need each other, and neither do the
    updates of weights. One alone made GPT-2's training 1.4 times as slow on two CPUs, ResNet-50's 1.2 times
    (docs/measurements.md). One where each operator is timed, so that their seconds add up. With all-reduce at least
    two, for the exchange. With servers one for each worker that asks and one more, as TensorFlow's guide says: with
    fewer, requests could wait for each other.
    """
    least = {"none": 1, "allreduce": 2, "horovod": 2}.get(cell.parallel, cell.nodes + 1)
    return least if cell.measure == "operators" else max(cell.cpus, least)


def refuse_parallel(cell):
    """Raise Unsupported for what runs in one place alone."""
    is_session = not tf.executing_eagerly()
    reason = refusals.many(refusals.Able("tensorflow", tf.__version__, is_session, is_session), cell)
    if reason:
        raise Unsupported(reason)
    if cell.loop not in ("native", "graph"):
        raise Unsupported("parallel runs take loop native or graph (tf.function), not %s" % cell.loop)
    if may_lack_kernels(cell):
        raise Unsupported("layout nchw and precision amp run on a CPU only where a trial says so, and none is made in "
                          "parallel runs")


def demand_cpu(cell, what):
    """Raise Unsupported on a GPU, where an operation's end on the host is not its work's."""
    if cell.device != "cpu":
        raise Unsupported("%s are measured on a CPU alone" % what)


def session_config(cell=None):
    """The same thread counts for a session of TensorFlow 1, and the graph optimisers that the cell leaves on."""
    threading = tf.config.threading
    config = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=threading.get_intra_op_parallelism_threads(),
        inter_op_parallelism_threads=threading.get_inter_op_parallelism_threads())
    gpus, seen = tf.config.experimental.list_physical_devices("GPU"), tf.config.experimental.get_visible_devices("GPU")
    if 0 < len(seen) < len(gpus):
        config.gpu_options.visible_device_list = ",".join(str(gpus.index(gpu)) for gpu in seen)
    if cell:
        grappler.configure(config, cell)
    if cell and cell.parallel == "central":
        config.allow_soft_placement = True             # the host takes what a device has no kernel for
        if cell.device == "cpu":
            config.device_count["CPU"] = cell.gpus     # logical ones, for tests
    return config


def see_one_gpu(index):
    """Leave this process one GPU of its place."""
    gpus = tf.config.experimental.list_physical_devices("GPU")
    tf.config.experimental.set_visible_devices(gpus[index:index + 1], "GPU")


def uses_onednn():
    """Whether a convolution becomes one of oneDNN's operations here.

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


def device(cell):
    """The name of the device of the cell."""
    if cell.device == "cpu":
        return "cpu"
    return _details().get("device_name", tf.config.experimental.list_physical_devices("GPU")[0].name)


def loop(cell):
    """The loop that "native" becomes: a session's graph in TensorFlow 1, else tf.function. Raises Unsupported."""
    if not tf.executing_eagerly():
        if cell.loop not in ("native", "graph"):
            raise Unsupported("TensorFlow %s runs a graph in a session, and has no loop %s"
                              % (tf.__version__, cell.loop))
        return "session"
    if cell.loop == "tuned":
        return _LOOPS["native"]                # it would be xla, where that is switched on
    if cell.loop not in _LOOPS:
        raise Unsupported("TensorFlow has no loop %s: it has graph (tf.function), eager, fit and xla" % cell.loop)
    if cell.loop == "fit" and cell.measure == "infer":
        raise Unsupported("Keras' fit trains: measure inference with loop native")
    if cell.loop == "xla" and not xla_switch():
        raise Unsupported("tf.function of TensorFlow %s cannot compile with XLA" % tf.__version__)
    return _LOOPS[cell.loop]


def tuned(cell, features):
    """The cell with what spec.switches says, as far as this version has it; a session's graph is as it is."""
    if not tf.executing_eagerly():
        return cell
    lacks = (() if _policies() else ("precision",)) + (() if xla_switch() else ("loop",))
    facts = {"cpu_features": features, "compute_capability": _capability()}
    return switches.tuned("tensorflow", cell, facts, lacks)


def _capability():
    """The GPU's compute capability as text, None where it is not told."""
    capability = _details().get("compute_capability")
    return capability and "%d.%d" % tuple(capability)


def is_xla(cell):
    """Whether XLA compiles the cell's functions."""
    return cell.loop == "xla"


def of_function(cell):
    """The arguments of tf.function that the cell's loop sets."""
    return xla_switch() if is_xla(cell) else {}


def xla_switch():
    """The argument of tf.function that compiles with XLA, by the name that it has here; {} where it has none."""
    known = inspect.signature(tf.function).parameters
    names = [name for name in ("jit_compile", "experimental_compile") if name in known]
    return {names[0]: True} if names else {}


def precision(cell):
    """The cell's precision. Raises Unsupported."""
    has_tf32 = hasattr(tf.config.experimental, "enable_tensor_float_32_execution")
    if cell.precision == "tf32" and not (cell.device == "gpu" and has_tf32):
        raise Unsupported("TF32 is a mode of GPUs, in TensorFlow from 2.4 on")
    if cell.precision == "tf32":
        refuse_missing_tf32(_details().get("compute_capability"))
    if cell.precision == "amp" and not (tf.executing_eagerly() and _policies()):
        raise Unsupported("the policies of Keras in TensorFlow %s keep no float32 weights" % tf.__version__)
    if cell.precision == "amp" and cell.device == "gpu" and not is_half(cell):
        refuse_emulated_bfloat16(_details().get("compute_capability"))       # which 2.3 and before do not tell
        if not (tasks.is_sequence(cell.task) or is_xla(cell) or _has_gpu_kernel("Conv2D", tf.bfloat16)):
            raise Unsupported("TensorFlow %s has no bfloat16 convolution for GPUs, and would run it on the CPU: loop "
                              "xla has its own" % tf.__version__)
    return cell.precision


def _has_gpu_kernel(operation, dtype):
    """Whether TensorFlow has one: else, where no device is asked for, it computes on the CPU without a word.

    Up to 2.11 Conv2D of bfloat16 has none: steps took 20 to 500 times as long (tensorflow#47362, #58347, #59050).
    """
    return any(kernel.device_type == "GPU" and all(
        limit.name != "T" or dtype.as_datatype_enum in limit.allowed_values.list.type for limit in kernel.constraint)
        for kernel in registered.get_registered_kernels_for_op(operation).kernel)


def is_half(cell):
    """Whether amp is float16, as in mahorker: a GPU's inference by an LSTM, which needs no scaling of a loss."""
    is_recurrent = tasks.is_sequence(cell.task) and not tasks.is_transformer(cell)
    return is_recurrent and cell.device == "gpu" and cell.measure == "infer"


def _details():
    """What TensorFlow tells of the first GPU; {} before 2.4, and where it sees none."""
    gpus = tf.config.experimental.list_physical_devices("GPU")
    if not gpus or not hasattr(tf.config.experimental, "get_device_details"):
        return {}
    return tf.config.experimental.get_device_details(gpus[0])


def gpu_facts():
    """What the GPU's libraries are and are set to, as TensorFlow says itself; None where it does not."""
    experimental = tf.config.experimental
    built = getattr(tf.sysconfig, "get_build_info", dict)()
    has_tf32 = hasattr(experimental, "tensor_float_32_execution_enabled")
    is_deterministic = _is_on("TF_CUDNN_DETERMINISTIC", "0") or _is_on("TF_DETERMINISTIC_OPS", "0")
    return {
        "cuda": built.get("cuda_version"),
        "cudnn": built.get("cudnn_version"),           # that it was built with
        "compute_capability": _capability(),
        "tf32": {"execution": bool(experimental.tensor_float_32_execution_enabled()) if has_tf32 else None},
        "cudnn_benchmark": _is_on("TF_CUDNN_USE_AUTOTUNE", "1") and not is_deterministic,       # it takes the first one
        "cudnn_deterministic": is_deterministic,
    }


def _is_on(name, default):
    """Whether a variable is on as TensorFlow reads it, which knows four words and takes its default for others."""
    value = os.environ.get(name, default).lower()
    return (value if value in ("0", "1", "false", "true") else default) in ("1", "true")


def device_peak_bytes():
    """The most that TensorFlow's allocator held for tensors on the first GPU; {} in 2.1 to 2.4, which do not tell.

    The GPU's own figure is no measure of it: TensorFlow reserves nearly all memory when it starts.
    """
    if hasattr(tf.config.experimental, "get_memory_info"):
        return {"allocated": int(tf.config.experimental.get_memory_info("GPU:0")["peak"])}
    try:
        operations = importlib.import_module("tensorflow.contrib.memory_stats")             # of 1.15
        with tf.Graph().as_default(), tf.compat.v1.Session(config=session_config()) as session:
            with tf.device("/device:GPU:0"):
                peak = operations.MaxBytesInUse()
            return {"allocated": int(session.run(peak))}
    except (ImportError, tf.errors.OpError):
        return {}


def _policies():
    """The module with Keras' Policy, None where there is none; before 2.4 it is experimental."""
    module = getattr(keras, "mixed_precision", None)
    return module if hasattr(module, "Policy") else getattr(module, "experimental", None)


def dtypes(cell):
    """The Keras dtype of the layers (a policy for amp) and the name of images', weights' and loss's dtype."""
    numbers = "float64" if cell.precision == "float64" else "float32"
    keras.backend.set_floatx(numbers)
    return _policies().Policy("mixed_bfloat16") if cell.precision == "amp" else numbers, numbers


def half_policy():
    """The Keras policy that computes in float16 and keeps float32 weights."""
    return _policies().Policy("mixed_float16")


def turns_weights(cell):
    """Whether a transformer's dense weights lie as (in, out), as Keras' do: where it only goes forward, on a CPU.

    oneDNN multiplies by them faster, and by (out, in) backward (docs/measurements.md).
    """
    return cell.measure in FORWARD and cell.device == "cpu"


def layout(cell):
    """The layout that "best" becomes: nhwc, which a CPU has kernels for; on a GPU Grappler makes NCHW of it."""
    return "nchw" if cell.layout == "nchw" else "nhwc"


def may_lack_kernels(cell):
    """Whether only a trial tells if this device runs the cell's layout and precision."""
    return cell.device == "cpu" and (cell.layout == "nchw" or cell.precision == "amp")


def no_kernel(cell, error):
    """The Unsupported for a step that TensorFlow refused to run on this device."""
    lines = [line for line in str(error).split("\n") if line.strip() and not line.startswith("Graph execution error")]
    return Unsupported("no %s kernel for layout %s, precision %s: %s"
                       % (cell.device, layout(cell), cell.precision, lines[0][:160]))


def attention(cell):
    """What computes attention: "plain". Raises Unsupported."""
    if cell.attention == "fused":
        raise Unsupported("TensorFlow has no fused attention: keras.ops.dot_product_attention is plain products there")
    return "plain"
