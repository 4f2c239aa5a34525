"""Check 1: the device computes the model."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tests.gpu import reference
from tests.gpu.checks.cells import has_tf32
from tests.gpu.environment import Environment
from tests.gpu.verdicts import Failed, Line, NotHere, NotRun, absent, excused, judged, skipped
from workloads.spec import tasks
from workloads.spec.cell import parse

TF32_SHARE = 0.2              # of TF32's error that float32 may have: it rounds 8192 times as finely
FLOAT32 = 1e-5                # what float32 itself may lose where TF32 loses little: one LSTM layer lost 6e-6
CHECKED = ("lenet5", "resnet18", "mobilenetv2", "resnet50", "lstm", "bert")
SHALLOW = ("lenet5", "resnet18", "lstm")
# XLA compiles each of a model's precisions anew, for a GPU in minutes where a net is deep, and more where it tries the
# fastest of several kernels, which a check of numbers can do without
COMPILED = (*SHALLOW, "bert")
UNTRIED = (("XLA_FLAGS", "--xla_gpu_autotune_level=0"),)

_Told = dict[tuple[str, str, str], "Future[reference.Arrays]"]


def equality(env: Environment) -> Iterator[Line]:
    """The device computes the model: one update against numpy (forward, in float64) and against the CPU (all of it).

    Limits are those of `evenbench check`. That float32 is not TF32, and tf32 is, shows in how far each lies from numpy.
    """
    env = env._replace(variables=UNTRIED) if env.package == "jax" and env.is_gpu else env
    cells = [_check_cell(task, precision) for task in checked_tasks(env) for precision in ("float64", "float32")]
    cores = os.cpu_count() or 1
    if env.is_gpu and env.package == "torch":
        yield _native(env)
    with ThreadPoolExecutor(max(1, min(12, cores - 2))) as pool:      # nothing is timed here
        told: _Told = {}
        for cell in cells:
            for precision, device in compared_with(env, cell):
                own = {**cell, "precision": precision}
                told[cell["task"], precision, device] = pool.submit(_sent, env._replace(device=device), own)
        for cell in cells:
            yield from _equal(cell, told, env.device)


def _native(env: Environment) -> Line:
    """Whether LeNet-5 runs without the driver's compiler of PTX, as it must where the build has code for the GPU."""
    major, minor = env.facts["capability"]
    code = [int(name[3:]) for name in env.facts["architectures"] if name.startswith("sm_") and name[3:].isdigit()]
    is_native = any(10 * major <= each <= 10 * major + minor for each in code)       # as sm_120: 12.0
    what, told = "lenet5 without compiling PTX", "runs" if is_native else "does not run"
    try:
        variables = (*env.variables, ("CUDA_DISABLE_PTX_JIT", "1"))
        _sent(env._replace(variables=variables), _check_cell("lenet5", "float32"))
    except Failed as error:
        return judged(what, f"does not run: {error}", f"{told}, by the code in it", not is_native)
    return judged(what, "runs", f"{told}, by the code in it", is_native)


def checked_tasks(env: Environment) -> tuple[str, ...]:
    """The models that are checked: a CPU's, and a compiler's, are fewer."""
    if not env.is_gpu:
        return SHALLOW
    return COMPILED if env.package == "jax" else CHECKED


def compared_with(env: Environment, cell: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(precision, device) of the runs that a cell's lines are made of, its own first.

    A compiler's float32 is held against numpy alone where numpy has the model: each run is a compilation of its own.
    """
    yield cell["precision"], env.device
    if not env.is_gpu:
        return
    has_reference = reference.has_reference(cell["task"])
    if env.package != "jax" or cell["precision"] == "float64" or not has_reference:
        yield cell["precision"], "cpu"
    if cell["precision"] == "float32" and has_reference and has_tf32(env):
        yield "tf32", "gpu"


def _check_cell(task: str, precision: str) -> dict[str, Any]:
    """As runner/measuring/equality.py's check_cell."""
    cell = {"task": task, "measure": "check", "batch": 4, "precision": precision, "optimizer": "momentum",
            "weight_decay": 1e-4, "cpus": 1}
    if tasks.is_sequence(task):
        return {**cell, "warmup": 0, "steps": 1}
    return {**cell, "classes": 10, "image": 2 * tasks.TASKS[task].least, "input": "synthetic"}


def _sent(env: Environment, cell: dict[str, Any]) -> reference.Arrays:
    """What the cell sent. Raises Failed, NotRun."""
    return reference.sent(env.cell(180, **cell))


def _equal(cell: dict[str, Any], told: _Told, device: str) -> Iterator[Line]:
    task, precision = cell["task"], cell["precision"]
    try:
        ours = told[task, precision, device].result()
    except (Failed, NotHere, NotRun) as error:
        yield excused(f"{task} {precision}", error)
        return
    if reference.has_reference(task):
        expected = reference.forward(parse({"stack": "numpy", **cell}))
        found = reference.differences(ours, expected, "float64")        # the worst array, in float32 too
        yield _differing(f"{task} {precision} against numpy", found, precision)
        if (task, "tf32", device) in told and precision == "float32":
            yield _beside(f"{task}: error of the activations in float32, in TF32", told[task, "tf32", device],
                          lambda what, tf32: _tf32_line(what, found, reference.differences(tf32, expected, "float64")))
    if device == "gpu" and (task, precision, "cpu") in told:
        yield _beside(f"{task} {precision} against the CPU", told[task, precision, "cpu"],
                      lambda what, cpu: _differing(what, reference.differences(ours, cpu, precision), precision))


def _beside(what: str, other: "Future[reference.Arrays]", line: Callable[[str, reference.Arrays], Line]) -> Line:
    """The line on what another run sent; one that failed leaves nothing to compare with."""
    try:
        return line(what, other.result())
    except NotHere as reason:
        return absent(what, str(reason))
    except (Failed, NotRun) as error:
        return skipped(what, str(error))


def _differing(what: str, found: dict[str, float], precision: str) -> Line:
    limits = reference.LIMITS[precision]
    figure = ", ".join(f"{kind} {difference:.0e}" for kind, difference in found.items())
    limit = ", ".join(f"{limits[kind]:.0e}" for kind in found)
    return judged(what, figure, limit, bool(found) and all(found[kind] <= limits[kind] for kind in found))


def _tf32_line(what: str, float32: dict[str, float], tf32: dict[str, float]) -> Line:
    """Whether float32 is nearer to numpy than TF32 is: so the one is not, and the other is."""
    ours, theirs = float32["activation"], tf32["activation"]
    return judged(what, f"{ours:.0e}, {theirs:.0e}", f"<= {TF32_SHARE:g} of TF32's, or {FLOAT32:g}",
                  ours <= max(TF32_SHARE * theirs, FLOAT32) and theirs < 1)
