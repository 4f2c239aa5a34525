"""python -m workloads.process.gpu_code PACKAGE: what code a framework has for GPUs, in its own words, as JSON.

{"cuda": "13.0" or "" for none, "architectures": ["sm_80", "compute_90"], empty where it does not say}.
Python 3.6 and later. Takes no memory on a GPU.
"""
import importlib
import json
import os
import sys

from workloads.frameworks import surroundings
from workloads.spec import frameworks


def of(package):
    """What the package's framework says."""
    cuda, architectures = surroundings.of(frameworks.adapter(package)).gpu_code(importlib.import_module(package))
    return {"cuda": ".".join(cuda.split(".")[:2]) if cuda else "", "architectures": architectures}


if __name__ == "__main__":
    kept = os.dup(1)
    os.dup2(2, 1)                    # what a framework prints at its import is not the answer
    with os.fdopen(kept, "w") as answer:
        answer.write("\n" + json.dumps(of(sys.argv[1])))
