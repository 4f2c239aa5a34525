"""The checks: each a function of the environment under proof that gives lines, and whose docstring says what it proves.

A limit is a constant with its reason. Where a check cannot be made it raises NotRun; what crashes is NOT OK.
"""

import importlib.util
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.gpu import reference
from tests.gpu.environment import ROOT, Environment, Event
from tests.gpu.management import Management, Reading
from tests.gpu.verdicts import Failed, Line, NotRun, between, judged, seen, skipped
from workloads.spec import tasks
from workloads.spec.cell import SWITCHES, parse

CLOSE = 0.02                  # two loops of the same arithmetic, and two clocks, on a GPU: what issue and study promise
LONG_STEP = 5e-3              # seconds: below it the wait for a step, 10 to 50 us, is a share of it
TF32_SHARE = 0.2              # of TF32's error that float32 may have: it rounds 8192 times as finely
FLOAT32 = 1e-5                # what float32 itself may lose where TF32 loses little: one LSTM layer lost 6e-6
ENERGY = 0.10                 # power is an average of up to a second, sampled for a quarter of the time (A100, H100)
PROFILED = 0.05               # two profiled stretches of the same steps
FILLED = 0.80                 # of the free memory at the largest batch that trains; the rest is the next workspace
SLACK_BYTES = 64 << 20        # of a driver's own, after a process is gone
SETTINGS = {"classes": 1000, "image": 224, "input": "synthetic", "cpus": 2, "learning_rate": 1e-4}
CHECKED = ("lenet5", "resnet18", "mobilenetv2", "resnet50", "lstm", "bert")
SHALLOW = ("lenet5", "resnet18", "lstm")


class Check(NamedTuple):
    """One of the proof's parts."""

    title: str
    run: Callable[[Environment], Iterator[Line]]
    seconds: float            # after which its processes are killed


# 1 -----------------------------------------------------------------------------------------------------------------


def equality(env: Environment) -> Iterator[Line]:
    """The device computes the model: one update against numpy (forward, in float64) and against the CPU (all of it).

    Limits are those of `evenbench check`. That float32 is not TF32, and tf32 is, shows in how far each lies from numpy.
    """
    cells = [_check_cell(task, precision) for task in CHECKED for precision in ("float64", "float32")
             if env.is_gpu or task in SHALLOW]
    devices = ("gpu", "cpu") if env.is_gpu else ("cpu",)
    wanted = [(cell, device) for cell in cells for device in devices]
    if _has_tf32(env):
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


def _has_tf32(env: Environment) -> bool:
    return env.is_gpu and tuple(env.facts["capability"]) >= (8, 0)


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


# 2 -----------------------------------------------------------------------------------------------------------------


def clocks(env: Environment) -> Iterator[Line]:
    """A step takes as long by our clock as by the device's own; and waiting for each step costs what it should.

    With sync=each the device is idle between steps, so our step is never shorter than the device's, and not longer by
    more than the wait. With sync=end (and blocks) the device runs ahead: that is never slower.
    """
    task = "resnet50" if env.is_gpu else "lenet5"
    cell = _sized(env, task=task, measure="train", batch=64, steps=40, warmup=10)
    each = env.cell(sync="each", **cell)
    step = _step_seconds(each)
    device = [value for event in _steps(each) for value in event.get("device_seconds", ())]
    if device:
        ours = sum(sum(event["seconds"]) for event in _steps(each))
        ratio = ours / sum(device)
        high = 1 + CLOSE if step >= LONG_STEP else float("inf")
        yield between("our clock over the device's", ratio, 1 - CLOSE, high,
                      f"{ratio:.4f} (step {1e3 * step:.2f} ms, {len(device)} steps)")
    else:
        yield skipped("our clock over the device's", f"{env.package} has no clock of the device for {env.device}")
    drain = max(event.get("drain_seconds", 0.0) for event in _steps(each))
    what, figure = "reading the loss after a step said to be over", f"{1e6 * drain:.0f} us"
    yield judged(what, figure, "<= 1 ms", drain <= 1e-3) if env.is_gpu else seen(what, figure)
    for sync in [name for name in ("end", "blocks") if name in SWITCHES["sync"]]:
        ratio = step / _step_seconds(env.cell(sync=sync, **cell))
        what = f"a step of sync=each over one of sync={sync}"
        yield between(what, ratio, 1 - CLOSE, 1.25) if env.is_gpu else seen(what, f"{ratio:.3f}")


def _sized(env: Environment, **values: Any) -> dict[str, Any]:
    """A cell at its size on a GPU; on a CPU a small one of the same kind."""
    if env.is_gpu:
        return {**SETTINGS, **values} if not tasks.is_sequence(values["task"]) else {
            "cpus": 2, "input": "synthetic", "preset": "study", "learning_rate": 1e-4, **values}
    small = {"cpus": 1, "input": "synthetic", **values, "batch": 4, "steps": 3, "warmup": 1}
    if not tasks.is_sequence(values["task"]):
        small.update(image=32, classes=10)
    return small


def _steps(events: list[Event]) -> list[Event]:
    return [event for event in events if event["event"] == "steps"]


def _cell_text(env: Environment, cell: dict[str, Any]) -> str:
    """The whole cell as JSON, for a program of tests/gpu/inside."""
    return json.dumps(parse({"stack": env.name, "device": env.device, **cell})._asdict())


def _step_seconds(events: list[Event]) -> float:
    """Of a cell's timed steps, on average."""
    blocks = _steps(events)
    counts = [event.get("counts") or event.get("count", len(event["seconds"])) for event in blocks]
    total = sum(sum(count) if isinstance(count, list) else count for count in counts)
    return sum(sum(event["seconds"]) for event in blocks) / total


# 3 -----------------------------------------------------------------------------------------------------------------

_RESNET = {"task": "resnet50", "measure": "train", "batch": 64, "steps": 20, "sync": "end"}
# At batch 64 in bfloat16 an H100 waits for the host: a step takes 22 ms, its kernels 16, so that the ratio is one of two
# Pythons, and 0.83 to 1.0 from turn to turn. It is judged where the device is the limit.
_HALF = {**_RESNET, "precision": "amp", "batch": 256, "steps": 10}
_SEQUENCE = {"measure": "train", "sync": "end"}
BESIDE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ResNet-50 float32, batch 64", {**_RESNET, "layout": "nchw", "steps": 10}),
    ("LSTM by cuDNN, hidden 1024, batch 64", {**_SEQUENCE, "task": "lstm", "batch": 64, "steps": 100, "length": 25,
                                              "hidden": 1024}),
    ("BERT base float32, batch 32", {**_SEQUENCE, "task": "bert", "batch": 32, "steps": 10, "optimizer": "adam"}),
    ("ResNet-50 TF32, channels_last, batch 64", {**_RESNET, "precision": "tf32", "layout": "nhwc"}),
    ("ResNet-50 bf16, batch 256", {**_HALF, "layout": "nchw"}),
    ("ResNet-50 bf16, channels_last, batch 256", {**_HALF, "layout": "nhwc"}),
    ("ResNet-50 bf16, channels_last, batch 64", {**_HALF, "layout": "nhwc", "batch": 64, "steps": 20}),
    ("BERT base bf16, batch 64", {**_SEQUENCE, "task": "bert", "batch": 64, "steps": 20, "precision": "amp",
                                  "optimizer": "adam"}),
    ("ResNet-50 bf16, channels_last, compiled, batch 256", {**_HALF, "layout": "nhwc", "loop": "compile"}),
)
HOST_BOUND = ("ResNet-50 bf16, channels_last, batch 64",)       # only to be known
TURNS = 6
BIG_BYTES = 60e9              # of GPU memory that two nets at batch 256 need; below it all are at 64


def beside_bare(env: Environment) -> Iterator[Line]:
    """Our loop is as fast as the framework's user's own: the same net, batch and optimizer, by turns in one process.

    Nets are torchvision's and transformers', or plain torch.nn. On a CPU the ratio has no limit: two cores are shared.
    """
    if env.package != "torch":
        raise NotRun("bare loops are written for PyTorch alone")
    cases = [(what, _fitting(env, _sized(env, **values))) for what, values in (
        BESIDE if env.is_gpu else _small_beside())]
    ieee = [case for case in cases if case[1].get("precision", "float32") == "float32"]
    others = [case for case in cases if case not in ieee]      # float32 forbids TF32 by a variable of the process
    for some in filter(None, (ieee, others)):
        cells = [json.loads(_cell_text(env, cell)) for _, cell in some]
        told, complaint = env.told("beside", json.dumps(cells), str(TURNS if env.is_gpu else 2))
        for index, (what, cell) in enumerate(some):
            events = [event for event in told if event.get("index") == index]
            yield _beside_line(env, what, cell, events, complaint)


def _fitting(env: Environment, cell: dict[str, Any]) -> dict[str, Any]:
    is_small = env.is_gpu and env.facts.get("memory_bytes", BIG_BYTES) < BIG_BYTES
    return {**cell, "batch": min(64, cell["batch"])} if is_small else cell


def _small_beside() -> Iterator[tuple[str, dict[str, Any]]]:
    """What a CPU runs in seconds: each kind of net once, in float32."""
    for what, task in (("LeNet-5", "lenet5"), ("ResNet-50", "resnet50"), ("LSTM", "lstm"), ("BERT, small", "bert")):
        optimizer = "adam" if task == "bert" else "sgd"
        yield f"{what} float32", {"task": task, "measure": "train", "sync": "end", "optimizer": optimizer}


def _beside_line(env: Environment, what: str, cell: dict[str, Any], events: list[Event], complaint: str) -> Line:
    turns = [event for event in events if event["event"] == "turn"]
    problem = next((event["message"] for event in events if event["event"] == "failed"), complaint)
    if "Unsupported" in problem:
        return skipped(what, problem)
    if len(turns) < 2:
        return judged(what, problem or "said no turns", "runs", False)
    ratios = [turn["ours"] / turn["bare"] for turn in turns]
    ratio, step = statistics.median(ratios), 1e3 * statistics.median(turn["ours"] for turn in turns) / cell["steps"]
    figure = (f"{ratio:.4f} ({min(ratios):.3f} to {max(ratios):.3f}, step {step:.2f} ms, net of {turns[0]['source']})")
    is_judged = env.is_gpu and what not in HOST_BOUND
    return between(what, ratio, 1 - CLOSE, 1 + CLOSE, figure) if is_judged else seen(what, figure)


# 4 -----------------------------------------------------------------------------------------------------------------


SHARES = (("resnet50", "float32", 64), ("resnet50", "tf32", 64), ("resnet50", "amp", 256), ("bert", "amp", 64))


def limits(env: Environment) -> Iterator[Line]:
    """No rate is above what the device can do: FLOP/s of training against a matrix product of the same minute.

    A share above 1 would be an operation not done or a clock that lies. Also: precisions are what they say, since a
    GPU's products in TF32 and bfloat16 are faster than in float32.
    """
    sizes, copied = ("4096,8192", 2 << 30) if env.is_gpu else ("768", 64 << 20)
    text = _cell_text(env, {"task": "lenet5", "measure": "train", "cpus": 2 if env.is_gpu else 1})
    told = env.script("limits", env.package, text, sizes, str(copied))
    rates = {event["precision"]: event["rate"] for event in told if event["event"] == "product"}
    copy = next(event["rate"] for event in told if event["event"] == "copy")
    for precision, rate in rates.items():
        yield seen(f"matrix product, {precision}", f"{rate / 1e12:.2f} TFLOP/s")
    yield seen("copy within memory, read and written", f"{copy / 1e9:.0f} GB/s")
    if _has_tf32(env) and {"tf32", "amp"} <= rates.keys():
        yield judged("TF32 and bf16 products are faster than float32",
                     f"{rates['tf32'] / rates['float32']:.1f}, {rates['amp'] / rates['float32']:.1f} times",
                     "> 1.5, > tf32's", rates["float32"] * 1.5 < rates["tf32"] < rates["amp"])
    for task, precision, batch in SHARES if env.is_gpu else (("resnet18", "float32", 4), ("bert", "float32", 4)):
        if precision in rates:
            yield _share(env, task, precision, batch, rates[precision])


def _share(env: Environment, task: str, precision: str, batch: int, rate: float) -> Line:
    what = f"{task} {precision}, batch {batch}: share of the product's rate"
    try:
        cell = _sized(env, task=task, measure="train", precision=precision, batch=batch, steps=10, warmup=5,
                      sync="end", layout="nhwc" if precision in ("amp", "tf32") and task == "resnet50" else "best")
        events = env.cell(**cell)
    except NotRun as reason:
        return skipped(what, str(reason))
    share = events[0]["flops"] / _step_seconds(events) / rate
    samples = cell["batch"] / _step_seconds(events)
    return judged(what, f"{share:.3f} ({samples:.0f} samples/s)", "0 to 1", 0 < share <= 1)


# 5 -----------------------------------------------------------------------------------------------------------------

LEAD_SECONDS, LOAD_SECONDS = 3.0, 10.0       # a second's average has settled; the counter moves every 0.1 s


def energy(env: Environment) -> Iterator[Line]:
    """Power, energy and clocks are plausible: sampled power, integrated over 10 s of load, is the counter's energy.

    Power stays within the limit, clocks are not zero under load, and a reason that slows the GPU down is named.
    """
    if not env.is_gpu:
        raise NotRun("a GPU's energy needs a GPU")
    try:
        management = Management(str(env.facts.get("uuid", "")))
    except OSError as error:
        raise NotRun(str(error)) from error
    idle = management.reading()
    with env.start("tests.gpu.inside.load", env.package, str(LEAD_SECONDS + LOAD_SECONDS + 5)) as process:
        _awaited(process, "running", env.deadline)
        time.sleep(LEAD_SECONDS)
        readings = _sampled(management, LOAD_SECONDS)
    yield from _energy_lines(readings)
    yield from _power_lines(readings, idle, management)


def _awaited(process: Any, name: str, until: float) -> list[Event]:
    """What a process said, once it said an event of this name. Raises Failed where it ends or takes too long."""
    while time.monotonic() < until:
        told = process.events()
        if any(event["event"] == name for event in told):
            return list(told)
        if process.popen.poll() is not None:
            raise Failed(f"ended before it said {name}: {process.complaint()}")
        time.sleep(0.05)
    raise Failed(f"did not say {name} in its time")


def _sampled(management: Management, seconds: float) -> list[tuple[float, Reading]]:
    """(moment, reading) every 0.05 s or so."""
    began, found = time.monotonic(), []
    while time.monotonic() - began < seconds:
        found.append((time.monotonic(), management.reading()))
        time.sleep(0.05)
    return found


def _energy_lines(readings: list[tuple[float, Reading]]) -> Iterator[Line]:
    what = "integral of power over the counter's energy"
    (began, first), (ended, last) = readings[0], readings[-1]
    if None in (first.energy_joules, last.energy_joules, first.power_watts):
        yield skipped(what, "this GPU has no energy counter, or does not tell its power")
        return
    integral = sum((after - before) * (one.power_watts + other.power_watts) / 2
                   for (before, one), (after, other) in pairwise(readings))
    counted = last.energy_joules - first.energy_joules
    yield between(what, integral / counted, 1 - ENERGY, 1 + ENERGY,
                  f"{integral / counted:.3f} ({integral:.0f} J, {counted:.0f} J in {ended - began:.1f} s)")


def _power_lines(readings: list[tuple[float, Reading]], idle: Reading, management: Management) -> Iterator[Line]:
    powers = [each.power_watts for _, each in readings if each.power_watts is not None]
    limit, most = management.power_limit(), management.highest_clock()
    if powers and limit and idle.power_watts is not None:
        yield judged("power under load", f"{min(powers):.0f} to {max(powers):.0f} W (idle {idle.power_watts:.0f} W)",
                     f"above idle, <= {1.05 * limit:.0f} W (limit + 5 %)",
                     idle.power_watts < statistics.mean(powers) and max(powers) <= 1.05 * limit)
    clocks_seen = [each.sm_clock for _, each in readings if each.sm_clock is not None]
    if clocks_seen:
        most = most or 1e5                        # a GPU that does not tell: no clock is faster than 100 GHz
        yield judged("clock under load", f"{min(clocks_seen):.0f} to {max(clocks_seen):.0f} MHz",
                     f"> 0, <= {most:.0f} MHz", min(clocks_seen) > 0 and max(clocks_seen) <= most)
    told = [each.reasons for _, each in readings if each.reasons is not None]
    slow = {name: sum(name in each for each in told) / len(told) for each in told for name in each
            if name not in ("gpu_idle", "applications_clocks")}
    shares = ", ".join(f"{name} {share:.0%} of the time" for name, share in sorted(slow.items()))
    yield seen("what slowed the clock", shares or "nothing") if told else skipped("what slowed the clock", "not told")


# 6 -----------------------------------------------------------------------------------------------------------------


def profile(env: Environment) -> Iterator[Line]:
    """Our account of kernels, copies and gaps is what the framework's own profiler sums up over the same steps.

    On a CPU: our operators' calls are the profiler's own.
    """
    if env.package != "torch":
        raise NotRun("compared with PyTorch's profiler alone")
    measure = "kernels" if env.is_gpu else "operators"
    task = "resnet50" if env.is_gpu else "lenet5"
    cell = {**_sized(env, task=task, measure=measure, batch=64), "steps": 10, "warmup": 5, "sync": "end"}
    told = env.cell(**cell)[-2]
    own = env.script("profiled", _cell_text(env, cell))[-1]
    yield from _kernel_lines(told, own) if env.is_gpu else _operator_lines(told, own)


def _kernel_lines(told: Event, own: Event) -> Iterator[Line]:
    yield between("kernels, ours over the profiler's", told["kernels"] / own["kernels"], 0.99, 1.01,
                  f"{told['kernels']} and {own['kernels']}")
    # kernels that run at once count once in ours: never more than the sum, but for the run-to-run difference
    yield between("seconds in kernels, ours over the profiler's", told["kernel_seconds"] / own["kernel_seconds"],
                  1 - PROFILED, 1 + PROFILED)
    copies = abs(told["copy_seconds"] - own["copy_seconds"]) / told["kernel_seconds"]
    yield judged("seconds in copies and fills, difference as a share of the kernels'", f"{copies:.4f}", "<= 0.01",
                 copies <= 0.01)
    total = told["kernel_seconds"] + told["copy_seconds"] - told["overlap_seconds"] + told["gap_seconds"]
    yield between("kernels + copies - overlap + gaps over the steps' seconds by the loop", total / own["seconds"],
                  1 - 2 * PROFILED, 1 + 2 * PROFILED)
    yield seen("gaps", f"{told['gap_seconds'] / total:.1%} of the steps")


def _operator_lines(told: Event, own: Event) -> Iterator[Line]:
    found = {name: calls for name, (calls, _) in told["operators"].items() if name.startswith("aten::")}
    same = [name for name in found if found[name] == own["calls"].get(name)]
    # calls of an operator within itself count once in ours
    yield judged("operators with as many calls as the profiler says", f"{len(same)} of {len(found)}", ">= 90 %",
                 len(found) > 10 and len(same) >= 0.9 * len(found))
    convolutions = found.get("aten::conv2d")
    yield judged("convolutions of 10 steps of LeNet-5", str(convolutions), "20", convolutions == 20)


# 7 -----------------------------------------------------------------------------------------------------------------


def largest_batch(env: Environment) -> Iterator[Line]:
    """max_batch finds the memory there is: its batch fills the GPU, and one 1.25 times as large does not fit.

    On a CPU the limit is the process's address space.
    """
    if not env.is_gpu:
        yield from _largest_on_cpu(env)
        return
    if env.package != "torch":
        raise NotRun("compared with PyTorch's allocator alone")
    cell = {**_sized(env, task="resnet50", measure="train", batch=64), "steps": 1, "warmup": 1, "sync": "end"}
    few, more = env.script("memory", _cell_text(env, cell), "32,64")
    a_sample = (more["allocated"] - few["allocated"]) / 32
    expected = int((more["free"] - more["allocated"]) / a_sample) + 64
    told = env.cell(**{**cell, "measure": "max_batch", "batch": max(1, int(0.9 * expected))})
    event = next(event for event in told if event["event"] == "max_batch")
    peak, = env.script("memory", _cell_text(env, cell), str(event["largest"]))
    share = peak["reserved"] / peak["free"]
    yield seen("largest batch of ResNet-50 at 224 pixels, float32", f"{event['largest']} "
               f"({len(event['tried'])} trials; a sample takes {a_sample / 1e6:.0f} MB, which foretold {expected})")
    yield between("allocator's peak there over free memory", share, FILLED, 1.0,
                  f"{share:.3f} ({peak['reserved'] / 1e9:.1f} of {peak['free'] / 1e9:.1f} GB)")
    yield _does_not_fit(env, {**cell, "batch": int(1.25 * event["largest"]) + 1})


def _does_not_fit(env: Environment, cell: dict[str, Any]) -> Line:
    end = env.ended(**cell)[-1]
    return judged(f"a batch of {cell['batch']}, 1.25 times as large", end["status"], "oom", end["status"] == "oom")


def _largest_on_cpu(env: Environment) -> Iterator[Line]:
    """The search under a limit of the address space, which PyTorch's own start leaves room in."""
    limit = 3 << 30
    small = env._replace(limit_bytes=limit)
    cell = {"task": "lenet5", "measure": "train", "batch": 4096, "image": 32, "classes": 10, "input": "synthetic",
            "steps": 1, "warmup": 0, "cpus": 1, "memory_bytes": limit}
    told = small.cell(400, **{**cell, "measure": "max_batch"})
    event = next(event for event in told if event["event"] == "max_batch")
    if not event["smallest_oom"]:
        raise NotRun(f"no batch up to {event['largest']} ran out of {limit >> 30} GiB")
    yield seen("largest batch of LeNet-5", f"{event['largest']} in {limit >> 30} GiB of addresses "
               f"({len(event['tried'])} trials)")
    yield _does_not_fit(small, {**cell, "batch": int(1.25 * event["largest"]) + 1})


# 8 -----------------------------------------------------------------------------------------------------------------


def killed(env: Environment) -> Iterator[Line]:
    """A worker that is killed in mid-training leaves no process, and gives the GPU's memory back."""
    management = _management(env)
    before = management.reading().used_bytes if management else None
    cell = {**_sized(env, task="resnet18", measure="train", batch=64), "steps": 1000000}
    with env.start_cell(**cell) as process:
        _awaited(process, "steps", env.deadline)
        during = management.reading().used_bytes if management else None
        os.kill(process.popen.pid, signal.SIGKILL)
        process.popen.wait()
        group = process.popen.pid
        is_gone = _until(lambda: not _of_group(group), 10)
        yield judged("processes left 10 s after SIGKILL", str(len(_of_group(group))), "0", is_gone)
        if management is None or before is None or during is None:
            why = "NVML says nothing of it" if env.is_gpu else "a CPU's is the process's own"
            yield skipped("memory given back", why)
        else:
            yield _given_back(management, before, during)


def _given_back(management: Management, before: int, during: int) -> Line:
    began = time.monotonic()

    def used() -> int:
        return management.reading().used_bytes or 0

    is_freed = _until(lambda: used() <= before + SLACK_BYTES, 20)
    figure = f"{before / 1e6:.0f}, {during / 1e6:.0f}, {used() / 1e6:.0f} MB ({time.monotonic() - began:.1f} s after)"
    return judged("memory used before, during, after", figure, f"before + {SLACK_BYTES >> 20} MiB",
                  is_freed and during > before + SLACK_BYTES)


def _management(env: Environment) -> Management | None:
    try:
        return Management(str(env.facts.get("uuid", ""))) if env.is_gpu else None
    except OSError:
        return None


def _until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Whether something became so within the seconds."""
    ends = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
    return True


def _of_group(group: int) -> list[int]:
    """The living processes of a group, which every process that a worker starts is in."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = path.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(of_group) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


# 9 -----------------------------------------------------------------------------------------------------------------

RUNNER = ("docker", "jinja2", "matplotlib", "pydantic", "psutil", "pynvml", "requests", "rich", "scipy", "sklearn",
          "typer", "yaml")


def study(env: Environment) -> Iterator[Line]:
    """The study of `make bench-gpu` runs end to end here: every cell ends with its word, and a page is there.

    One round at scale quick: whether the way through is whole, not which stack is faster.
    """
    missing = [name for name in RUNNER if not _can_import(name)]
    if missing:
        raise NotRun(f"this Python has no {', '.join(missing)}, which the runner needs")
    if not env.is_gpu:
        raise NotRun("the study is for GPUs")
    with tempfile.TemporaryDirectory() as folder:
        stack = f"{env.name}={env.python}#{env.package}"
        command = [sys.executable, "-m", "runner", "run", "gpu", "--scale", "quick", "--launcher", "venv",
                   "--rounds", "1", "--set", "steps=10", "--stack", stack, "--results", folder]
        done = _done(command, env.deadline)
        if done.returncode == 2:
            raise NotRun(f"the runner said: {(done.stderr.strip().splitlines() or ['nothing'])[-1]}")
        yield judged("`evenbench run gpu --scale quick`", f"exit code {done.returncode}", "0", done.returncode == 0)
        size = sum(page.stat().st_size for page in Path(folder).rglob("report.html"))
        yield judged("its page", f"{size / 1e3:.0f} kB", "> 10 kB", size > 10000)
        yield _endings(Path(folder))


def _done(command: list[str], deadline: float) -> "subprocess.CompletedProcess[str]":
    seconds = max(1.0, deadline - time.monotonic())
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise Failed("the study took longer than its time") from error


def _endings(folder: Path) -> Line:
    """How the study's runs ended."""
    text = "".join(path.read_text() for path in folder.rglob("events.jsonl"))
    words = re.findall(r'"status": "(\w+)"', text)
    counts = ", ".join(f"{word} {words.count(word)}" for word in sorted(set(words)))
    return judged("endings", counts or "none", "ok, unsupported", bool(words) and set(words) <= {"ok", "unsupported"})


def _can_import(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


# in the order in which they are run: what takes long comes last, and does without what the eight minutes leave
CHECKS = {
    "1": Check("The device computes the model", equality, 150),
    "2": Check("Our clock and the device's", clocks, 120),
    "4": Check("The rate and the device's limit", limits, 120),
    "5": Check("Energy, power and clocks", energy, 60),
    "6": Check("Kernels, copies and gaps", profile, 90),
    "8": Check("A killed worker", killed, 60),
    "3": Check("Our loop and a user's own, seconds over seconds", beside_bare, 240),
    "7": Check("The largest batch", largest_batch, 150),
    "9": Check("The study, end to end", study, 420),
}
