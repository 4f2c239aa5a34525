"""Which GPUs a cell gets, and why it gets none: from what the machine has and what the stacks have code for. Pure."""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from runner.stacks import own
from runner.stacks.definition import CAPABILITIES, GpuCode, Stack
from workloads.spec import tasks
from workloads.spec.cell import Cell

_TENSOR_FLOATS = (8, 0)     # the first compute capability that multiplies TF32 and bfloat16
THROTTLED_SHARE = 0.05      # of a run's samples: a GPU slowed down for less had only a moment at the start


class Gpu(NamedTuple):
    """A GPU, or a slice of one, that a run can have for itself."""

    uuid: str                # "GPU-..." or, of a slice, "MIG-..."
    name: str
    capability: str          # "7.5"
    memory_bytes: int | None
    board: str               # the uuid of the whole GPU: where power and clocks are read

    @property
    def is_slice(self) -> bool:
        """Whether it is a part of a GPU in MIG mode."""
        return self.uuid != self.board


class Gpus(NamedTuple):
    """What NVML said of this machine."""

    gpus: tuple[Gpu, ...] = ()
    driver: str = ""
    problem: str = "no NVIDIA driver answers"       # why there are none
    cuda: str = ""                                  # the newest that the driver runs
    settings: Mapping[str, Mapping[str, Any]] = MappingProxyType({})     # limits, clocks and modes by a board's uuid

    def record(self) -> dict[str, Any]:
        """What is stored of it."""
        devices = [{**gpu._asdict(), **self.settings.get(gpu.board, {})} for gpu in self.gpus]
        return {"driver": self.driver, **({"cuda": self.cuda} if self.cuda else {}), "devices": devices}


NONE = Gpus()


def ordered(version: str) -> tuple[int, ...]:
    """A version as numbers, so that 450.51.06 is less than 1000."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def way(code: GpuCode, capability: str) -> str:
    """How a stack runs on a compute capability: "native", "jit" or "unsupported"."""
    listed = _listed(capability)
    if listed in code.native:
        return "native"
    return "jit" if listed in code.jit else "unsupported"


@cache
def _listed(capability: str) -> str | None:
    """The newest listed capability up to this one, of the same major version; a plan asks many thousand times."""
    major = ordered(capability)[0]
    known = [each for each in CAPABILITIES if ordered(each) <= ordered(capability) and ordered(each)[0] == major]
    return known[-1] if known else None


def oldest_driver(code: GpuCode, gpus: Iterable[Gpu]) -> str:
    """The oldest driver that runs a stack on these GPUs: intermediate code wants a newer one than machine code."""
    compiles = any(way(code, gpu.capability) == "jit" for gpu in gpus)
    return code.jit_driver if compiles and code.jit_driver else code.driver


def span(code: GpuCode) -> str:
    """The compute capabilities that a stack runs on, in words: "≤ 7.5"."""
    able = [each for each in CAPABILITIES if each not in code.unsupported]
    if not able:                    # a user's own, compiled for GPUs that are not listed
        return f"other than {CAPABILITIES[0]} to {CAPABILITIES[-1]}"
    first, last = able[0], able[-1]
    if last == CAPABILITIES[-1]:
        return f"≥ {first}"
    return f"≤ {last}" if first == CAPABILITIES[0] else f"{first} to {last}"


def assigned(cell: Cell, stack: Stack, here: Gpus) -> tuple[Gpu, ...]:
    """The GPUs that a cell gets: the first cell.gpus of one model that run the stack; () where too few are there."""
    code = stack.gpu
    if code is None:
        return ()
    able = [gpu for gpu in here.gpus if way(code, gpu.capability) != "unsupported"]
    if cell.gpus > 1:
        able = [gpu for gpu in able if not gpu.is_slice]         # NCCL does not connect slices
    for first in able:
        alike = [gpu for gpu in able if gpu.name == first.name]
        if len(alike) >= cell.gpus:
            return tuple(alike[:cell.gpus])
    return ()


def lacking(cell: Cell, stack: Stack, stacks: Mapping[str, Stack], here: Gpus) -> str | None:
    """Why a cell for a GPU cannot run here, with the stack that could; None where it can."""
    code = stack.gpu
    if code is None:
        if own.kind(stack) != own.PINNED and not here.gpus:           # it was not asked for its code
            return f"needs an NVIDIA GPU: {here.problem}"
        other = _nearest(stack, (each for each in stacks.values() if each.gpu))
        return f"{stack.name} has no code for GPUs" + (f": {other} has" if other else "")
    if not here.gpus:
        return f"needs an NVIDIA GPU (compute capability {span(code)} for {stack.name})"
    given = assigned(cell, stack, here)
    if ordered(here.driver) < ordered(oldest := oldest_driver(code, given)):
        return (f"{stack.name} (CUDA {code.cuda}) needs driver {oldest} or newer, this machine has "
                f"{here.driver or 'an unknown one'}: update the NVIDIA driver")
    if given:
        return _no_mode(cell, given[0])
    if assigned(cell._replace(gpus=1), stack, here):
        return f"needs {cell.gpus} whole NVIDIA GPUs of one model that run {stack.name}; see `evenbench doctor`"
    return _no_code(stack, code, stacks, here)


def _no_mode(cell: Cell, gpu: Gpu) -> str | None:
    """Why the GPU has not the cell's precision: frameworks would compute another one, or emulate it."""
    modes = {"tf32": "TF32", **({} if tasks.is_sequence(cell.task) else {"amp": "bfloat16"})}
    if cell.precision not in modes or ordered(gpu.capability) >= _TENSOR_FLOATS:
        return None
    return f"{modes[cell.precision]} needs compute capability 8.0 or newer, not {gpu.name} ({gpu.capability})"


def _no_code(stack: Stack, code: GpuCode, stacks: Mapping[str, Stack], here: Gpus) -> str:
    models = ", ".join(dict.fromkeys(f"{gpu.name} ({gpu.capability})" for gpu in here.gpus))
    able = (each for each in stacks.values()
            if each.gpu and any(way(each.gpu, gpu.capability) != "unsupported" for gpu in here.gpus))
    other = _nearest(stack, able)
    return (f"{stack.name} needs compute capability {span(code)}, not {models}: {code.why}"
            + (f"; {other} runs there" if other else ""))


def _nearest(stack: Stack, others: Iterable[Stack]) -> str:
    """The stack of the same framework whose version shares most with it, "" where there is none."""
    alike = [each for each in others if each.framework == stack.framework and each.name != stack.name]
    return max(alike, key=lambda each: _shared(stack.version, each.version), default=stack).name if alike else ""


def _shared(one: str, other: str) -> tuple[int, int]:
    """The number of leading numbers that two versions share, then how near the next ones are."""
    pairs = list(zip(ordered(one), ordered(other), strict=False))
    same = next((index for index, (a, b) in enumerate(pairs) if a != b), len(pairs))
    return same, -abs(pairs[same][0] - pairs[same][1]) if same < len(pairs) else 0


def warnings(cells: Iterable[Cell], stacks: Mapping[str, Stack], here: Gpus) -> list[str]:
    """What a user should know before cells start on GPUs: a line for every stack that compiles its code first."""
    told: dict[str, str] = {}
    for cell in cells:
        code = stacks[cell.stack].gpu
        for gpu in assigned(cell, stacks[cell.stack], here) if cell.device == "gpu" else ():
            if code and way(code, gpu.capability) == "jit":
                told[cell.stack] = (f"{cell.stack} has no ready code for {gpu.name} (compute capability "
                                    f"{gpu.capability}): its first run compiles it, which can take half an hour, and "
                                    "keeps it")
    return list(told.values())
