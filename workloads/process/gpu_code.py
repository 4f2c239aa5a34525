"""python -m workloads.process.gpu_code PACKAGE: what code a framework has for GPUs, in its own words, as JSON.

{"cuda": "13.0" or "" for none, "architectures": ["sm_80", "compute_90"], empty where it does not say}.
Python 3.6 and later. Takes no memory on a GPU.
"""
import importlib
import json
import os
import sys


def _torch(torch):
    if not torch.version.cuda:
        return "", []
    asked = getattr(torch.cuda, "get_arch_list", lambda: [])        # not before 1.8; empty without a GPU
    return torch.version.cuda, list(asked())


def _tensorflow(tensorflow):
    if not tensorflow.test.is_built_with_cuda():
        return "", []
    try:
        build = tensorflow.sysconfig.get_build_info()               # not before 2.3
    except AttributeError:
        build = {}
    return str(build.get("cuda_version", "0.0")), list(build.get("cuda_compute_capabilities", []))


def _mxnet(mxnet):
    return ("0.0", []) if mxnet.context.num_gpus() else ("", [])


def _jax(jax):
    """Its plugin for CUDA compiles for the GPU that it finds."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    try:
        found = jax.devices("gpu")
    except RuntimeError:
        return "", []
    version = getattr(found[0].client, "platform_version", "") if found else ""
    digits = [word for word in version.replace(",", " ").split() if word.isdigit() and len(word) >= 4]
    return ("%d.%d" % divmod(int(digits[0]) // 10, 100) if digits else "0.0") if found else "", []


_OF = {"torch": _torch, "tensorflow": _tensorflow, "mxnet": _mxnet, "jax": _jax}


def told(package):
    """What the package's framework says."""
    cuda, architectures = _OF[package](importlib.import_module(package))
    return {"cuda": ".".join(cuda.split(".")[:2]) if cuda else "", "architectures": architectures}


if __name__ == "__main__":
    kept = os.dup(1)
    os.dup2(2, 1)                    # what a framework prints at its import is not the answer
    with os.fdopen(kept, "w") as answer:
        answer.write(json.dumps(told(sys.argv[1])))
