"""What a GPU did while MXNet trained, by MXNet's own profiler. MXNet 1.7 and 1.9."""
import json
import os
import tempfile
import time

import mxnet as mx

from workloads.profiles import traces

_SOURCE = "mxnet.profiler: operators, each with its launch and the wait for it"


def traced(work):
    """The Trace of what work(), which ends with the device idle, runs on the GPU."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile.json")
        mx.profiler.set_config(profile_symbolic=True, profile_imperative=True, filename=path)
        mx.nd.waitall()
        mx.profiler.set_state("run")
        began = time.perf_counter()
        work()
        seconds = time.perf_counter() - began
        mx.profiler.set_state("stop")
        mx.profiler.dump()
        with open(path) as file:
            return traces.Trace(traces.of_mxnet(json.load(file)["traceEvents"]), None, seconds, _SOURCE)
