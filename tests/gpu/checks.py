"""The checks: each a function of the environment under proof that gives lines, and whose docstring says what it proves.

A limit is a constant with its reason. What crashes is NOT OK.
"""

import importlib.util
import json
import os
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
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from runner.analysis import agreement
from tests.gpu.lines import NOT_HERE, NOT_RUN, Ended, Line, between, excused, judged
from tests.gpu.worker import ROOT, Environment, Event, of_group
from tests.lifetimes import eventually
from workloads.frameworks import numpy as reference
from workloads.frameworks.numpy import recurrent
from workloads.inputs import images, sequence_batches, weights
from workloads.measuring.count_sketch import sketch
from workloads.spec import tasks
from workloads.spec.cell import Cell, parse

CLOSE = 0.02                  # two loops of the same arithmetic, and two clocks, on a GPU
LONG_STEP = 5e-3              # seconds: below it the wait for a step, 10 to 50 us, is a share of it
LEFT = 0.1                    # of a step, that reading its loss may take: a wait that lies leaves most of a step
TF32_SHARE = 0.2              # of TF32's error that float32 may have: it rounds 8192 times as finely
FLOAT32 = 1e-5                # what float32 itself may lose where TF32 loses little: one LSTM layer lost 6e-6
ENERGY = 0.10                 # power is an average of up to a second, sampled for a quarter of the time (A100, H100)
LEAD_SECONDS, LOAD_SECONDS = 3.0, 10.0       # a second's average has settled; the counter moves every 0.1 s
PROFILED, GAPS = 0.10, 0.10   # profiled steps beside plain ones; in float32 the device is the limit: an H100 had 2.7 %
SAMPLE_BYTES = 94e6           # of ResNet-50's training in float32, 224 pixels: an H100 took 93e6
FILLED, MORE = 0.80, 1.25     # of the memory at the largest batch; times it what does not fit: the next workspace
SLACK_BYTES = 64 << 20        # of a driver's own, after a process is gone
CPUS = os.cpu_count() or 1    # XLA compiled ResNet-50 in 12 s with 16, and in 32 to 36 s with 2
SHALLOW, DEEP = ("lenet5", "resnet18", "lstm"), ("bert", "mobilenetv2", "resnet50")


def sized(env: Environment, **values: Any) -> dict[str, Any]:
    """A cell at its size on a GPU; on a CPU a small one of the same kind."""
    is_sequence = tasks.is_sequence(values["task"])
    cell = {"cpus": CPUS, "input": "synthetic", "learning_rate": 1e-4, **values}
    if env.is_gpu:
        return {**({"preset": "study"} if is_sequence else {"classes": 1000, "image": 224}), **cell}
    return {**cell, "cpus": 1, "batch": 4, "steps": 3, "warmup": 1, **({} if is_sequence else {"image": 32})}


def of_event(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event["event"] == name]


def step_seconds(events: list[Event]) -> float:
    """Of a cell's timed steps, on average."""
    blocks = of_event(events, "steps")
    counts = [event.get("counts") or event.get("count", len(event["seconds"])) for event in blocks]
    return sum(sum(event["seconds"]) for event in blocks) / sum(map(np.sum, counts))


def on_gpu(env: Environment, line: Line) -> Line:
    """The line; on a CPU, whose cores are shared, without its limit."""
    return line if env.is_gpu else Line(line.what, line.figure)


def equality(env: Environment) -> Iterator[Line]:
    """The device computes the model: one update against numpy (forward, in float64) and the CPU, as `evenbench check`.

    That float32 is not TF32, and tf32 is, shows in how far each lies from numpy.
    """
    if env.package == "jax" and env.is_gpu:      # a check of numbers can do without a search for the fastest kernels
        env = env._replace(variables=(("XLA_FLAGS", "--xla_gpu_autotune_level=0"),))
    names = SHALLOW if not env.is_gpu else (*SHALLOW, *(DEEP[:1] if env.package == "jax" else DEEP))
    runs = [(task, precision, device) for task in names for precision in ("float64", "float32", "tf32")
            for device in dict.fromkeys((env.device, "cpu"))
            if precision != "tf32" or (device == "gpu" and task != "bert")]
    with ThreadPoolExecutor(max(1, min(12, CPUS - 2))) as pool:      # nothing is timed here
        told = {run: pool.submit(lambda there, cell: agreement.sent(there.cell(**cell._asdict()))[""],
                                 env._replace(device=run[2]), check_cell(env._replace(device=run[2]), *run[:2]))
                for run in runs}
        for task, precision in ((task, precision) for task in names for precision in ("float64", "float32")):
            try:
                ours, cell = told[task, precision, env.device].result(), check_cell(env, task, precision)
                if task != "bert":                             # which numpy has not
                    theirs = forward(cell)
                    yield compared(f"{task} {precision} against numpy", cell, ours, theirs)
                if (task, "tf32", "gpu") in told and precision == "float32":
                    strict, loose = (differences(cell, each, theirs).worst["activation"]
                                     for each in (ours, told[task, "tf32", "gpu"].result()))
                    yield judged(f"{task}: error of the activations in float32, in TF32", f"{strict:.0e}, {loose:.0e}",
                                 f"<= {TF32_SHARE:g} of TF32's, or {FLOAT32:g}",
                                 strict <= max(TF32_SHARE * loose, FLOAT32) and loose < 1)
                if env.is_gpu:
                    theirs = told[task, precision, "cpu"].result()
                    yield compared(f"{task} {precision} against the CPU", cell, ours, theirs)
            except Ended as error:
                yield excused(f"{task} {precision}", error)


def check_cell(env: Environment, task: str, precision: str) -> Cell:
    return agreement.check_cell(task, env.name, precision, 1, 0)._replace(device=env.device)


def compared(what: str, cell: Cell, ours: agreement.Sent, theirs: agreement.Sent) -> Line:
    found, limits = differences(cell, ours, theirs), agreement.LIMITS[cell.precision]
    figure, limit = (", ".join(f"{kind} {each[kind]:.0e}" for kind in found.worst) for each in (found.worst, limits))
    return judged(what, found.problem or " ".join(filter(None, (figure, found.first))), limit, found.passed)


def differences(cell: Cell, ours: agreement.Sent, theirs: agreement.Sent) -> agreement.Verdict:
    """The verdict on what both sent, of the kinds that the other has: numpy's are of the forward pass."""
    one, other = (SimpleNamespace(name=name, framework="pytorch") for name in ("ours", "theirs"))
    found = agreement.compare(cell, {kind: ours[kind] for kind in ours if kind in theirs}, theirs, one, other)
    return found._replace(worst={kind: found.worst[kind] for kind in found.worst if kind in theirs})


def forward(cell: Cell) -> agreement.Sent:
    """numpy's activations, logits and loss of a check cell, from its own weights as rounded for it, in float64."""
    arrays = weights.seeded(tasks.parameters(cell), cell.seed, "float64" if cell.precision == "float64" else "float32")
    if cell.task == "lstm":
        batch, = sequence_batches.read(None, cell).first(cell.batch)
        double = {name: array.astype(np.float64) for name, array in arrays.items()}
        logits = recurrent.lstm(double, "lstm", batch["x"].astype(np.float64))
        activations, loss = {"lstm": logits}, 0.5 * (logits * logits).mean()
    else:
        workload, sample = reference.Workload(tasks.table(cell.task, cell.classes), cell), images.synthetic(cell)
        workload.load(arrays)
        activations = workload.activations(sample.images)
        logits = activations[list(activations)[-1]]
        loss = reference.model.cross_entropy(logits, sample.labels)
    return {"activation": {name: sketch(name, array) for name, array in activations.items()},
            "logits": {"logits": sketch("logits", logits)}, "loss": {"loss": np.array([loss])}}


def clocks(env: Environment) -> Iterator[Line]:
    """A step takes as long by our clock as by the device's own; and waiting for each step costs what it should.

    With sync=each the device is idle between steps. With sync=blocks it runs ahead: that is never slower.
    """
    cell = sized(env, task="resnet50" if env.is_gpu else "lenet5", measure="train", batch=64, steps=25, warmup=8)
    told = env.cell(sync="each", **cell)
    step, blocks = step_seconds(told), of_event(told, "steps")
    what, device = "our clock over the device's", [each for block in blocks for each in block.get("device_seconds", ())]
    if device:
        ratio = step * len(device) / sum(device)
        yield between(what, ratio, 1 - CLOSE, 1 + CLOSE if step >= LONG_STEP else float("inf"),
                      f"{ratio:.4f} (step {1e3 * step:.2f} ms, {len(device)} steps)")
    else:
        yield Line(what, f"{env.package} has no clock of the device for {env.device}", "", NOT_HERE)
    drain = max(block.get("drain_seconds", 0.0) for block in blocks)
    yield on_gpu(env, judged("reading the loss after a step said to be over", f"{1e6 * drain:.0f} us",
                             f"<= {LEFT:g} of a step", drain <= LEFT * step))
    ratio = step / step_seconds(env.cell(sync="blocks", **cell))
    yield on_gpu(env, between("a step of sync=each over one of sync=blocks", ratio, 1 - CLOSE, 1.25))


def beside_bare(env: Environment) -> Iterator[Line]:
    """Our loop is as fast as the framework's user's own: the worker's measure "harness", by turns in one process."""
    for case in ({"task": "lenet5", "batch": 512}, {"task": "resnet50", "batch": 64, "layout": "nchw"},
                 {"task": "resnet50", "batch": 64, "layout": "nchw", "precision": "tf32"},
                 {"task": "lstm", "batch": 64, "length": 25, "hidden": 1024}, {"task": "bert", "batch": 32}):
        what = f"{case['task']} {case.get('precision', 'float32')}"
        cell = {**sized(env, measure="harness", **case), "steps": 4, "warmup": 10 if env.is_gpu else 2}
        try:
            turns = of_event(env.cell(**cell), "harness")
        except Ended as error:
            yield excused(what, error)
            continue
        ratios, step = [turn["reported"] / turn["bare"] for turn in turns], turns[0]["reported"] / turns[0]["steps"]
        ratio, low = statistics.median(ratios), 0.0 if case["task"] == "bert" else 1 - CLOSE
        # transformers' net does more between the same products; below LONG_STEP two Pythons are compared
        line = between(what, ratio, low, 1 + CLOSE,
                       f"{ratio:.4f} ({min(ratios):.3f} to {max(ratios):.3f}, step {1e3 * step:.2f} ms)")
        yield on_gpu(env, line) if step >= LONG_STEP else Line(what, line.figure)


def limits(env: Environment) -> Iterator[Line]:
    """No rate is above what the device can do: FLOP/s of training against the worker's best matrix product.

    A share above 1 would be an operation not done or a clock that lies. A GPU's TF32 and bfloat16 are faster products.
    """
    of_gpu = (("resnet50", "float32", 64), ("resnet50", "tf32", 64), ("resnet50", "amp", 256), ("bert", "amp", 64))
    rates: dict[str, float] = {}
    for task, precision, batch in of_gpu if env.is_gpu else (("resnet18", "float32", 4), ("bert", "float32", 4)):
        cell = sized(env, task=task, measure="train", precision=precision, batch=batch, steps=10, warmup=5, sync="end")
        try:
            if precision not in rates:
                product = env.cell(task="lenet5", measure="product", precision=precision, cpus=cell["cpus"])
                rates[precision] = max(2 * each["size"] ** 3 * each["count"] / min(each["seconds"])
                                       for each in of_event(product, "product"))
                yield Line(f"matrix product, {precision}", f"{rates[precision] / 1e12:.2f} TFLOP/s")
            seconds = step_seconds(env.cell(**cell))
            flops = tasks.step_flops(parse({"stack": env.name, "device": env.device, **cell}))
            share = flops / seconds / rates[precision]
            yield judged(f"{task} {precision}, batch {cell['batch']}: share of the product's rate",
                         f"{share:.3f} ({cell['batch'] / seconds:.0f} samples/s)", "0 to 1", 0 < share <= 1)
        except Ended as error:
            yield excused(f"{task} {precision}", error)
    if {"float32", "tf32", "amp"} <= rates.keys():
        yield judged("TF32 and bf16 products are faster than float32",
                     f"{rates['tf32'] / rates['float32']:.1f}, {rates['amp'] / rates['float32']:.1f} times",
                     "> 1.5, > tf32's", rates["float32"] * 1.5 < rates["tf32"] < rates["amp"])


class Smi(NamedTuple):
    """What the driver's nvidia-smi says of a GPU: two powers in watts, a clock in MHz, bytes; NaN: not told."""

    watts: float
    limit: float
    highest: float
    used: float
    total: float


def asked(env: Environment) -> tuple[str, Smi]:
    """(uuid, Smi) of the first GPU that workers see. Raises Ended."""
    if not env.is_gpu:
        raise Ended(NOT_HERE, "it is a GPU's")
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
    query = "uuid,power.draw,enforced.power.limit,clocks.max.sm,memory.used,memory.total"
    try:
        told = subprocess.run(["nvidia-smi", "-i", first, f"--query-gpu={query}", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Ended(NOT_RUN, f"nvidia-smi: {error}") from error
    uuid, *words = told.split(", ")
    watts, limit, highest, *mebibytes = (float(word) if word[0].isdigit() else float("nan") for word in words)
    return uuid, Smi(watts, limit, highest, *(2**20 * each for each in mebibytes))


def with_packages(*names: str) -> None:
    """Raise Ended where the runner's packages are not here."""
    if missing := [name for name in names if not importlib.util.find_spec(name)]:
        raise Ended(NOT_RUN, f"this Python has no {', '.join(missing)}, which the runner needs")


def energy(env: Environment) -> Iterator[Line]:
    """Power, energy and clocks are plausible, as the runner's own reader of NVML says them over 10 s of load.

    Its energy is the power that nvidia-smi says, integrated, and so is its power. Power stays within the limit, clocks
    are not zero, and a reason that slows the GPU down is named.
    """
    uuid, idle = asked(env)
    with_packages("pynvml", "pydantic")
    from runner.machine.nvml import Reader  # here: the other checks do without the runner

    reader, readings = Reader([uuid]), []
    with env.worker(**{**sized(env, task="resnet18", measure="train", batch=256), "warmup": 1, "steps": 10**6}) as load:
        load.awaited("steps", env.deadline)
        time.sleep(LEAD_SECONDS)
        ends = time.monotonic() + LOAD_SECONDS
        while time.monotonic() < ends:
            readings.append((time.monotonic(), asked(env)[1], reader()[0]))
    yield from energy_lines(readings, idle)


def energy_lines(readings: list[tuple[float, Smi, Any]], idle: Smi) -> Iterator[Line]:
    """What nvidia-smi and the runner's reader said under load, beside what was read idle."""
    integral = sum((after - before) * (one.watts + other.watts) / 2
                   for (before, one, _), (after, other, _) in pairwise(readings))
    watts, theirs = [smi.watts for _, smi, _ in readings], [each for _, _, each in readings]
    joules, powers = [each.energy_joules for each in theirs], [each.power_watts for each in theirs]
    counted = float("nan") if None in joules else joules[-1] - joules[0]
    yield between("the reader's energy over the integral of power", counted / integral, 1 - ENERGY, 1 + ENERGY,
                  f"{counted / integral:.3f} ({counted:.0f} J, {integral:.0f} J)")
    ratio = float("nan") if None in powers else statistics.mean(powers) / statistics.mean(watts)
    yield between("the reader's power over nvidia-smi's", ratio, 1 - ENERGY, 1 + ENERGY)
    yield judged("power under load", f"{min(watts):.0f} to {max(watts):.0f} W (idle {idle.watts:.0f} W)",
                 f"above idle, <= {1.05 * idle.limit:.0f} W (limit + 5 %)",
                 idle.watts < statistics.mean(watts) and max(watts) <= 1.05 * idle.limit)
    hertz = [(each.sm_clock_hz or 0) / 1e6 for each in theirs]
    yield between("clock under load, MHz", min(hertz), 1, idle.highest, f"{min(hertz):.0f} to {max(hertz):.0f}")
    slow = sorted({name for each in theirs for name in each.throttle or ()})
    yield Line("what slowed the clock", ", ".join(slow) or "nothing")


def profile(env: Environment) -> Iterator[Line]:
    """Kernels, copies and gaps of a profile are together what plain steps take."""
    if env.package != "torch" or not env.is_gpu:
        raise Ended(NOT_HERE, "of PyTorch's profiler on a GPU alone")
    cell = sized(env, task="resnet50", measure="train", batch=64, steps=10, warmup=5, sync="end")
    told, = of_event(env.cell(**{**cell, "measure": "kernels"}), "kernels")
    total = told["kernel_seconds"] + told["copy_seconds"] - told["overlap_seconds"] + told["gap_seconds"]
    ratio, gaps = total / told.get("steps", 10) / step_seconds(env.cell(**cell)), told["gap_seconds"] / total
    yield between("kernels + copies - overlap + gaps over plain steps", ratio, 1 - PROFILED, 1 + PROFILED,
                  f"{ratio:.3f} ({told['kernels']} kernels)")
    yield judged("gaps, as a share of the steps", f"{gaps:.1%}", f"<= {GAPS:.0%}", gaps <= GAPS)


def killed(env: Environment) -> Iterator[Line]:
    """A worker that is killed in mid-training leaves no process, and gives the GPU's memory back.

    So does a killed search for the largest batch, whose trial is a process of its own.
    """
    def used() -> float:
        return asked(env)[1].used if env.is_gpu else float("nan")

    cell = {**sized(env, task="resnet18", measure="train", batch=64), "steps": 10**6}
    search = {**cell, "measure": "max_batch", "memory_bytes": 0 if env.is_gpu else 1 << 40}     # a CPU's asks for one
    for what, values, event in (("training", cell, "steps"), ("search", search, "start")):
        before = used()
        with env.worker(**values) as running:
            running.awaited(event, env.deadline)
            time.sleep(1.0)                               # a trial that began has taken memory by then
            during, group = used(), running.popen.pid
            os.kill(group, signal.SIGKILL)
            running.popen.wait()
            eventually(lambda group=group: not of_group(group), 10)
            left = of_group(group)
            yield judged(f"{what}: processes left 10 s after SIGKILL", str(len(left)), "0", not left)
        if env.is_gpu:
            eventually(lambda before=before: used() <= before + SLACK_BYTES, 20)
            yield judged(f"{what}: memory used before, during, after",
                         ", ".join(f"{each / 1e6:.0f}" for each in (before, during, used())) + " MB",
                         f"before + {SLACK_BYTES >> 20} MiB", used() <= before + SLACK_BYTES < during)


def largest_batch(env: Environment) -> Iterator[Line]:
    """max_batch finds the memory there is: its batch fills the GPU, and one 1.25 times as large does not fit."""
    total = asked(env)[1].total
    if env.package != "torch":
        raise Ended(NOT_HERE, "compared with PyTorch's allocator alone")
    cell = {**sized(env, task="resnet50", measure="train"), "steps": 1, "warmup": 1, "sync": "end"}
    search = {**cell, "measure": "max_batch", "batch": max(1, int(total / SAMPLE_BYTES))}
    found, = of_event(env.cell(**search), "max_batch")
    largest, ratio = found["largest"], (found["smallest_oom"] or float("nan")) / found["largest"]
    yield Line("largest batch of ResNet-50 at 224 pixels, float32", f"{largest} ({len(found['tried'])} trials)")
    yield judged("the smallest batch that did not fit, over the largest that did", f"{ratio:.3f}",
                 f"above 1, <= {MORE}", 1 < ratio <= MORE)
    held = env.cell(**{**cell, "batch": largest})[-1]["allocator_peak"]["reserved"]
    yield between("allocator's peak there over the GPU's memory", held / total, FILLED, 1.0)


def study(env: Environment) -> Iterator[Line]:
    """The study of `make bench-gpu` runs end to end here, by the product's own launcher. A CPU's is quick."""
    with_packages("docker", "jinja2", "psutil", "pydantic", "pynvml", "requests", "rich", "typer")
    names = ("gpu/train,infer,kernels", "task=resnet50", "batch=32") if env.is_gpu else ("quick",)
    settings = (*names[1:], "steps=10", "warmup=3", "warm=fixed", "seconds=1")       # ticks judge no shorter runs
    with tempfile.TemporaryDirectory() as folder:
        words = ["run", names[0], "--scale", "quick", "--launcher", "venv", "--rounds", "1", "--baseline", env.name,
                 *(word for setting in settings for word in ("--set", setting)),
                 "--stack", f"{env.name}={env.python}#{env.package}", "--results", folder]
        try:
            done = subprocess.run([sys.executable, "-m", "runner", *words], cwd=ROOT, capture_output=True, text=True,
                                  check=False, timeout=max(1.0, env.deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise env.cut() from error
        if done.returncode == 2:
            raise Ended(NOT_RUN, f"the runner said: {(done.stderr.strip().splitlines() or ['nothing'])[-1]}")
        yield judged(f"`evenbench run {names[0]}`", f"exit code {done.returncode}", "0", not done.returncode)
        yield endings(Path(folder))


def endings(folder: Path) -> Line:
    lines = [json.loads(line) for path in folder.rglob("events.jsonl") for line in path.read_text().splitlines()]
    words = [event["ending"] for event in of_event(lines, "ending")]
    return judged("endings", ", ".join(sorted(words)) or "none", "ok", set(words) == {"ok"})


# Title, function and seconds, in the order in which they are run: rates before ways, and last what takes long, which
# does without what the eight minutes leave. The seconds end a check that hangs.
CHECKS: dict[str, tuple[str, Callable[[Environment], Iterator[Line]], float]] = {
    "1": ("The device computes the model", equality, 120), "2": ("Our clock and the device's", clocks, 90),
    "4": ("The rate and the device's limit", limits, 180), "5": ("Energy, power and clocks", energy, 60),
    "6": ("Kernels, copies and gaps", profile, 60), "3": ("Our loop and a user's own, by turns", beside_bare, 200),
    "8": ("A killed worker", killed, 60), "7": ("The largest batch", largest_batch, 150),
    "9": ("The study, end to end", study, 120)}
