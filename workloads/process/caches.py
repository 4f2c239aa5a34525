"""Where the driver keeps the GPU code that it compiled, from run to run. Python 3.6 and later.

A launcher names a folder in EVENBENCH_KERNELS, one for each stack; without it each run compiles anew. What a framework
compiles, and what it or cuDNN searches for, is a process's own: each warm-up pays for it, as on a CPU. JAX's kept
programs were 2 % faster on an H200 than those of the process that compiled them (ResNet-50 in float32), so that rounds
were not alike, and all of them had the choices that one search happened to make.
"""
import os

FOLDER = "EVENBENCH_KERNELS"
_BYTES = "4294967296"         # the most that the driver takes; its default of 1 GiB is less than TensorFlow's code


def variables(environment=None):
    """The variables that make the driver keep its work in the folder; {} without one."""
    folder = (os.environ if environment is None else environment).get(FOLDER)
    return {"CUDA_CACHE_PATH": os.path.join(folder, "cuda"), "CUDA_CACHE_MAXSIZE": _BYTES} if folder else {}


def state():
    """Of the folder as it is now: "none", "empty" or "filled"."""
    folder = os.environ.get(FOLDER)
    if not folder or not os.path.isdir(folder):
        return "none"
    return "filled" if any(files for _, _, files in os.walk(folder)) else "empty"
