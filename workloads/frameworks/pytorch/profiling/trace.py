"""What a GPU did while PyTorch trained, by PyTorch's own profilers. PyTorch 1.4 and later."""
import json
import os
import tempfile
import time

import torch

from workloads.profiles import traces

_KINETO = "torch.profiler: CUPTI"
_EVENTS = "torch.autograd.profiler: CUDA events around operators, which hold waits for the host too"


def traced(work):
    """The Trace of what work(), which ends with the device idle, runs on the GPU.

    torch.profiler traces kernels by CUPTI. Before it, in 1.4 and 1.7, only CUDA events around operators are there.
    """
    return _by_kineto(work) if hasattr(torch, "profiler") else _by_events(work)


def _by_kineto(work):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        seconds = _timed(work)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            spans, launches = traces.of_kineto(json.load(file)["traceEvents"])
    return traces.Trace(spans, launches, seconds, _KINETO)


def _by_events(work):
    with torch.autograd.profiler.profile(use_cuda=True) as profile:
        seconds = _timed(work)
    profile.key_averages()                     # up to 1.7 it is this that finds who called whom
    return traces.Trace(traces.of_operators(profile.function_events), None, seconds, _EVENTS)


def _timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
