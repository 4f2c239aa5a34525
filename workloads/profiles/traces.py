"""What a GPU did while steps were profiled: each framework's own record as spans, and what they add up to.

Python 3.6 and later, standard library only. Moments are whole nanoseconds of the device's clock: seconds since an epoch
would lose them in a float.
"""
from collections import OrderedDict
from typing import NamedTuple

TOP = 20                             # names that an account tells

_COPIES = ("gpu_memcpy", "gpu_memset", "memcpy", "memset")      # Kineto's categories; without gpu_ before PyTorch 1.13
_CALLS = ("cuda_runtime", "cuda_driver", "runtime")
_BOOKKEEPING = ("WaitForVar", "DeleteVariable")                 # of MXNet's engine


class Span(NamedTuple):
    """A kernel, or a copy or fill of memory, on the device."""

    name: str
    is_copy: bool
    began: int
    ended: int


class Trace(NamedTuple):
    """Profiled steps."""

    spans: list
    launches: list                   # (began, ended) of the host's calls that launch kernels; None: not told
    seconds: float                   # of the steps, gaps included
    source: str                      # who told, and of what


def account(trace):
    """Seconds in kernels, copies and gaps, as the "kernels" event has them.

    Kernels that run at once count once, and so do copies; overlap is where a kernel and a copy run at once, so that
    kernels + copies - overlap + gaps are the steps' seconds. The names' seconds are plain sums.
    """
    kernels = [span for span in trace.spans if not span.is_copy]
    kernel_time, copy_time, busy = [covered([span[2:] for span in some]) for some in (
        kernels, [span for span in trace.spans if span.is_copy], trace.spans)]
    return {"kernel_seconds": kernel_time / 1e9, "copy_seconds": copy_time / 1e9,
            "overlap_seconds": (kernel_time + copy_time - busy) / 1e9,
            "gap_seconds": max(0.0, trace.seconds - busy / 1e9),
            "launch_seconds": None if trace.launches is None else covered(trace.launches) / 1e9,
            "kernels": len(kernels), "top": top(kernels), "source": trace.source}


def covered(intervals):
    """How long at least one of the intervals lasts."""
    total, reached = 0, None
    for began, ended in sorted(intervals):
        if reached is None or began > reached:
            total, reached = total + ended - began, ended
        elif ended > reached:
            total, reached = total + ended - reached, ended
    return total


def top(spans):
    """[name, calls, seconds] of the names that took longest."""
    sums = OrderedDict()
    for span in spans:
        calls, nanoseconds = sums.get(span.name, (0, 0))
        sums[span.name] = calls + 1, nanoseconds + span.ended - span.began
    longest = sorted(sums.items(), key=lambda item: -item[1][1])[:TOP]
    return [[name, calls, nanoseconds / 1e9] for name, (calls, nanoseconds) in longest]


def of_kineto(events):
    """(spans, launches) of the traceEvents that torch.profiler exports, microseconds since some moment."""
    spans, launches = [], []
    for event in events:
        kind = str(event.get("cat", "")).lower()
        if event.get("ph") != "X" or "dur" not in event:
            continue
        began = round(1000 * event["ts"])
        ended = began + round(1000 * event["dur"])
        if kind == "kernel" or kind in _COPIES:
            spans.append(Span(event["name"], kind in _COPIES, began, ended))
        elif kind in _CALLS and _is_launch(event["name"]):
            launches.append((began, ended))
    return spans, launches


def of_operators(events):
    """The spans of the FunctionEvents of torch.autograd.profiler, PyTorch 1.4 to 1.7, after their children were found.

    A span lies between two CUDA events that the profiler recorded around an operator: it is what the operator's kernels
    took, and where the GPU waited for them, the wait too. Only operators that call no others have one, so an operator
    is one span, however many kernels it launched.
    """
    spans = []
    for event in events:
        if not any(child.kernels for child in event.cpu_children):
            spans += [Span(kernel.name, _is_copy(kernel.name), round(1000 * kernel.interval.start),
                           round(1000 * kernel.interval.end)) for kernel in event.kernels]
    return spans


def of_step_stats(stats):
    """The spans of TensorFlow's StepStats: each is also under its own stream, so only these two are read."""
    spans = []
    for device in stats.dev_stats:
        if device.device.endswith(("/stream:all", "/memcpy")):
            for node in device.node_stats:
                name = node.timeline_label.split(" ")[0] or node.node_name
                began = 1000 * (node.all_start_micros + node.op_start_rel_micros)
                is_copy = device.device.endswith("/memcpy") or _is_copy(name)
                spans.append(Span(name, is_copy, began, began + 1000 * (
                    node.op_end_rel_micros - node.op_start_rel_micros)))
    return spans


def of_planes(planes):
    """(spans, launches) of the planes of an XSpace, which TensorFlow 2 writes; other lines sum up those of streams."""
    return _of_lines((plane, line, plane.event_metadata[event.metadata_id].name,
                      line.timestamp_ns + event.offset_ps // 1000,
                      line.timestamp_ns + (event.offset_ps + event.duration_ps) // 1000)
                     for plane in planes for line in plane.lines for event in line.events)


def of_profile_data(planes):
    """The same of the planes of a jax.profiler.ProfileData, an XSpace that JAX has read."""
    return _of_lines((plane, line, event.name, round(event.start_ns), round(event.start_ns + event.duration_ns))
                     for plane in planes for line in plane.lines for event in line.events)


def _of_lines(events):
    """(spans, launches) of (plane, line, name, began, ended) of each event."""
    spans, launches = [], []
    for plane, line, name, began, ended in events:
        if plane.name.startswith("/device:GPU:") and line.name.startswith("Stream"):
            spans.append(Span(name, _is_copy(name), began, ended))
        elif plane.name in ("/host:CUPTI", "/host:CPU") and _is_launch(name):
            launches.append((began, ended))
    return spans, launches


def of_mxnet(events):
    """The spans of the traceEvents of MXNet's profiler: of operators on GPUs, for each of which MXNet waits."""
    return [Span(name, _is_copy(name), began, ended) for _, name, began, ended in calls_of_mxnet(events, "gpu/")]


def calls_of_mxnet(events, devices):
    """(thread, name, when it began and ended) of each operator on devices, or span, whose names begin so."""
    theirs = {event["pid"] for event in events
              if event["name"] == "process_name" and event["args"]["name"].startswith(devices)}
    calls, begun = [], {}
    for event in events:
        if event.get("cat") in ("operator", "event") and event["pid"] in theirs and event["name"] not in _BOOKKEEPING:
            key, moment = (event["pid"], event["tid"], event["name"]), round(1000 * event["ts"])
            if event["ph"] == "B":
                begun[key] = moment
            elif key in begun:                     # it may have begun before the profile did
                calls.append((key[:2], event["name"], begun.pop(key), moment))
    return calls


def _is_copy(name: str) -> bool:
    """Whether a name is a copy's: MemcpyHtoD, [CUDA memcpy HtoD], CopyCPU2GPU, but no kernel that copies."""
    lowered = name.lower().lstrip("[")
    return lowered.startswith(("memcpy", "memset", "cuda memcpy", "cuda memset", "copycpu2gpu", "copygpu2cpu"))


def _is_launch(name: str) -> bool:
    """Whether a call of CUDA launches kernels: cudaLaunchKernel, cuLaunchKernelEx, cudaGraphLaunch."""
    return name.startswith("cu") and "Launch" in name
