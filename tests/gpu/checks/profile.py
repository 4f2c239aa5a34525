"""Check 6: kernels, copies and gaps."""

from collections.abc import Iterator

from tests.gpu.checks.cells import cell_text, sized
from tests.gpu.environment import Environment, Event
from tests.gpu.verdicts import Line, NotHere, between, judged

PROFILED = 0.05               # two profiled stretches of the same steps
GAPS = 0.10                   # in float32 at batch 64 the device is the limit: an H100's were 2.7 %


def profile(env: Environment) -> Iterator[Line]:
    """Our account of kernels, copies and gaps is what the framework's own profiler sums up over the same steps.

    On a CPU: our operators' calls are the profiler's own.
    """
    if env.package != "torch":
        raise NotHere("compared with PyTorch's profiler alone")
    measure = "kernels" if env.is_gpu else "operators"
    task = "resnet50" if env.is_gpu else "lenet5"
    cell = {**sized(env, task=task, measure=measure, batch=64), "steps": 10, "warmup": 5, "sync": "end"}
    told = next(event for event in env.cell(**cell) if event["event"] == measure)       # beats lie between the others
    own = env.script("profiled", cell_text(env, cell))[-1]
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
    gaps = told["gap_seconds"] / total
    yield judged("gaps, as a share of the steps", f"{gaps:.1%}", f"<= {GAPS:.0%}", gaps <= GAPS)


def _operator_lines(told: Event, own: Event) -> Iterator[Line]:
    found = {name: calls for name, (calls, _) in told["operators"].items() if name.startswith("aten::")}
    same = [name for name in found if found[name] == own["calls"].get(name)]
    # calls of an operator within itself count once in ours
    yield judged("operators with as many calls as the profiler says", f"{len(same)} of {len(found)}", ">= 90 %",
                 len(found) > 10 and len(same) >= 0.9 * len(found))
    convolutions = found.get("aten::conv2d")
    yield judged("convolutions of 10 steps of LeNet-5", str(convolutions), "20", convolutions == 20)
