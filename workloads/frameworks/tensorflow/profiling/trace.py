"""What a GPU did while TensorFlow trained, by TensorFlow's own profilers. TensorFlow 1.15, and 2.3 and later."""
import time

import tensorflow as tf

from workloads.frameworks.tensorflow.profiling import operators
from workloads.profiles import traces

_PLANES = "tf.profiler: CUPTI"
_STATS = "RunMetadata: CUPTI, in whole microseconds; time between two steps is left out"
_LEVELS = {"host_tracer_level": 1, "python_tracer_level": 0, "device_tracer_level": 1}


def traced(work):
    """The Trace of what work(), which ends with the device idle, runs on the GPU, TensorFlow 2. Raises Unsupported."""
    seconds = []

    def timed():
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)

    recorded = operators.spaces(timed, _LEVELS)
    spans, launches = traces.of_planes([plane for space in recorded for plane in space.planes])
    return traces.Trace(spans, launches, seconds[0], _PLANES)


def of_session(session, fetches, steps, batches):
    """The same of some runs of a session, TensorFlow 1; of batches the next is what a run feeds.

    Starting and reading the tracer, which each run does, takes longer than many a step: so a step lasts here from the
    first to the last thing that the GPU did in it.
    """
    options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
    spans, nanoseconds = [], 0
    for _ in range(steps):
        seen = tf.compat.v1.RunMetadata()
        session.run(fetches, next(batches), options=options, run_metadata=seen)
        own = traces.of_step_stats(seen.step_stats)
        spans += own
        nanoseconds += max([span.ended for span in own], default=0) - min([span.began for span in own], default=0)
    return traces.Trace(spans, None, nanoseconds / 1e9, _STATS)
