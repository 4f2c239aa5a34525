"""Check 1: the device computes the model."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.gpu import reference
from tests.gpu.checks.cells import has_tf32
from tests.gpu.environment import Environment
from tests.gpu.verdicts import Failed, Line, NotRun, judged, skipped
from workloads.spec import tasks
from workloads.spec.cell import parse

TF32_SHARE = 0.2              # of TF32's error that float32 may have: it rounds 8192 times as finely
FLOAT32 = 1e-5                # what float32 itself may lose where TF32 loses little: one LSTM layer lost 6e-6
CHECKED = ("lenet5", "resnet18", "mobilenetv2", "resnet50", "lstm", "bert")
SHALLOW = ("lenet5", "resnet18", "lstm")


def equality(env: Environment) -> Iterator[Line]:
    """The device computes the model: one update against numpy (forward, in float64) and against the CPU (all of it).

    Limits are those of `evenbench check`. That float32 is not TF32, and tf32 is, shows in how far each lies from numpy.
    """
    cells = [_check_cell(task, precision) for task in CHECKED for precision in ("float64", "float32")
             if env.is_gpu or task in SHALLOW]
    devices = ("gpu", "cpu") if env.is_gpu else ("cpu",)
    wanted = [(cell, device) for cell in cells for device in devices]
    if has_tf32(env):
        wanted += [(_check_cell(task, "tf32"), "gpu") for task in CHECKED if reference.has_reference(task)]
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(max(1, min(12, cores - 2))) as pool:      # nothing is timed here
        told = list(pool.map(lambda each: _checked(env._replace(device=each[1]), each[0]), wanted))
    by_cell = {(cell["task"], cell["precision"], device): found
               for (cell, device), found in zip(wanted, told, strict=True)}
    for cell in cells:
        yield from _equal(cell, by_cell, env.device)


def _check_cell(task: str, precision: str) -> dict[str, Any]:
    """As runner/measuring/equality.py's check_cell."""
    cell = {"task": task, "measure": "check", "batch": 4, "precision": precision, "optimizer": "momentum",
            "weight_decay": 1e-4, "cpus": 1}
    if tasks.is_sequence(task):
        return {**cell, "warmup": 0, "steps": 1}
    return {**cell, "classes": 10, "image": 2 * tasks.TASKS[task].least, "input": "synthetic"}


def _checked(env: Environment, cell: dict[str, Any]) -> reference.Arrays | str:
    """What the cell sent, or why it did not."""
    try:
        return reference.sent(env.cell(180, **cell))
    except (Failed, NotRun) as error:
        return str(error)


def _equal(cell: dict[str, Any], told: dict[tuple[str, str, str], Any], device: str) -> Iterator[Line]:
    task, precision = cell["task"], cell["precision"]
    ours = told[task, precision, device]
    if isinstance(ours, str):
        yield judged(f"{task} {precision}", ours, "runs", False)
        return
    if reference.has_reference(task):
        expected = reference.forward(parse({"stack": "numpy", **cell}))
        found = reference.differences(ours, expected, "float64")        # the worst array, in float32 too
        yield _differing(f"{task} {precision} against numpy", found, precision)
        if (task, "tf32", device) in told and precision == "float32":
            yield _tf32_line(task, found, told[task, "tf32", device], expected)
    if device == "gpu":
        theirs = told[task, precision, "cpu"]
        if isinstance(theirs, str):
            yield skipped(f"{task} {precision} against the CPU", theirs)
        else:
            found = reference.differences(ours, theirs, precision)
            yield _differing(f"{task} {precision} against the CPU", found, precision)


def _differing(what: str, found: dict[str, float], precision: str) -> Line:
    limits = reference.LIMITS[precision]
    figure = ", ".join(f"{kind} {difference:.0e}" for kind, difference in found.items())
    limit = ", ".join(f"{limits[kind]:.0e}" for kind in found)
    return judged(what, figure, limit, bool(found) and all(found[kind] <= limits[kind] for kind in found))


def _tf32_line(task: str, float32: dict[str, float], tf32: reference.Arrays | str, expected: reference.Arrays) -> Line:
    """Whether float32 is nearer to numpy than TF32 is: so the one is not, and the other is."""
    what = f"{task}: error of the activations in float32, in TF32"
    if isinstance(tf32, str):
        return skipped(what, tf32)
    ours, theirs = float32["activation"], reference.differences(tf32, expected, "float64")["activation"]
    return judged(what, f"{ours:.0e}, {theirs:.0e}", f"<= {TF32_SHARE:g} of TF32's, or {FLOAT32:g}",
                  ours <= max(TF32_SHARE * theirs, FLOAT32) and theirs < 1)
