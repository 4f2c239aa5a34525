"""What JAX's own profiler says of training steps: of a CPU's operators, and of a GPU's kernels. JAX 0.10 and later.

XLA fuses operations; the seconds of such a kernel stand under the operation that ends it. The adapter's scopes name
layers: "conv/add" is a bias behind a convolution, "gradient/conv/..." its backward pass, "optimizer/..." the update.
"""
import glob
import os
import re
import tempfile
import time

import jax

from workloads.profiles import traces

# whose kernels are events of their own
_CONTAINERS = re.compile(r"(while|conditional|call)(\.|$)")
_AROUND = ("jvp", "transpose", "while", "body", "closed_call", "checkpoint", "shard_map")
_INSTRUCTION = re.compile(r'^\s*(?:ROOT )?%?([\w.-]+) = .*metadata=\{[^}]*op_name="([^"]+)"', re.MULTILINE)


def profiled(step, steps, texts):
    """{name: (calls, seconds)} of so many calls of step; texts(): the programs that it ran, as XLA writes them."""
    def work():
        for _ in range(steps):
            step()

    kernels = list(_kernels(_profile(work)[0]))
    operations = {}
    for text in texts():
        operations.update(_INSTRUCTION.findall(text))
    return added_up(kernels, operations)


def traced(work):
    """The Trace of what work(), which ends with the device idle, runs on the GPU."""
    profile, seconds = _profile(work)
    spans, launches = traces.of_profile_data(profile.planes)
    return traces.Trace(spans, launches, seconds, "jax.profiler: CUPTI")


def _profile(work):
    """(jax.profiler's record of work(), its seconds)."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            began = time.perf_counter()
            work()
            seconds = time.perf_counter() - began
        path, = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        return jax.profiler.ProfileData.from_file(path), seconds


def added_up(kernels, operations):
    """{name: (calls, seconds)} of (kernel, seconds) pairs; operations: XLA's op_name of a kernel, where it has one."""
    totals = {}
    for kernel, seconds in kernels:
        name = named(operations[kernel]) if kernel in operations else kernel.split(".")[0]
        calls, spent = totals.get(name, (0, 0.0))
        totals[name] = (calls + 1, spent + seconds)
    return totals


def named(operation):
    """A name as the other frameworks' are, of XLA's, such as jit(step)/transpose(jvp(conv))/mul."""
    parts = [part for part in re.sub(r"\bjit\([^()]*\)", "", operation).replace("(", "/").replace(")", "/").split("/")
             if part]
    is_gradient = "transpose" in parts[:-1]
    kept = [part for part in parts[:-1] if part not in _AROUND] + parts[-1:]       # the last one is the operation
    # a scope within a scope: the layer's, and the operation
    short = kept if len(kept) < 2 else [kept[0], kept[-1]]
    return "/".join(["gradient"] * is_gradient + short) or operation


def _kernels(profile):
    for plane in profile.planes:
        for line in plane.lines:
            for event in line.events:
                if not _CONTAINERS.match(event.name) and any(name == "hlo_op" for name, _ in event.stats):
                    yield event.name, event.duration_ns / 1e9
