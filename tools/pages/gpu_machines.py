"""What runs on GPUs that people have, as the plan says it. Made GPUs, nothing is measured."""

from collections.abc import Iterator, Mapping
from functools import cache

from runner import formatting, paths
from runner.grouping import grouped
from runner.machine.gpus import Gpu, Gpus, way
from runner.machine.host import GIB, Machine
from runner.planning.plan import Plan, Wishes, plan
from runner.stacks.definition import Stack
from runner.study.file import Study, read
from tools.pages.studies import table

MODELS = {"P100": ("6.0", 16), "V100": ("7.0", 16), "RTX 2080 Ti": ("7.5", 11), "A100": ("8.0", 80),
          "H100": ("9.0", 80), "RTX 5090": ("12.0", 32)}              # compute capability, GiB
DRIVER = "580.95.05"                             # the last series for the V100
STUDIES = ("gpu", "dai2022", "patel", "tian")
_WAYS = {"native": "native", "jit": "compiled first", "unsupported": "-"}
_HEAD = """# What runs on which GPU

Written by `python -m tools pages`: the plans for made machines with four such GPUs and driver
{driver}. Nothing of this was measured; `evenbench doctor` and `evenbench plan STUDY` say the same of yours.

## Stacks

"native": the stack has machine code for the GPU; "compiled first": it has intermediate code, which the first run
compiles and keeps (`tf-2.21-gpu` on an H100: most of TensorFlow's own kernels; on an RTX 5080 somebody saw TensorFlow
2.20 end so, with CUDA_ERROR_INVALID_PTX); "-": it has neither, and cells of it are skipped with the reason and the
stack that can. So are those of `tf-1.15-nv`, while nobody has written down which image its base is.
"""


def of_model(model: str, count: int = 4) -> Gpus:
    """The GPUs of a machine with `count` GPUs of the model, as NVML would list them."""
    capability, memory = MODELS[model]
    return Gpus(tuple(Gpu(f"GPU-{index}", f"NVIDIA {model}", capability, memory * GIB, f"GPU-{index}")
                       for index in range(count)), DRIVER, "")


def planned(study: str, stacks: Mapping[str, Stack], model: str, count: int = 4) -> Plan:
    """The study at the scale of its paper there, on a host that has CPUs and memory enough."""
    machine = Machine("a CPU", 64, 512 * GIB, "", "", "")
    return plan(_study(study), stacks, machine, Wishes(), _missing, of_model(model, count))


@cache
def _study(name: str) -> Study:
    return read(name, paths.STUDIES, "paper")


def _missing(stack: Stack) -> str | None:
    return f"{stack.name} cannot be built yet: the digest of its base is on no record" if stack.unbuildable else None


def lines(stacks: Mapping[str, Stack]) -> Iterator[str]:
    """The page."""
    yield _HEAD.format(driver=DRIVER)
    yield from table(["stack", "CUDA", *(f"{model} ({capability})" for model, (capability, _) in MODELS.items())], [
        [stack.name, stack.gpu.cuda, *(_WAYS[way(stack.gpu, capability)] for capability, _ in MODELS.values())]
        for stack in stacks.values() if stack.gpu])
    yield "## Studies\n"
    yield "GPU cells that run, of all that the study has for GPUs, at scale paper; then why others do not.\n"
    plans = {name: {model: planned(name, stacks, model) for model in MODELS} for name in STUDIES}
    yield from table(["study", *MODELS], [[name, *map(_share, by_model.values())] for name, by_model in plans.items()])
    for name, by_model in plans.items():
        yield from (f"### {name}\n", *(f"* {model}: {_reasons(each)}" for model, each in by_model.items()), "")


def _share(made: Plan) -> str:
    runs = sum(each.cell.device == "gpu" for each in made.cells)
    return f"{runs} of {runs + len({each.cell for each in made.skipped if each.cell.device == 'gpu'})}"


def _reasons(made: Plan) -> str:
    """Each reason once, with how many cells it keeps from running."""
    skipped = grouped((each for each in made.skipped if each.cell.device == "gpu"), lambda each: each.reason)
    told = (f"{reason} ({formatting.count(len({each.cell for each in some}), 'cell')})"
            for reason, some in skipped.items())
    return "; ".join(told) or "every cell runs"
