"""Switches: what a framework's own documentation tells its users to try, as data for host and workers.

`evenbench why` tries those that apply to a row; loop=tuned sets those that have `tuned`; and a worker tells those of
`tells` that its framework left off here by itself. Not here, since every lane has them: PyTorch's fused optimizers and
attention, JAX's donated arrays, gluon's static_alloc, TensorFlow's inter-op threads (one a CPU). Not here either: CUDA
graphs, whose losses lie where the next step writes. Python 3.6 and later, standard library only.
"""
from typing import NamedTuple

from workloads.spec import tasks
from workloads.spec.cell import DEFAULTS, SWITCHED, Cell, pairs

_MXNET = "https://mxnet.apache.org/versions/1.9.1/api/faq/env_var"
_PYTORCH = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"


class Switch(NamedTuple):
    """One switch. Its conditions are words of CONDITIONS, all of which must hold of a cell and its worker's facts."""

    sets: str            # as a cell's "switches" say it; {cpus} is the cell's; "": nothing that a worker can set
    title: str           # what it switches, for people
    frameworks: tuple    # (): all
    when: tuple
    helps: tuple         # the kinds of a step's time that it is meant to shorten
    moves: str           # what else it may change: "", "rounding", "precision" or "memory"
    source: str          # the documentation's title and address
    tuned: tuple = None  # loop=tuned sets it where these hold too; None: nowhere
    tells: bool = False  # a worker says that it is off


SWITCHES = (
    Switch("TF_ENABLE_ONEDNN_OPTS=1", "oneDNN", ("tensorflow",), ("cpu", "onednn off", "from 2.5"),
           ("convolutions", "products", "norms", "pooling"), "rounding",
           "TensorFlow's release notes, 2.5 and 2.9, https://github.com/tensorflow/tensorflow/releases/tag/v2.9.0",
           tuned=(), tells=True),
    Switch("onednn=on", "oneDNN", ("pytorch", "mxnet"), ("cpu", "onednn off"), ("convolutions", "products", "norms"),
           "rounding", "oneDNN, https://uxlfoundation.github.io/oneDNN/", tells=True),
    Switch("ONEDNN_MAX_CPU_ISA=DEFAULT", "oneDNN without a limit of its instructions", (), ("cpu", "isa limited"),
           ("convolutions", "products"), "rounding",
           "oneDNN, CPU dispatcher control, https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html",
           tells=True),
    Switch("cpus={cpus}", "a thread for each CPU", (), ("cpu", "fewer threads"), ("convolutions", "products"), "",
           "PyTorch, CPU threading, https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html",
           tells=True),
    Switch("", "CPUs beyond the quota of its control group", (), ("cpu", "quota"), (), "",
           "Linux, cgroup v2, https://docs.kernel.org/admin-guide/cgroup-v2.html", tells=True),
    Switch("precision=float32", "float32", (), ("ours", "float64 by accident"),
           ("convolutions", "products", "elementwise"), "precision",
           "PyTorch, torch.set_default_dtype, https://docs.pytorch.org/docs/stable/generated/torch.set_default_dtype.html",
           tells=True),
    Switch("precision=float32", "float32, since bfloat16 has no instructions for matrices (AMX)", (),
           ("ours", "cpu", "ran amp", "no amx"),
           ("convolutions", "products"), "precision",
           "PyTorch, automatic mixed precision, https://docs.pytorch.org/docs/stable/amp.html"),
    Switch("input=synthetic", "one batch in memory", (), ("ours", "reads input"), ("input",), "",
           "TensorFlow, better performance with tf.data, https://www.tensorflow.org/guide/data_performance"),
    Switch("layout=nhwc", "channels_last", ("pytorch",), ("ours", "images", "nchw"),
           ("convolutions", "norms", "copies"), "rounding",
           "PyTorch, channels last, https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
           tuned=()),
    Switch("loop=compile", "torch.compile", ("pytorch",), ("eager",),
           ("dispatch", "elementwise", "norms"), "rounding",
           "torch.compile, https://docs.pytorch.org/docs/stable/generated/torch.compile.html", tuned=("cpu",)),
    Switch("loop=tuned", 'torch.compile(mode="max-autotune-no-cudagraphs")', ("pytorch",), ("gpu", "eager"),
           ("dispatch", "elementwise", "products"), "rounding",
           "torch.compile, https://docs.pytorch.org/docs/stable/generated/torch.compile.html", tuned=()),
    Switch("loop=xla", "XLA", ("tensorflow",), ("ours", "without xla", "not recurrent"),
           ("dispatch", "elementwise", "norms", "optimizer"), "rounding",
           "TensorFlow, tf.function (jit_compile), https://www.tensorflow.org/api_docs/python/tf/function",
           tuned=("transformer or gpu",)),
    Switch("precision=amp", "bfloat16 by torch.autocast", ("pytorch",), ("ours", "float32", "bfloat16"),
           ("convolutions", "products"), "precision",
           "PyTorch, automatic mixed precision, https://docs.pytorch.org/docs/stable/amp.html", tuned=("no check",)),
    Switch("precision=amp", "bfloat16 by Keras' policy", ("tensorflow",), ("images", "float32", "bfloat16"),
           ("convolutions", "products"), "precision",
           "TensorFlow, mixed precision, https://www.tensorflow.org/guide/mixed_precision", tuned=("no check",)),
    Switch("precision=amp", "bfloat16 by MXNet's amp", ("mxnet",), ("images", "cpu", "float32", "bfloat16"),
           ("convolutions", "products"), "precision",
           "MXNet, AMP, https://mxnet.apache.org/versions/1.9.1/api/python/docs/tutorials/performance/backend/amp.html",
           tuned=("no check",)),
    Switch("precision=amp", "bfloat16", ("jax",), ("ours", "gpu", "float32", "bfloat16"), ("convolutions", "products"),
           "precision", "JAX, GPU performance tips, https://docs.jax.dev/en/latest/gpu_performance_tips.html",
           tuned=("no check",)),
    Switch("attention=fused", "cuDNN's attention", ("jax",), ("gpu", "fused attention", "amp"),
           ("products", "elementwise"), "rounding",
           "JAX, jax.nn.dot_product_attention, "
           "https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html", tuned=()),
    Switch("precision=tf32", "TF32", ("pytorch", "tensorflow", "jax"), ("ours", "gpu", "float32", "bfloat16"),
           ("convolutions", "products"), "precision", "PyTorch, CUDA semantics, TF32, "
           "https://docs.pytorch.org/docs/stable/notes/cuda.html"),
    Switch("conv=profiling", "cuDNN's search for algorithms", ("pytorch", "tensorflow", "mxnet"),
           ("images", "gpu", "no search"), ("convolutions",), "rounding", "PyTorch, performance tuning guide, "
           + _PYTORCH, tells=True),
    Switch("OMP_WAIT_POLICY=ACTIVE", "threads that spin while they wait", ("pytorch", "mxnet"), ("cpu", "many threads"),
           ("dispatch", "elementwise", "norms"), "",
           "GNU OpenMP, OMP_WAIT_POLICY, https://gcc.gnu.org/onlinedocs/libgomp/OMP_005fWAIT_005fPOLICY.html"),
    Switch("KMP_BLOCKTIME=1", "threads of Intel's and LLVM's OpenMP that sleep after 1 ms", ("pytorch", "mxnet"),
           ("cpu", "many threads", "kmp"), ("dispatch", "elementwise", "norms"), "",
           "PyTorch, performance tuning guide, " + _PYTORCH),
    Switch("LD_PRELOAD=libjemalloc.so.2", "jemalloc", (), ("cpu", "jemalloc"), ("elementwise", "copies", "dispatch"),
           "memory", "PyTorch, performance tuning guide, " + _PYTORCH),
    Switch("LD_PRELOAD=libtcmalloc.so.4", "tcmalloc", (), ("cpu", "tcmalloc"), ("elementwise", "copies", "dispatch"),
           "memory", "PyTorch, performance tuning guide, " + _PYTORCH),
    Switch("MXNET_CPU_WORKER_NTHREADS=2", "two operators at once", ("mxnet",), ("cpu", "many threads"),
           ("dispatch", "optimizer"), "", "MXNet, environment variables, " + _MXNET),
    Switch("TF_GPU_ALLOCATOR=cuda_malloc_async", "CUDA's own allocator", ("tensorflow",), ("gpu",), ("dispatch",),
           "memory", "TensorFlow, GPU memory, https://www.tensorflow.org/guide/gpu"),
    Switch("XLA_FLAGS=--xla_gpu_triton_gemm_any=true", "Triton for all products", ("jax",), ("gpu",), ("products",),
           "rounding", "JAX, GPU performance tips, https://docs.jax.dev/en/latest/gpu_performance_tips.html"),
)
_NO_FUSED = ("bert",)            # whose attention has dropout, which jax.nn's one function has not


def _version(text: str):
    """The first two numbers of a version, () where there are none."""
    return tuple(int(part) for part in str(text).split(".")[:2] if part.isdigit())


def has_bfloat16(cell: Cell, facts) -> bool:
    """Whether bfloat16 is a gain: where a GPU's products, or a processor's of matrices (AMX), have it.

    With vectors of it alone (avx512_bf16) casting costs more than multiplying gains: a token of PyTorch's small GPT-2
    took 1.26 ms by autocast and 0.44 ms without, on two CPUs of an Intel Xeon whose AMX is hidden.
    """
    if cell.device == "cpu":
        return "amx_bf16" in facts.get("cpu_features", ())
    return _version(facts.get("compute_capability")) >= (8, 0)


CONDITIONS = {
    "cpu": lambda cell, facts: cell.device == "cpu",
    "gpu": lambda cell, facts: cell.device == "gpu",
    "ours": lambda cell, facts: not cell.source,
    "images": lambda cell, facts: not (cell.source or tasks.is_sequence(cell.task)),
    "transformer or gpu": lambda cell, facts: cell.device == "gpu" or tasks.is_transformer(cell),
    "not recurrent": lambda cell, facts: not tasks.is_sequence(cell.task) or tasks.is_transformer(cell),
    "fused attention": lambda cell, facts: tasks.is_transformer(cell) and cell.task not in _NO_FUSED,
    "no check": lambda cell, facts: cell.measure != "check",       # which rounding would hide a difference from
    "float32": lambda cell, facts: cell.precision == "float32",
    "amp": lambda cell, facts: cell.precision == "amp",
    "bfloat16": has_bfloat16,
    "ran amp": lambda cell, facts: facts.get("precision") == "amp",
    "no amx": lambda cell, facts: not has_bfloat16(cell, facts),
    "float64 by accident": lambda cell, facts: (facts.get("precision"), cell.precision) == ("float64", "float32"),
    "eager": lambda cell, facts: facts.get("loop", "eager") == "eager",
    "without xla": lambda cell, facts: "XLA" not in facts.get("loop", ""),
    "nchw": lambda cell, facts: facts.get("layout", "nchw") == "nchw",
    "reads input": lambda cell, facts: cell.input != "synthetic",
    "onednn off": lambda cell, facts: facts.get("onednn", False) is False and cell.onednn == "default",
    "from 2.5": lambda cell, facts: _version(facts.get("version")) >= (2, 5),
    "isa limited": lambda cell, facts: any(name in facts.get("environment", ()) for name in (
        "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA")),
    "fewer threads": lambda cell, facts: (facts.get("threads") or cell.cpus) < cell.cpus,
    "many threads": lambda cell, facts: (facts.get("threads") or cell.cpus) > 1,
    "quota": lambda cell, facts: (facts.get("cpu_quota") or 1e9) < len(facts.get("affinity", ())),
    "no search": lambda cell, facts: facts.get("cudnn_benchmark") is False and cell.conv == "default",
    "kmp": lambda cell, facts: any(
        name in str(facts.get("openmp", "")) for name in ("libomp", "libiomp")),
    "jemalloc": lambda cell, facts: "libjemalloc.so.2" in facts.get("allocators", ()),
    "tcmalloc": lambda cell, facts: "libtcmalloc.so.4" in facts.get("allocators", ()),
}


def of(framework: str, cell: Cell, facts):
    """The switches that apply to a cell, by what its worker said; those that it has set itself do not."""
    return [switch for switch in SWITCHES if _is_for(switch, framework) and _hold(switch.when, cell, facts)]


def _is_for(switch, framework: str) -> bool:
    return not switch.frameworks or framework in switch.frameworks


def _hold(words, cell: Cell, facts):
    return all(CONDITIONS[word](cell, facts) for word in words)


def tuned(framework: str, cell: Cell, facts, lacks=()):
    """The cell with the fields that its loop=tuned sets, where it leaves them at their defaults.

    facts: of the processor or the GPU, as the event start will have them. lacks: fields that this version, or this
    device, cannot set.
    """
    for switch in SWITCHES:
        if switch.tuned is None or not (_is_for(switch, framework) and _hold(switch.when + switch.tuned, cell, facts)):
            continue
        for name, value in pairs(switch.sets):
            default = "tuned" if name == "loop" else DEFAULTS.get(name)
            if name in SWITCHED and name not in lacks and getattr(cell, name) == default:
                cell = cell._replace(**{name: value})
    return cell


def tuned_variables(cell: Cell):
    """The variables of the environment that loop=tuned sets, before a framework is there to be asked; else {}.

    They are all frameworks', and each reads its own.
    """
    if cell.loop != "tuned":
        return {}
    return {name: value for switch in SWITCHES if switch.tuned is not None and switch.when[0] == cell.device
            for name, value in pairs(switch.sets) if name not in SWITCHED}


def left_off(framework: str, cell: Cell, facts):
    """What a framework left off here by itself, for a note: "oneDNN (TF_ENABLE_ONEDNN_OPTS=1)"."""
    return ["%s (%s)" % (switch.title, switch.sets) if switch.sets else switch.title
            for switch in of(framework, cell, facts) if switch.tells]
