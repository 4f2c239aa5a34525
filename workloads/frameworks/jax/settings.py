"""A cell's switches as JAX's own settings, set for the whole process. JAX 0.10 and later."""
import os

import jax
import jax.numpy as jnp

from workloads.process.errors import (
    Unsupported,
    refuse_convolutions,
    refuse_emulated_bfloat16,
    refuse_missing_tf32,
)
from workloads.spec import switches

# What jax_default_matmul_precision is on a GPU for each precision of a cell; it holds for convolutions too. A CPU's
# float32 is itself whatever it says: results are the same in each bit, so there it stays as JAX has it.
_PRODUCTS = {"float32": "highest", "tf32": "tensorfloat32", "amp": "default", "float64": "highest"}


def apply(cell):
    """Set threads, the width of numbers and the precision of products as the cell says. Raises Unsupported."""
    if cell.graph_opt != "default":
        raise Unsupported("graph_opt is of TensorFlow's graphs: XLA compiles a JAX program as a whole")
    if cell.onednn != "default":
        raise Unsupported("onednn is no switch of JAX: XLA has kernels of its own on a CPU")
    refuse_convolutions(cell, has_fixed=False)
    if cell.conv == "heuristic":
        raise Unsupported("XLA has no switch for cuDNN's heuristic alone: it tries a convolution's algorithms")
    # XLA takes the size of its pool of threads from here, else from the machine, when its client is made: at the
    # first array
    os.environ["NPROC"] = str(cell.cpus)
    # memory is taken as it is needed, as the other frameworks do, up to nearly all of it
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.95")
    jax.config.update("jax_platforms", "cpu" if cell.device == "cpu" else "cuda,cpu")
    jax.config.update("jax_enable_x64", cell.precision == "float64")
    jax.config.update("jax_default_matmul_precision", None if cell.device == "cpu" else _PRODUCTS[cell.precision])


def of_numbers():
    """What decides how programs compute, by JAX's names for it, as it is set now."""
    names = ("default_matmul_precision", "enable_x64", "disable_jit", "numpy_dtype_promotion")
    return {"jax.config.jax_" + name: jax.config.values.get("jax_" + name) for name in names}


def device(cell):
    """This process's jax.Device of the cell, its first one. Raises Unsupported where it has none."""
    try:
        return jax.local_devices(backend=platform(cell))[0]
    except RuntimeError as error:
        raise Unsupported("JAX sees no GPU here: %s" % " ".join(str(error).split())) from None


def platform(cell):
    """JAX's name of the cell's device."""
    return "cpu" if cell.device == "cpu" else "cuda"


def tuned(cell, features):
    """The cell with what spec.switches says: on a CPU nothing, since a step is one program in the common lane, too."""
    if cell.device == "cpu":
        return cell
    apply(cell)                            # a client is made for the device's answer, once
    return switches.tuned("jax", cell, gpu_facts(cell))


def loop(cell):
    """The loop that "native" becomes: xla, a step as one program by jax.jit; or eager. Raises Unsupported.

    tuned is xla, too: jax.jit with donated arrays is what experts write.
    """
    if cell.loop in ("native", "xla", "tuned"):
        return "xla"
    if cell.loop != "eager":
        raise Unsupported("JAX has no loop %s: it has xla, which is jax.jit, and eager" % cell.loop)
    return "eager"


def precision(cell):
    """The cell's precision. Raises Unsupported."""
    if cell.precision == "tf32" and cell.device != "gpu":
        raise Unsupported("TF32 is a mode of GPUs")
    if cell.precision == "tf32":
        refuse_missing_tf32(capability(cell))
    if cell.precision == "amp" and cell.device == "gpu":
        refuse_emulated_bfloat16(capability(cell))
    return cell.precision


def capability(cell):
    """The (major, minor) of the cell's GPU, None where it is not told."""
    told = str(getattr(device(cell), "compute_capability", "")).split(".")
    return tuple(map(int, told)) if len(told) == 2 else None


def gpu_facts(cell):
    """What products on the GPU are set to, and which GPU it is."""
    version = capability(cell)
    return {"compute_capability": version and "%d.%d" % version,
            "tf32": {"products": jax.config.jax_default_matmul_precision}}


def device_peak_bytes(cell):
    """The most that XLA's allocator held on the GPU; {} where it does not tell."""
    told = device(cell).memory_stats() or {}
    return {"allocated": int(told["peak_bytes_in_use"])} if "peak_bytes_in_use" in told else {}


def products(cell):
    """The type that a net's products are made in, None for the weights' own."""
    return jnp.bfloat16 if cell.precision == "amp" else None


def layout(cell):
    """The layout that "best" becomes: nhwc, the one that XLA's convolutions on a CPU take.

    On a GPU XLA chooses the order in memory by itself, whatever the order of the dimensions.
    """
    return "nchw" if cell.layout == "nchw" else "nhwc"


def threads():
    """How many threads XLA's pool for a CPU's work really has, seen in this process; 0 before the first array."""
    return sum(name.startswith("tf_XLAEigen") for name in _thread_names())


def _thread_names():
    for task in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/comm" % task) as file:
                yield file.read().strip()
        except OSError:                        # it has just ended
            continue


def attention(cell):
    """What computes attention: "plain", or which implementation of jax.nn.dot_product_attention. Raises Unsupported.

    cuDNN's takes half precision alone; XLA's is plain products as the function writes them.
    """
    if cell.attention != "fused":
        return "plain"
    if cell.task == "bert":
        raise Unsupported("jax.nn.dot_product_attention has no dropout, which BERT's attention has")
    if cell.precision == "float64":
        raise Unsupported("jax.nn.dot_product_attention computes its softmax in float32, whatever its arrays are")
    return "cudnn" if cell.device == "gpu" and cell.precision == "amp" else "xla"


def attention_told(cell):
    """The same as a fact."""
    chosen = attention(cell)
    return chosen if chosen == "plain" else "jax.nn.dot_product_attention by " + chosen
