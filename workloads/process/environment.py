"""The variables that frameworks read once, at import, and what the worker observes of its surroundings."""
import os
import platform
import resource
import sys

_SEEN = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS", "MXNET_MKLDNN_ENABLED",
         "MALLOC_ARENA_MAX", "LD_PRELOAD", "XLA_FLAGS", "TF_XLA_FLAGS", "KMP_AFFINITY", "DNNL_MAX_CPU_ISA",
         "TF_CUDNN_USE_AUTOTUNE", "MXNET_CUDNN_AUTOTUNE_DEFAULT", "NPROC")
# How cuDNN's algorithms are chosen: with 0 both ask cuDNN's heuristic (TensorFlow: cuda_dnn.cc, "default algorithm"),
# with TensorFlow's 1 and MXNet's 2 they try all and keep the fastest, as PyTorch's cudnn.benchmark does.
_CONVOLUTIONS = {"profiling": {"TF_CUDNN_USE_AUTOTUNE": "1", "MXNET_CUDNN_AUTOTUNE_DEFAULT": "2"},
                 "heuristic": {"TF_CUDNN_USE_AUTOTUNE": "0", "MXNET_CUDNN_AUTOTUNE_DEFAULT": "0"}}
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
    return wanted


def facts():
    """What the worker sees around it, whatever the framework."""
    cpu = _cpu()
    return {
        "python": platform.python_version(),
        "libc": "-".join(platform.libc_ver()),
        "affinity": sorted(os.sched_getaffinity(0)),
        "cpu": cpu.get("model name"),
        "cpu_features": [flag for flag in _FEATURES if flag in cpu.get("flags", "").split()],
        "environment": {name: os.environ[name] for name in _SEEN if name in os.environ},
        "executable": sys.executable,
    }


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
