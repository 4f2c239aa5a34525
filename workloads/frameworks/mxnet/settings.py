"""A cell's switches as MXNet takes them; what only its environment can set is observed. MXNet 1.7 and 1.9."""
import ctypes
import os

import mxnet as mx

from workloads.process import processor
from workloads.process.errors import Unsupported, refuse_convolutions
from workloads.spec import switches


def apply(cell):
    """See that oneDNN is as the cell says: MXNet reads MXNET_MKLDNN_ENABLED once. Raises Unsupported."""
    if cell.graph_opt != "default":
        raise Unsupported("graph_opt is of TensorFlow's graphs")
    refuse_convolutions(cell, has_fixed=False)
    if cell.onednn == "on" and not mx.runtime.Features().is_enabled("MKLDNN"):
        raise Unsupported("this build of MXNet has no oneDNN")
    if cell.onednn != "default" and uses_onednn() != (cell.onednn == "on"):
        raise Unsupported("MXNET_MKLDNN_ENABLED did not say onednn=%s when MXNet was imported" % cell.onednn)


def uses_onednn():
    """Whether float32 operators go to oneDNN, which MXNet 1 calls MKLDNN."""
    return mx.runtime.Features().is_enabled("MKLDNN") and os.environ.get("MXNET_MKLDNN_ENABLED", "1") != "0"


def threads():
    """How many threads an operator may use, as the OpenMP library that MXNet loaded says; None where it has none."""
    return max((ctypes.CDLL(path).omp_get_max_threads() for path in processor.openmp()), default=None)


def inter_op_threads():
    """How many operators the engine runs at once on a CPU; MXNet's default is 1."""
    return int(os.environ.get("MXNET_CPU_WORKER_NTHREADS", "1"))


def device(cell):
    """The mx.Context of the cell. Raises Unsupported where it has none."""
    if cell.device == "cpu":
        return mx.cpu()
    if not mx.context.num_gpus():
        raise Unsupported("MXNet sees no GPU here")
    return mx.gpu()


def gpu_facts():
    """What is known of the GPU's libraries: MXNet has no switch for TF32, and takes it for products from CUDA 11 on."""
    override = os.environ.get("NVIDIA_TF32_OVERRIDE")
    return {"tf32": {"forbidden": override == "0"},
            "cudnn_benchmark": os.environ.get("MXNET_CUDNN_AUTOTUNE_DEFAULT", "1") != "0"}


def tuned(cell, features):
    """The cell with what spec.switches says; oneDNN alone computes bfloat16."""
    return switches.tuned("mxnet", cell, {"cpu_features": features}, () if uses_onednn() else ("precision",))


def loop(cell, has_graph=True):
    """The loop that "native" becomes: hybridized, gluon's graph, where the model has one; or eager. Raises Unsupported.

    tuned is hybridized, too: every graph has static_alloc and static_shape already.
    """
    if cell.loop == "eager" or (cell.loop == "native" and not has_graph):
        return "eager"
    if not has_graph:
        raise Unsupported("this model runs eagerly in MXNet: it is made of functions of arrays, which gluon cannot "
                          "hybridize, and of which graphs are made for transformers alone")
    if cell.loop not in ("native", "graph", "tuned"):
        raise Unsupported("MXNet has no loop %s: it has graph (hybridized) and eager" % cell.loop)
    return "hybridized"


def precision(cell):
    """The cell's precision. Raises Unsupported."""
    if cell.precision == "tf32":
        raise Unsupported("TF32 is a mode of GPUs, and MXNet 1 has no switch for it")
    # float16 was tried on a CPU: "FP16 gemm on cpu not implemented" (1.9), "unknown type for MKLDNN" (1.7)
    if cell.precision == "amp" and (cell.device == "gpu" or not uses_onednn()):
        raise Unsupported("MXNet computes bfloat16 only with oneDNN on a CPU")
    if cell.precision == "amp" and "avx512f" not in processor.features():
        raise Unsupported("MXNet's oneDNN computes bfloat16 with AVX-512, which this processor lacks")
    if cell.precision == "amp" and loop(cell) == "eager":
        raise Unsupported("amp casts in MXNet's graph, which loop eager does not have")
    return cell.precision


def layout(cell):
    """The layout that "best" becomes: nchw. Raises Unsupported."""
    if cell.layout == "nhwc":     # tried with and without oneDNN, in float32 and float64
        raise Unsupported("MXNet's convolution on a CPU only supports NCHW")
    return "nchw"


def attention(cell):
    """What computes attention: "plain". Raises Unsupported."""
    if cell.attention == "fused":
        raise Unsupported("MXNet %s has no one function for attention with a mask" % mx.__version__)
    return "plain"
