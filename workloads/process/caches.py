"""Where a GPU's compiled kernels are kept from run to run: the driver's, XLA's, Triton's. Python 3.6 and later.

A launcher names a folder in EVENBENCH_KERNELS, one for each stack; without it each run compiles anew. What cuDNN's
searches found lives in a process alone, so each warm-up pays for them.
"""
import glob
import importlib.util
import os
import re

FOLDER = "EVENBENCH_KERNELS"
_CUDA_BYTES = "4294967296"         # the most that the driver takes; its default of 1 GiB is less than TensorFlow's code


def variables(surroundings=None):
    """The variables that make drivers and compilers keep their work in the folder; {} without one."""
    folder = (os.environ if surroundings is None else surroundings).get(FOLDER)
    if not folder:
        return {}
    own = {name: os.path.join(folder, name) for name in ("cuda", "xla", "jax", "inductor", "triton")}
    return {"CUDA_CACHE_PATH": own["cuda"], "CUDA_CACHE_MAXSIZE": _CUDA_BYTES,
            "JAX_COMPILATION_CACHE_DIR": own["jax"], "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            "TORCHINDUCTOR_CACHE_DIR": own["inductor"], "TRITON_CACHE_DIR": own["triton"],
            **({"TF_XLA_FLAGS": "--tf_xla_persistent_cache_directory=" + own["xla"]} if _has_xla_cache() else {})}


def _has_xla_cache(package=None):
    """Whether TensorFlow here, if any, knows the flag: 2.12 does; an older one ends the process at a flag it does not.

    Asked without importing it, since it reads its flags then.
    """
    package = package or getattr(importlib.util.find_spec("tensorflow"), "origin", None)
    if not package:
        return False
    found = glob.glob(os.path.join(os.path.dirname(os.path.dirname(package)), "tensorflow*.dist-info"))
    versions = [re.search(r"tensorflow(?:_cpu|_gpu)?-(\d+)\.(\d+)", os.path.basename(path)) for path in found]
    return any((int(version.group(1)), int(version.group(2))) >= (2, 12) for version in versions if version)


def state():
    """Of the folder as it is now: "none", "empty" or "filled"."""
    folder = os.environ.get(FOLDER)
    if not folder or not os.path.isdir(folder):
        return "none"
    return "filled" if any(files for _, _, files in os.walk(folder)) else "empty"
