"""The calls and seconds of each operator, by TensorFlow's own profilers. TensorFlow 1.15, and 2.3 and later.

A name is the type of the kernel that ran ("_FusedConv2D"), below "gradient/" where it belongs to the backward pass and
below "optimizer/" where the optimizer made it: a type alone does not tell a product from its gradient. The parts of a
normalisation without a kernel of its own (Keras 3, float64) lie below "batch_norm/", XLA's kernels below "xla/", by
XLA's names. An exchange between workers has
two events, one after the other: until it begins, and itself.
"""
import glob
import importlib
import os
import re
import shutil
import tempfile

import tensorflow as tf

from workloads.process.errors import Unsupported
from workloads.profiles import walls

OPTIMIZER, GRADIENTS = "optimizer", "gradients"     # the name scopes that workloads put around update and backward pass
_PROTOCOLS = ("tensorflow.core.profiler.protobuf.xplane_pb2", "tensorflow.tsl.profiler.protobuf.xplane_pb2")
# Level 2, the default, drops cheap kernels: of 240 TanhGrad 120 to 180 were there. The other tracers only cost time.
_LEVELS = {"host_tracer_level": 3, "python_tracer_level": 0, "device_tracer_level": 0}
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")      # around operators that are counted by themselves
_BACKWARD = ("gradient_tape", GRADIENTS)
_NORM = ("batchnorm", "moments")                             # what tf.nn puts above the parts, where no kernel is fused


class Recorder:
    """What operators run from start() to stop(), by TensorFlow 2's profiler. Raises Unsupported."""

    def __init__(self):
        self._profiler, self._folder = _profiler(), None

    def start(self, levels=None):
        """Begin."""
        self._folder = tempfile.mkdtemp()
        self._profiler.start(self._folder, self._profiler.ProfilerOptions(**levels or _LEVELS))

    def span(self, name):
        """A block that is seen under this name."""
        return self._profiler.Trace(name)

    def stop(self):
        """The profiles.walls.Operators since then."""
        return list(_events(self.spaces()))

    def spaces(self):
        """What the profiler wrote since then: protocols with planes."""
        try:
            self._profiler.stop()
            pattern = os.path.join(self._folder, "plugins", "profile", "*", "*.xplane.pb")
            return [_read(path) for path in glob.glob(pattern)]
        finally:
            shutil.rmtree(self._folder)


def profiled(work):
    """(calls, seconds) by name of what work() runs, TensorFlow 2. Raises Unsupported."""
    recorder = Recorder()
    recorder.start()
    try:
        work()
    finally:
        operators = recorder.stop()
    return _sums((each.name, (each.ended - each.began) / 1e9) for each in walls.of_operators(operators))


def spaces(work, levels):
    """What TensorFlow 2's profiler writes of what work() runs: protocols with planes. Raises Unsupported."""
    recorder = Recorder()
    recorder.start(levels)
    try:
        work()
    finally:
        recorded = recorder.spaces()
    return recorded


def _profiler():
    """TensorFlow's. Raises Unsupported."""
    profiler = getattr(getattr(tf, "profiler", None), "experimental", None)
    if not hasattr(profiler, "ProfilerOptions"):
        raise Unsupported("TensorFlow %s has no profiler with levels: they came with 2.3" % tf.__version__)
    return profiler


def _read(path):
    with open(path, "rb") as file:
        return _protocol().XSpace.FromString(file.read())


def _events(spaces_seen):
    """An Operator of each kernel that the profiler saw, and of what a host did besides."""
    for space in spaces_seen:
        for plane in space.planes:
            names = {key: _event_name(metadata.name, plane.name) for key, metadata in plane.event_metadata.items()}
            of_xla = {key for key, metadata in plane.stat_metadata.items() if metadata.name == "hlo_op"}
            for line in plane.lines:
                for event in line.events:
                    began = 1000 * line.timestamp_ns + event.offset_ps
                    name = names[event.metadata_id]
                    if any(stat.metadata_id in of_xla for stat in event.stats):
                        name = "xla/" + plane.event_metadata[event.metadata_id].name.split(".")[0]
                    if name and event.duration_ps:
                        yield walls.Operator(line.id, name, began // 1000, (began + event.duration_ps) // 1000)


def _event_name(name, plane):
    """Of an event: a kernel's, or a host's; "" of others."""
    operation, _, kind = name.rpartition(":")
    if _is_operator(operation, kind):
        return named(operation, kind)
    if plane != "/host:CPU":
        return ""
    return name if name in (walls.INPUT, walls.PYTHON, walls.WAITING) else walls.HOST + name


def _is_operator(operation, kind):
    """Whether an event is a kernel's: others have no type, or prose about one."""
    return re.match(r"\w+$", kind) and re.match(r"[\w./>-]+$", operation) and kind not in _CALLS


def _protocol():
    """The wheel's own module of the profiler's format, where this version has it."""
    for name in _PROTOCOLS:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise Unsupported("TensorFlow %s has none of %s" % (tf.__version__, ", ".join(_PROTOCOLS)))


def named(operation, kind):
    """The name of a kernel by its path and type."""
    return _prefix(operation.split("/")) + kind


def _sums(events):
    """(calls, seconds) by name of (name, seconds)."""
    sums = {}
    for name, seconds in events:
        calls, total = sums.get(name, (0, 0.0))
        sums[name] = calls + 1, total + seconds
    return sums


def _prefix(parts):
    if OPTIMIZER in parts:
        return "optimizer/"
    return ("gradient/" if set(_BACKWARD) & set(parts) else "") + ("batch_norm/" if set(_NORM) & set(parts) else "")


def of_session(session, fetches, steps, batches, level=tf.compat.v1.RunOptions.FULL_TRACE):
    """The same over some runs of a session, TensorFlow 1; of batches the next is what a run feeds.

    level: below HARDWARE_TRACE the executor alone tells, and CUPTI is not started, which would stay in the process.
    """
    options = tf.compat.v1.RunOptions(trace_level=level)
    events = []
    for _ in range(steps):
        seen = tf.compat.v1.RunMetadata()
        session.run(fetches, next(batches), options=options, run_metadata=seen)
        events.extend(_traced(seen.step_stats))
    return _sums(events)


def _traced(stats):
    """(name, seconds) of each kernel; a label reads "path = Type(inputs)"."""
    for device in stats.dev_stats:
        for node in device.node_stats:
            labelled = re.search(r" = (\w+)\(", node.timeline_label)
            if labelled:
                seconds = (node.op_end_rel_micros - node.op_start_rel_micros) / 1e6
                yield named(node.node_name, labelled.group(1)), seconds
