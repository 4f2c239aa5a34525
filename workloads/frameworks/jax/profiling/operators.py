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
import jax.numpy as jnp

from workloads.profiles import traces, walls

# whose kernels are events of their own
_CONTAINERS = re.compile(r"(while|conditional|call)(\.|$)")
_AROUND = ("jvp", "transpose", "while", "body", "closed_call", "checkpoint", "shard_map")
_MODULE = re.compile(r"HloModule ([\w.-]*)")
_INSTRUCTION = re.compile(r'^\s*(?:ROOT )?%?([\w.-]+) = .*metadata=\{[^}]*op_name="([^"]+)"', re.MULTILINE)


class Program:
    """A function by jax.jit, compiled here for each shape of its later arguments, so that it can be read."""

    def __init__(self, function):
        self._function, self._by_shapes = function, {}

    def __call__(self, *arguments):
        """What the function gives."""
        shapes = str(jax.tree.map(jnp.shape, arguments[1:]))
        if shapes not in self._by_shapes:
            self._by_shapes[shapes] = self._function.lower(*arguments).compile()
        return self._by_shapes[shapes](*arguments)

    def operations(self):
        """XLA's op_name by (module, kernel): kernels of two programs may have one name. Of two shapes the later's."""
        texts = [program.as_text() for program in self._by_shapes.values()]
        return {(_MODULE.match(text).group(1), kernel): operation for text in texts
                for kernel, operation in _INSTRUCTION.findall(text)}


class Recorder:
    """What operators of some Programs run from start() to stop(), by JAX's profiler."""

    def __init__(self, programs):
        """programs(): those that were made until then."""
        self._programs, self._folder = programs, None

    def start(self):
        """Begin."""
        self._folder = tempfile.TemporaryDirectory()
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0            # which makes each call of Python slower, and what it sees longer
        jax.profiler.start_trace(self._folder.name, profiler_options=options)

    def span(self, name):
        """A block that is seen under this name."""
        return jax.profiler.TraceAnnotation(name)

    def stop(self):
        """The profiles.walls.Operators since then."""
        jax.profiler.stop_trace()
        operations = {}
        for program in self._programs():
            operations.update(program.operations())
        with self._folder as folder:
            return [walls.Operator(thread, kernel_name(kernel, operations) if kernel[0] else kernel[1], began, ended)
                    for thread, kernel, began, ended in _events(_read(folder))]


def profiled(recorder, step, steps):
    """{name: (calls, seconds)} of so many calls of step."""
    recorder.start()
    for _ in range(steps):
        step()
    totals = {}
    for operator in walls.of_operators(recorder.stop()):
        calls, spent = totals.get(operator.name, (0, 0.0))
        totals[operator.name] = (calls + 1, spent + (operator.ended - operator.began) / 1e9)
    return totals


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
        return _read(folder), seconds


def _read(folder):
    path, = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
    return jax.profiler.ProfileData.from_file(path)


def kernel_name(kernel, operations):
    """The name of a (module, kernel); operations: XLA's op_name of it, where it has one.

    A product with what is added to it, dot_add_fusion, is the product.
    """
    if kernel not in operations:
        return kernel[1].split(".")[0]
    name = named(operations[kernel])
    return name.rpartition("/")[0] + "/dot_general" if kernel[1].startswith("dot_") and "/" in name else name


def named(operation):
    """A name as the other frameworks' are, of XLA's, such as jit(step)/transpose(jvp(conv))/mul."""
    parts = [part for part in re.sub(r"\bjit\([^()]*\)", "", operation).replace("(", "/").replace(")", "/").split("/")
             if part]
    is_gradient = "transpose" in parts[:-1]
    kept = [part for part in parts[:-1] if part not in _AROUND] + parts[-1:]       # the last one is the operation
    # a scope within a scope: the layer's, and the operation
    short = kept if len(kept) < 2 else [kept[0], kept[-1]]
    return "/".join(["gradient"] * is_gradient + short) or operation


def _events(profile):
    """(thread, (module, kernel), when it began and ended) of each kernel; ("", name) of what a host did besides."""
    for plane in profile.planes:
        for line in plane.lines:
            for event in line.events:
                stats = {} if _CONTAINERS.match(event.name) else dict(event.stats)
                began, kernel = round(event.start_ns), None
                if "hlo_op" in stats:
                    kernel = stats.get("hlo_module", "-"), event.name
                elif plane.name == "/host:CPU" and not event.name.startswith("end: "):
                    is_ours = event.name in (walls.INPUT, walls.PYTHON, walls.WAITING)
                    kernel = "", event.name if is_ours else walls.HOST + event.name.split(".")[0]
                if kernel:
                    yield line.name, kernel, began, began + round(event.duration_ns)
