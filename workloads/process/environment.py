"""The variables that frameworks read once, at import, and what the worker observes of its surroundings."""
import glob
import hashlib
import json
import os
import platform
import re
import resource
import sys

from workloads.frameworks import surroundings
from workloads.process import caches, control_groups, cpu_time, inventory, lifetime, pages, processor
from workloads.spec import frameworks, placement, switches
from workloads.spec.cell import Cell, CellError

_SEEN = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX", "LD_PRELOAD",
         "LD_LIBRARY_PATH", "KMP_AFFINITY",
         "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA", "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING",
         "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_DISABLE_PTX_JIT",
         "CUDA_FORCE_PTX_JIT")
_SEEN_FAMILIES = ("NCCL_", "CUDA_CACHE_", "NVIDIA_TF32_")
# NVIDIA's libraries compute float32 without TF32 whatever a framework asks for; another value than 0 means nothing
_NO_TF32 = {"NVIDIA_TF32_OVERRIDE": "0"}
# a container's shared and pinned memory without the right to ask for NUMA nodes: NCCL 2.24 to 2.26.4 would fail
_NCCL = {"NCCL_CUMEM_HOST_ENABLE": "0"}


def variables(cell: Cell):
    """What must be in the environment before the framework is imported, equal for all of them."""
    threads = str(cell.cpus)
    needed = {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    for own in surroundings.of_all():
        needed.update(own.variables(cell))
    needed.update(switches.tuned_variables(cell))
    needed.update({"CUDA_VISIBLE_DEVICES": "-1"} if cell.device == "cpu" else _of_gpus(cell))
    return needed


def _of_gpus(cell: Cell):
    """What a cell on GPUs adds: no TF32 where it says float32 or float64, kernels that are kept, NCCL in containers."""
    added = dict(_NO_TF32) if cell.precision in ("float32", "float64") else {}
    if cell.gpus > 1 or cell.nodes > 1:
        added.update(_NCCL)
    added.update(caches.variables())
    return added


def enter(cell: Cell) -> None:
    """Set the cell's variables in this process, which adopts what its children leave.

    TF32 stays the framework's to set where the cell allows it.
    """
    _check_recorded()
    lifetime.adopt_orphans()
    if cell.device == "gpu":
        for name in _NO_TF32:
            os.environ.pop(name, None)
    passed = _passed()
    os.environ.update((name, value) for name, value in variables(cell).items() if name not in passed)


def enter_forked(forked_from: int) -> None:
    """Let what this child uses count from now on, apart from the process that imported for it and for others before."""
    global _at_beginning, _forked_from
    _forked_from = forked_from
    lifetime.adopt_orphans()
    _at_beginning = control_groups.throttling()


def _passed():
    """The names of variables that the user passes on, which count before ours."""
    return os.environ.get(placement.PASSED, "").split()


def _check_recorded() -> None:
    """Raise CellError where this process is not what the session's record says of a user's own environment."""
    found, recorded = sys.executable, os.environ.get("EVENBENCH_EXECUTABLE")
    if recorded and found != recorded:
        raise CellError("the worker is %s, and the record's is %s" % (found, recorded))
    packages = os.environ.get("EVENBENCH_PACKAGES")
    if packages and packages != _digest_of_packages():
        raise CellError("the worker's packages are not those of the record: it began with others on its path")


def _digest_of_packages():
    """As runner.stacks.own makes it."""
    held = sorted(inventory.installed(sys.path[1:]).items())
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()


def facts():
    """What the worker sees around it, whatever the framework."""
    seen = {
        "python": platform.python_version(),
        "libc": "-".join(platform.libc_ver()),
        "affinity": sorted(os.sched_getaffinity(0)),
        "cpu": processor.name(),
        "cpu_features": processor.features(),
        "environment": _seen(),
        "executable": sys.executable,
        "kernel_cache": _KERNELS_AT_IMPORT,
        "cpu_quota": control_groups.cpu_quota(),
        "openmp": ", ".join(sorted(map(os.path.basename, processor.openmp()))),
        "foreign_libraries": sorted(_foreign(processor.mapped())),
        "allocators": sorted({os.path.basename(path) for path in glob.glob(_ALLOCATORS)}),
    }
    if frameworks.CHOSEN in os.environ:         # a user's own: no lock says what it holds
        seen["packages"] = inventory.installed(sys.path[1:])
    return seen


def _foreign(paths):
    """The loaded libraries that LD_LIBRARY_PATH or LD_PRELOAD leads to: they are others than usual."""
    named = [each for name in ("LD_LIBRARY_PATH", "LD_PRELOAD")
             for each in re.split("[: ]", os.environ.get(name, "")) if each.startswith("/")]
    folders = [os.path.realpath(each) + os.sep for each in named if os.path.isdir(each)]
    linked = {os.path.realpath(each.path) for folder in folders for each in os.scandir(folder) if each.is_symlink()}
    linked.update(map(os.path.realpath, named))
    found = [path for path in paths if path in linked or path.startswith(tuple(folders))]
    return ["%s, %d bytes, of %d" % (path, os.path.getsize(path), os.path.getmtime(path))
            for path in filter(os.path.isfile, found)]


_ALLOCATORS = "/usr/lib*/*/lib[jt][ec]malloc.so.?"         # libjemalloc and libtcmalloc


def _seen():
    """The variables that may move a result, as they are."""
    names, families = set(_SEEN + tuple(_passed())), _SEEN_FAMILIES
    for own in surroundings.of_all():
        names.update(own.SEEN)
        families += own.SEEN_FAMILIES
    return {name: value for name, value in sorted(os.environ.items()) if name in names or name.startswith(families)}


def used():
    """Of this process peak resident bytes; of its control group, if it has one for itself, peak and throttling.

    CPU seconds are those of all that descends from it, too: PyTorch's C++ compiler took 35 of a run's 50. To a forked
    process's peak those pages of libraries are added that the import alone has read, as if it had imported itself.
    """
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if _forked_from:
        peak_bytes += pages.only_in(_forked_from)
    return {"peak_bytes": peak_bytes, "group_peak_bytes": None if _forked_from else control_groups.peak_bytes(),
            "cpu_seconds": cpu_time.cpu_seconds(), "throttling": _throttled_since(_at_beginning)}


def _throttled_since(before):
    """The counts since then: under compose a container has had other runs before."""
    now = control_groups.throttling()
    return now and {name: count - (before or {}).get(name, 0) for name, count in now.items()}


_at_beginning, _forked_from = control_groups.throttling(), 0
_KERNELS_AT_IMPORT = caches.state()           # before anything of this run is compiled
