"""A cell's switches as PyTorch's own settings, set for the whole process. PyTorch 1.4 and later."""
import contextlib
import os
import shutil

import torch
import torch.backends.mkldnn  # 1.4 does not import it by itself

from workloads.process.errors import (
    Unsupported,
    refuse_convolutions,
    refuse_emulated_bfloat16,
    refuse_missing_tf32,
)
from workloads.spec import switches


def apply(cell):
    """Set threads, oneDNN and TF32 as the cell says. Raises Unsupported."""
    if cell.graph_opt != "default":
        raise Unsupported("graph_opt is of TensorFlow's graphs: PyTorch has none to optimise")
    _choose_convolutions(cell)
    torch.set_num_threads(cell.cpus)
    if torch.get_num_interop_threads() != 1:
        torch.set_num_interop_threads(1)      # can be set once, before any parallel work
    if cell.onednn == "on" and not torch.backends.mkldnn.is_available():
        raise Unsupported("this build of PyTorch has no oneDNN")
    torch.backends.mkldnn.set_flags(cell.onednn != "off")
    if cell.device == "gpu":
        for backend in (getattr(torch.backends.cuda, "matmul", None), torch.backends.cudnn):
            if hasattr(backend, "allow_tf32"):
                backend.allow_tf32 = cell.precision == "tf32"


def of_numbers():
    """What decides how operators compute, by PyTorch's names for it, as it is set now."""
    values = {"torch.default_dtype": str(torch.get_default_dtype()), "torch.num_threads": torch.get_num_threads(),
              "torch.backends.mkldnn": torch._C._get_mkldnn_enabled()}
    for name, read in (("float32_matmul_precision", "get_float32_matmul_precision"),
                       ("use_deterministic_algorithms", "are_deterministic_algorithms_enabled")):
        values["torch." + name] = getattr(torch, read)() if hasattr(torch, read) else None
    for part in ("matmul", "conv", "rnn"):
        of_part = getattr(torch.backends.mkldnn, part, None)
        values["torch.backends.mkldnn.%s.fp32_precision" % part] = getattr(of_part, "fp32_precision", None)
    return values


@contextlib.contextmanager
def widths():
    """A dict, which a block's operators fill: what computes in fewer bits than float32, {type: an operator}.

    Empty before PyTorch 1.13, which has no such door.
    """
    found = {}
    try:
        from torch.utils._python_dispatch import TorchDispatchMode
    except ImportError:
        yield found
        return

    class Seen(TorchDispatchMode):
        """Looks at what operators give."""

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            given = func(*args, **(kwargs or {}))
            for each in given if isinstance(given, (tuple, list)) else (given,):
                if isinstance(each, torch.Tensor) and each.is_floating_point() and each.element_size() < 4:
                    found.setdefault(str(each.dtype).rpartition(".")[2], str(func))
            return given

    with Seen():
        yield found


def _choose_convolutions(cell):
    """Set how cuDNN's algorithms are chosen. Raises Unsupported.

    deterministic without benchmark takes one algorithm for all shapes (IMPLICIT_PRECOMP_GEMM, backwards ALGO_1) where
    PyTorch calls cuDNN 7's functions; with the interface of cuDNN 8, which came with benchmark_limit, it only narrows
    what the heuristic may choose.
    """
    cudnn = torch.backends.cudnn
    refuse_convolutions(cell, has_fixed=not hasattr(cudnn, "benchmark_limit"))
    if cell.conv != "default":
        cudnn.benchmark, cudnn.deterministic = cell.conv == "profiling", cell.conv == "fixed"


def device(cell):
    """The torch.device of the cell. Raises Unsupported where it has none."""
    if cell.device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise Unsupported("PyTorch sees no GPU here: %s" % (torch.version.cuda or "this build has no CUDA"))
    return torch.device("cuda")


def tuned(cell, features):
    """The cell with what spec.switches says, as far as this version and device have it."""
    apply(cell)                            # threads are set once, before anything is computed
    dtype = torch.float64 if cell.precision == "float64" else torch.float32
    lacks = (() if hasattr(torch, "autocast") else ("precision",)) + (
        () if _keeps_channels_last(device(cell), dtype) else ("layout",))
    facts = {"cpu_features": features}
    if cell.device == "gpu":
        facts["compute_capability"] = "%d.%d" % torch.cuda.get_device_capability()
    return switches.tuned("pytorch", cell, facts, lacks)


def loop(cell):
    """The loop that "native" becomes: eager; or compile, with its mode where it is tuned. Raises Unsupported."""
    if cell.loop in ("native", "eager"):
        return "eager"
    if not is_compiled(cell):
        raise Unsupported("PyTorch has no loop %s: it has eager and compile" % cell.loop)
    if not hasattr(torch, "compile"):
        raise Unsupported("PyTorch %s has no torch.compile" % torch.__version__)
    if cell.device == "cpu" and not shutil.which(os.environ.get("CXX", "g++")):
        raise Unsupported("torch.compile needs a C++ compiler on a CPU, and found no g++")
    try:
        torch.compile(torch.nn.Identity())       # compiles nothing yet
    except RuntimeError as error:                # 2.0 with Python 3.11
        raise Unsupported("PyTorch %s: %s" % (torch.__version__, error)) from None
    return ", ".join(filter(None, ["compile", _mode(cell)]))


def is_compiled(cell):
    """Whether torch.compile makes the cell's programs."""
    return cell.loop in ("compile", "tuned")


def compiled(function, cell):
    """The function, or the net, by torch.compile as the cell's loop says."""
    mode = _mode(cell)
    return torch.compile(function, mode=mode) if mode else torch.compile(function)


def _mode(cell):
    """The mode of torch.compile for loop=tuned; "" is its default.

    A GPU's kernels are chosen by trying; without CUDA graphs, which would write a step's loss where the one before it
    lies, and losses are read after the timed steps. A CPU's have nothing to try: the templates of that mode are for
    products with constant weights, which training does not have.
    """
    return "max-autotune-no-cudagraphs" if cell.loop == "tuned" and cell.device == "gpu" else ""


def precision(cell):
    """The cell's precision. Raises Unsupported."""
    if cell.precision == "tf32" and not (cell.device == "gpu" and hasattr(torch.backends.cudnn, "allow_tf32")):
        raise Unsupported("TF32 is a mode of GPUs, in PyTorch from 1.7 on")
    if cell.precision == "tf32":
        refuse_missing_tf32(torch.cuda.get_device_capability())
    if cell.precision == "amp" and not hasattr(torch, "autocast"):
        raise Unsupported("PyTorch %s has no torch.autocast to bfloat16" % torch.__version__)
    if cell.precision == "amp" and cell.device == "gpu":
        refuse_emulated_bfloat16(torch.cuda.get_device_capability())
    return cell.precision


def layout(cell, device, dtype):
    """The layout that "best" becomes: nchw; or nhwc. Raises Unsupported where convolutions do not keep nhwc.

    Tensor cores want nhwc: for nchw cuDNN transposes around their kernels. So best is nhwc on a GPU with amp and tf32;
    PyTorch's tutorial of channels_last says 22 % for ResNet-50 on a V100. Elsewhere neither is best everywhere: on an
    AVX-512 CPU (PyTorch 2.13, 1 thread) a training step in nhwc took 0.83 of nchw's time for MobileNetV2 at 224 pixels
    and 1.25 for ResNet-18 at 64, with inference at 0.79 and 1.09. nchw is PyTorch's default and what its models are
    published in.
    """
    if cell.layout == "nchw" or (cell.layout == "best" and not _has_tensor_cores_work(cell)):
        return "nchw"
    if _keeps_channels_last(device, dtype):
        return "nhwc"
    if cell.layout == "best":
        return "nchw"
    raise Unsupported("convolutions of PyTorch %s turn channels_last back to nchw here" % torch.__version__)


def _has_tensor_cores_work(cell):
    return cell.device == "gpu" and cell.precision in ("amp", "tf32")


def _keeps_channels_last(device, dtype):
    x = torch.zeros(2, 8, 4, 4, device=device, dtype=dtype).contiguous(memory_format=torch.channels_last)
    net = torch.nn.Conv2d(8, 8, 3).to(device, dtype).to(memory_format=torch.channels_last)
    return net(x).is_contiguous(memory_format=torch.channels_last)


def gpu_facts():
    """What the GPU's libraries are and are set to, as they say themselves once a workload is built."""
    cudnn, matmul = torch.backends.cudnn, getattr(torch.backends.cuda, "matmul", None)
    return {
        "cuda": torch.version.cuda,
        "cudnn": cudnn.version(),
        "compute_capability": "%d.%d" % torch.cuda.get_device_capability(),
        "tf32": {"matmul": getattr(matmul, "allow_tf32", False), "cudnn": getattr(cudnn, "allow_tf32", False)},
        "cudnn_benchmark": cudnn.benchmark,
        "cudnn_deterministic": cudnn.deterministic,
    }


def optimizer(cell, parameters):
    """The cell's torch.optim.Optimizer.

    Weight decay is L2: gradient + weight_decay * weight is what the optimizer sees; but adamw (Loshchilov and Hutter
    2019) takes learning_rate * weight_decay of each weight, biases and normalisation too, and then is adam.
    Adam is w - learning_rate * m_hat / (sqrt(v_hat) + 1e-8), both moments corrected for their bias.
    """
    rates = {"lr": cell.learning_rate, "weight_decay": cell.weight_decay}
    if cell.optimizer in ("adam", "adamw"):
        kind = torch.optim.AdamW if cell.optimizer == "adamw" else torch.optim.Adam
        return _fused(kind, parameters, dict(rates, betas=(0.9, 0.999), eps=1e-8))
    return _fused(torch.optim.SGD, parameters, dict(rates, momentum=0.9 if cell.optimizer == "momentum" else 0.0))


def _fused(kind, parameters, options):
    """The fused form where it exists: the same arithmetic in one kernel, 9 % of MobileNetV2's step with Adam."""
    parameters = list(parameters)
    try:
        return kind(parameters, fused=True, **options)
    except (TypeError, RuntimeError):       # unknown before 2.0; there for GPUs only before 2.4
        return kind(parameters, **options)


FUSED = "scaled_dot_product_attention"


def attention(cell):
    """What computes attention: FUSED, which "default" becomes where PyTorch has it, or "plain". Raises Unsupported."""
    has_fused = hasattr(torch.nn.functional, FUSED)
    if cell.attention == "fused" and not has_fused:
        raise Unsupported("PyTorch %s has no %s" % (torch.__version__, FUSED))
    return FUSED if has_fused and cell.attention != "plain" else "plain"
