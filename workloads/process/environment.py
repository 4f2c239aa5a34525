"""The variables that frameworks read once, at import, and what the worker observes of its surroundings."""
import os
import platform
import resource
import sys

from workloads.process import caches, inventory
from workloads.spec import frameworks

_SEEN = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS", "MXNET_MKLDNN_ENABLED",
         "MALLOC_ARENA_MAX", "LD_PRELOAD", "XLA_FLAGS", "TF_XLA_FLAGS", "KMP_AFFINITY", "DNNL_MAX_CPU_ISA",
         "TF_CUDNN_USE_AUTOTUNE", "MXNET_CUDNN_AUTOTUNE_DEFAULT", "TF_CUDNN_DETERMINISTIC", "TF_DETERMINISTIC_OPS",
         "TF_CUDNN_USE_FRONTEND", "TF_CUDNN_RNN_USE_AUTOTUNE", "TF_CUDNN_WORKSPACE_LIMIT_IN_MB", "TF_SYNC_ON_FINISH",
         "TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR", "MXNET_ENFORCE_DETERMINISM", "CUBLAS_WORKSPACE_CONFIG",
         "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "CUDA_LAUNCH_BLOCKING",
         "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES", "NPROC")
_SEEN_FAMILIES = ("NCCL_", "CUDA_CACHE_", "NVIDIA_TF32_", "JAX_", "TORCHINDUCTOR_", "TRITON_")
# How cuDNN's algorithms are chosen. profiling: all are tried, and the fastest is kept, as PyTorch's cudnn.benchmark
# does; MXNet's documentation says 2 for that, but from 1.5.1 to 1.9.1 a condition is the wrong way round, and 2 tries
# only what fits its workspace while 1 tries all. heuristic: cuDNN's own choice. fixed: TensorFlow 1.15 takes the
# algorithms that PyTorch's deterministic ones are (IMPLICIT_PRECOMP_GEMM, backwards ALGO_1); NVIDIA's build of it only
# without cuDNN's frontend, a variable that others do not know.
_CONVOLUTIONS = {"profiling": {"TF_CUDNN_USE_AUTOTUNE": "1", "MXNET_CUDNN_AUTOTUNE_DEFAULT": "1"},
                 "heuristic": {"TF_CUDNN_USE_AUTOTUNE": "0", "MXNET_CUDNN_AUTOTUNE_DEFAULT": "0"},
                 "fixed": {"TF_CUDNN_DETERMINISTIC": "1", "TF_CUDNN_USE_FRONTEND": "0"}}
# NVIDIA's libraries compute float32 without TF32 whatever a framework asks for; another value than 0 means nothing
_NO_TF32 = {"NVIDIA_TF32_OVERRIDE": "0"}
# a container's shared and pinned memory without the right to ask for NUMA nodes: NCCL 2.24 to 2.26.4 would fail
_NCCL = {"NCCL_CUMEM_HOST_ENABLE": "0"}
_FEATURES = ("avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_tile")


def variables(cell):
    """What must be in the environment before the framework is imported, equal for all of them."""
    threads = str(cell.cpus)
    wanted = {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads,
              "TF_CPP_MIN_LOG_LEVEL": "2"}
    if cell.device == "cpu":
        wanted["CUDA_VISIBLE_DEVICES"] = "-1"
    if cell.onednn != "default":
        is_on = str(int(cell.onednn == "on"))
        wanted.update(TF_ENABLE_ONEDNN_OPTS=is_on, MXNET_MKLDNN_ENABLED=is_on,
                      MXNET_STORAGE_FALLBACK_LOG_VERBOSE="0")      # else a line for every operator
    wanted.update(_CONVOLUTIONS.get(cell.conv, {}))
    if cell.device == "gpu":
        wanted.update(_of_gpus(cell))
    return wanted


def _of_gpus(cell):
    """What a cell on GPUs adds: no TF32 where it says float32 or float64, kernels that are kept, NCCL in containers.

    cuDNN's search for the fastest LSTM is said to be on, which is TensorFlow's default.
    """
    found = dict(_NO_TF32) if cell.precision in ("float32", "float64") else {}
    found["TF_CUDNN_RNN_USE_AUTOTUNE"] = "1"
    if cell.gpus > 1 or cell.nodes > 1:
        found.update(_NCCL)
    found.update(caches.variables())
    return found


def enter(cell):
    """Set the cell's variables in this process. TF32 stays the framework's to set where the cell allows it."""
    if cell.device == "gpu":
        for name in _NO_TF32:
            os.environ.pop(name, None)
    os.environ.update(variables(cell))


def facts():
    """What the worker sees around it, whatever the framework."""
    cpu = _cpu()
    found = {
        "python": platform.python_version(),
        "libc": "-".join(platform.libc_ver()),
        "affinity": sorted(os.sched_getaffinity(0)),
        "cpu": cpu.get("model name"),
        "cpu_features": [flag for flag in _FEATURES if flag in cpu.get("flags", "").split()],
        "environment": {name: value for name, value in sorted(os.environ.items())
                        if name in _SEEN or name.startswith(_SEEN_FAMILIES)},
        "executable": sys.executable,
        "kernel_cache": _KERNELS_AT_IMPORT,
    }
    if frameworks.CHOSEN in os.environ:         # a user's own: no lock says what it holds
        found["packages"] = inventory.installed(sys.path[1:])
    return found


def _cpu():
    """The first processor's entries of /proc/cpuinfo."""
    try:
        with open("/proc/cpuinfo") as file:
            first = file.read().split("\n\n")[0]
    except OSError:
        return {}
    return dict([part.strip() for part in line.split(":", 1)] for line in first.splitlines() if ":" in line)


def used():
    """Of this process peak resident bytes and CPU seconds; of its control group, if it has one, peak and throttling."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"peak_bytes": usage.ru_maxrss * 1024, "group_peak_bytes": _group_peak(),
            "cpu_seconds": usage.ru_utime + usage.ru_stime, "throttling": _throttled_since(_AT_IMPORT)}


def _throttled_since(before):
    """The counts since then: under compose a container has had other runs before."""
    now = _throttling()
    return now and {name: count - (before or {}).get(name, 0) for name, count in now.items()}


def _group_peak():
    """The most memory that the control group ever held, page cache included, v1 or v2; None where it does not say."""
    for path in ("/sys/fs/cgroup/memory/memory.max_usage_in_bytes", "/sys/fs/cgroup/memory.peak"):
        try:
            with open(path) as file:
                return int(file.read())
        except (OSError, ValueError):
            continue
    return None


def _throttling():
    """The counts of cpu.stat, control groups v1 or v2; None where there are none."""
    for path in ("/sys/fs/cgroup/cpu/cpu.stat", "/sys/fs/cgroup/cpu.stat"):
        try:
            with open(path) as file:
                stat = dict(line.split() for line in file)
        except (OSError, ValueError):
            continue
        if "nr_periods" in stat:
            return {"periods": int(stat["nr_periods"]), "throttled_periods": int(stat["nr_throttled"])}
    return None


_AT_IMPORT = _throttling()
_KERNELS_AT_IMPORT = caches.state()           # before anything of this run is compiled
