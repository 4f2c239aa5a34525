"""What a GPU, or a CPU's operators, did while MXNet ran, by MXNet's own profiler. MXNet 1.7 and 1.9."""
import json
import os
import tempfile
import time

import mxnet as mx

from workloads.profiles import traces, walls

_SOURCE = "mxnet.profiler: operators, each with its launch and the wait for it"


class Recorder:
    """What runs from start() to stop()."""

    def __init__(self):
        self._folder = None

    def start(self):
        """Begin."""
        self._folder = tempfile.TemporaryDirectory()
        mx.profiler.set_config(profile_symbolic=True, profile_imperative=True,
                               filename=os.path.join(self._folder.name, "profile.json"))
        mx.nd.waitall()
        mx.profiler.set_state("run")

    def span(self, name):
        """A block that is seen under this name."""
        return _Span(name)

    def stop(self):
        """The profiles.walls.Operators since then."""
        return [walls.Operator(thread, name, began, ended)
                for thread, name, began, ended in traces.calls_of_mxnet(self.events(), ("cpu/", "event"))]

    def events(self):
        """The traceEvents that the profiler wrote since then."""
        mx.nd.waitall()
        mx.profiler.set_state("stop")
        mx.profiler.dump()
        with self._folder as folder, open(os.path.join(folder, "profile.json")) as file:
            return json.load(file)["traceEvents"]


class _Span:
    def __init__(self, name):
        self._event = mx.profiler.Event(name)

    def __enter__(self):
        self._event.start()

    def __exit__(self, *failure):
        self._event.stop()


def traced(work):
    """The Trace of what work(), which ends with the device idle, runs on the GPU."""
    recorder = Recorder()
    recorder.start()
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    return traces.Trace(traces.of_mxnet(recorder.events()), None, seconds, _SOURCE)
