"""Which of NVIDIA's libraries this process really loaded, asked by their own functions. Python 3.6 and later.

A framework may say what it was built with; what it computes with is what the process has in its memory.
"""
import ctypes
import os
import re

_MAPS = "/proc/self/maps"


def _cudnn(library):
    number = library.cudnnGetVersion()
    major = number // (1000 if number < 90000 else 10000)
    rest = number - major * (1000 if number < 90000 else 10000)
    return "%d.%d.%d" % (major, rest // 100, rest % 100)


def _runtime(library):
    number = _by_pointer(library.cudaRuntimeGetVersion)
    return "%d.%d" % (number // 1000, number % 1000 // 10)


def _nccl(library):
    number = _by_pointer(library.ncclGetVersion)
    major = number // (1000 if number < 10000 else 10000)
    rest = number - major * (1000 if number < 10000 else 10000)
    return "%d.%d.%d" % (major, rest // 100, rest % 100)


def _by_pointer(function):
    value = ctypes.c_int()
    function(ctypes.byref(value))
    return value.value


_ASKED = (("cudnn", r"libcudnn\.so", _cudnn), ("cuda_runtime", r"libcudart[-.\w]*\.so", _runtime),
          ("nccl", r"libnccl\.so", _nccl))


def loaded(maps=_MAPS, opened=ctypes.CDLL):
    """{name: version} of cuDNN, CUDA's runtime and NCCL; a library that is not there, or does not tell, is left out.

    One that a framework brings within its own is not seen.
    """
    with open(maps) as file:
        paths = sorted({line.split(None, 5)[-1].strip() for line in file if "/" in line})
    versions = {}
    for name, pattern, version in _ASKED:
        for path in paths:
            if re.match(pattern, os.path.basename(path)):
                try:
                    versions[name] = version(opened(path))
                except (OSError, AttributeError):
                    continue
    return versions
