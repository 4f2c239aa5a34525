"""Where a GPU's compiled kernels are kept from run to run: the driver's and the frameworks'. Python 3.6 and later.

A launcher names a folder in EVENBENCH_KERNELS, one for each stack; without it each run compiles anew. What cuDNN's
searches found lives in a process alone, so each warm-up pays for them.
"""
import os

from workloads.frameworks import surroundings

FOLDER = "EVENBENCH_KERNELS"
_CUDA_BYTES = "4294967296"         # the most that the driver takes; its default of 1 GiB is less than TensorFlow's code


def variables(environment=None):
    """The variables that make drivers and compilers keep their work in the folder; {} without one."""
    folder = (os.environ if environment is None else environment).get(FOLDER)
    if not folder:
        return {}
    kept = {"CUDA_CACHE_PATH": os.path.join(folder, "cuda"), "CUDA_CACHE_MAXSIZE": _CUDA_BYTES}
    for own in surroundings.of_all():
        kept.update(own.cache_variables(folder))
    return kept


def state():
    """Of the folder as it is now: "none", "empty" or "filled"."""
    folder = os.environ.get(FOLDER)
    if not folder or not os.path.isdir(folder):
        return "none"
    return "filled" if any(files for _, _, files in os.walk(folder)) else "empty"
